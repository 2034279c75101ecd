import type { ProtocolName } from "../protocol/mod.ts";
import { PROTOCOL_NAMES } from "../protocol/version.ts";

/**
 * Reads which versions a server lets in.
 *
 * @returns each once, oldest first
 * @throws {TypeError} for none, or one that there is not
 */
export function readProtocols(
  wanted: ProtocolName | readonly ProtocolName[] | "all",
): ProtocolName[] {
  const names = wanted === "all" ? PROTOCOL_NAMES : [wanted].flat();
  for (const name of names) {
    if (!PROTOCOL_NAMES.includes(name)) throw unknown(JSON.stringify(name));
  }
  if (names.length === 0) throw unknown("an empty list");
  return PROTOCOL_NAMES.filter((name) => names.includes(name));
}

const unknown = (what: string): TypeError =>
  new TypeError(
    `Cannot serve the protocol ${what}: expected one or more of ${
      PROTOCOL_NAMES.map((name) => JSON.stringify(name)).join(", ")
    }, or "all"`,
  );
