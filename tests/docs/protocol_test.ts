/**
 * The page of the protocol names what the code has: events, error codes, and the refusal of another
 * version, byte for byte.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { ErrorCode, PROFILES } from "../../protocol/mod.ts";
import { PROTOCOL_NAMES } from "../../protocol/version.ts";
import { unknownTo } from "../../protocol/translate.ts";
import * as events from "../../protocol/events.ts";
import { checkVersion } from "../../protocol/handshake.ts";
import { codeBlocks } from "./support/blocks.ts";

const page = await Deno.readTextFile(
  new URL("../../docs/protocol.md", import.meta.url),
);

/** The text of one numbered section. */
function section(number: number): string {
  const [, text] = RegExp(`^## ${number}\\. .*\n([^]*?)(?=^## |$(?![^]))`, "m")
    .exec(page) ?? [];
  assert(text !== undefined, `There is no section ${number}`);
  return text;
}

Deno.test("docs/protocol.md lists every event, and no other", () => {
  const listed = section(3).match(/\b(?:client|server|notify):\w+/g);
  const known = Object.entries(events).filter(([name]) =>
    /_(EVENT|NOTIFICATION)$/.test(name)
  ).map(([, event]) => String(event));
  assert(known.length > 20);
  assertEquals([...new Set(listed)].toSorted(), known.toSorted());
});

Deno.test("docs/protocol.md tells what every error code means", () => {
  const text = section(6);
  for (const [name, code] of Object.entries(ErrorCode)) {
    assert(RegExp(`\\b${code}\\b`).test(text), `${code} (${name})`);
  }
});

Deno.test("docs/protocol.md lists what each version lacks, and the error of a Computer that lacks it (0.4 §1.2)", () => {
  const text = section(14);
  for (const version of PROTOCOL_NAMES) {
    const [row = ""] = text.match(
      RegExp(`^\\| (?:0\\.\\d, )*${RegExp.escape(version)}[, ].*$`, "m"),
    ) ?? [];
    const listed = row.match(/(?<=`)(?:client|server|notify):\w+(?=`)/g) ?? [];
    assertEquals(
      listed.toSorted(),
      [...PROFILES[version].lacks].map(String).toSorted(),
      version,
    );
  }
  const { message } = unknownTo("laptop", PROFILES["0.2"], "client:put_blob");
  assert(text.replaceAll(/\s+/g, " ").includes(`400 \`${message}\``), message);
});

Deno.test("docs/protocol.md shows the body that refuses another version", async () => {
  const block = (await codeBlocks()).find(({ example }) =>
    example === "version-mismatch"
  );
  const check = checkVersion(["0.1.5"], "0.2.0");
  assert(block && !check.ok);
  assertEquals(
    JSON.stringify(JSON.parse(block.code)),
    JSON.stringify(check.body),
  );
});
