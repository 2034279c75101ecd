import { type PageRequest, requestPage } from "./network/node_network.ts";
import type { ClientProtocol } from "./options.ts";
import { parseServerUrl } from "./server_url.ts";
import { ProtocolVersionError } from "../protocol/errors.ts";
import { PROTOCOL_NAMES, protocolOf } from "../protocol/version.ts";

/** The versions that a client can speak, oldest first. */
export const CLIENT_PROTOCOLS: readonly ClientProtocol[] = PROTOCOL_NAMES
  .filter((name) => name !== "0.1"); // the profiles have it too, but load the schemas

/**
 * Chooses the version of each attempt to connect.
 *
 * The protocol does not negotiate: a Server refuses every version but its own, and names one of those.
 * A client that was left the choice takes the newest version that the Server lists. Where it lists
 * none, the client begins with the oldest, and starts again with the one of a refusal, once in an
 * attempt.
 */
export class VersionChoice {
  /** Whether the Server's versions decide. */
  readonly isFree: boolean;
  /** The version of the next attempt, and of the connection once there is one. */
  current: ClientProtocol;
  #hasSwitched = false;

  /**
   * @param wanted the only version, or `auto`
   * @throws {TypeError} for a version that clients cannot speak
   */
  constructor(wanted: ClientProtocol | "auto" = "auto") {
    if (wanted !== "auto" && !CLIENT_PROTOCOLS.includes(wanted)) {
      const known = ["auto", ...CLIENT_PROTOCOLS].map((name) => `"${name}"`);
      const shown = JSON.stringify(wanted);
      throw new TypeError(
        `Cannot use the protocol ${shown}: expected ${known.join(", ")}`,
      );
    }
    this.isFree = wanted === "auto";
    this.current = wanted === "auto" ? CLIENT_PROTOCOLS[0]! : wanted;
  }

  /**
   * Takes the newest version that both sides speak; without one the choice stays.
   *
   * @param versions those that the Server lets in
   */
  take(versions: readonly string[]): void {
    const served = versions.map(protocolOf);
    const newest = CLIENT_PROTOCOLS.findLast((name) => served.includes(name));
    if (this.isFree && newest !== undefined) this.current = newest;
  }

  /** Notes that another attempt begins, or that the Server has accepted the version. */
  restart(): void {
    this.#hasSwitched = false;
  }

  /**
   * Changes to the version of a Server that refused the current one.
   *
   * @returns whether another attempt can help
   */
  refused(error: unknown): boolean {
    if (!(error instanceof ProtocolVersionError)) return false;
    const wanted = protocolOf(error.serverVersion);
    const other = CLIENT_PROTOCOLS.find((name) => name === wanted);
    if (!this.isFree || this.#hasSwitched || other === undefined) return false;
    if (other === this.current) return false;
    this.current = other;
    return this.#hasSwitched = true;
  }
}

/** Time limit for the answer: without one the connection begins with the oldest version, and works too. */
const TIMEOUT_MS = 5_000;
/** The most bytes of an answer that are read; that of a Server has far fewer. */
const MAX_BYTES = 64 * 1024;

/**
 * Asks a Server with `GET /health` which versions it lets in.
 *
 * @returns their numbers, such as `0.4.0`; none where no answer lists them: from another Server, an
 *   older one, or a proxy without that path. Never rejects: the connection explains what is wrong
 */
export async function servedVersions(
  { options, route, signal }: PageRequest,
): Promise<readonly string[]> {
  const ended = new AbortController();
  const end = () => ended.abort();
  const timer = setTimeout(end, TIMEOUT_MS);
  signal.addEventListener("abort", end);
  try {
    signal.throwIfAborted();
    const { origin, query } = parseServerUrl(options.url);
    const url = new URL("/health", origin.replace(/^ws/i, "http"));
    url.search = new URLSearchParams(query).toString();
    const request = { options, route, signal: ended.signal };
    return versionsIn(
      JSON.parse(await readText(await requestPage(url.href, request))),
    );
  } catch {
    return [];
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
    end();
  }
}

/** Reads the versions out of the answer: its `protocol_versions`, or `protocol_version` where there is one alone. */
function versionsIn(health: unknown): readonly string[] {
  const { protocol_versions: all, protocol_version: only } = Object(health);
  const versions: unknown[] = Array.isArray(all) ? all : [only];
  return versions.filter((version) => typeof version === "string");
}

/** @throws {Error} when it is too long */
async function readText(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > MAX_BYTES) throw new Error("too long");
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
