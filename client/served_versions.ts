import { parseServerUrl } from "./url.ts";
import { open, type WayRequest } from "./node_way.ts";

/** Time limit for the answer: without one the connection begins with the oldest version, and works too. */
const TIMEOUT_MS = 5_000;
/** The most bytes of an answer that are read; that of a Server has far fewer. */
const MAX_BYTES = 64 * 1024;

/**
 * Asks a Server with `GET /health` which versions it lets in.
 *
 * @returns their numbers, such as `0.4.0`; none where no answer says them: another Server, an older one,
 *   or one that forwards no such path. Never rejects: the connection explains what is wrong
 */
export async function servedVersions(
  { options, route, signal }: WayRequest,
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
    return versionsIn(JSON.parse(await textOf(await open(url.href, request))));
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
async function textOf(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let [text, size] = ["", 0];
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > MAX_BYTES) throw new Error("too long");
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
