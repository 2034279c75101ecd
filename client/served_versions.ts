import type { UrlOptions } from "./options.ts";
import type { ProxyRoute } from "./proxy.ts";
import { hasNodeModules, nodeModule } from "./tls/node_modules.ts";
import { isTls } from "./tls/tls.ts";
import { parseServerUrl } from "./url.ts";

/** Time limit for the answer: without one the connection begins with the oldest version, and works too. */
const TIMEOUT_MS = 5_000;
/** The most bytes of an answer that are read; that of a Server has far fewer. */
const MAX_BYTES = 64 * 1024;

/** The way to a Server, and what ends the request. */
export interface VersionsRequest {
  readonly options: Pick<UrlOptions, "url" | "headers" | "tls">;
  /** The way through a proxy, if there is one. */
  readonly route: ProxyRoute | undefined;
  readonly signal: AbortSignal;
}

/**
 * Asks a Server with `GET /health` which versions it lets in.
 *
 * @returns their numbers, such as `0.4.0`; none where no answer says them: another Server, an older one,
 *   or one that forwards no such path. Never rejects: the connection explains what is wrong
 */
export async function servedVersions(
  { options, route, signal }: VersionsRequest,
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
    const ask = hasNodeModules() ? askInNode : askInBrowser;
    const request = { options, route, signal: ended.signal };
    return versionsIn(JSON.parse(await ask(url.href, request)));
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

async function askInBrowser(
  url: string,
  { options: { headers = {} }, signal }: VersionsRequest,
): Promise<string> {
  const answer = await fetch(url, { headers, signal, redirect: "error" });
  if (!answer.ok || answer.body === null) throw new Error("no answer");
  return await textOf(answer.body);
}

/** `fetch` has no option for certificates and proxies that Deno and Node share. */
async function askInNode(
  url: string,
  { options: { headers, tls }, route, signal }: VersionsRequest,
): Promise<string> {
  const request = nodeModule(isTls(url) ? "node:https" : "node:http")
    ?.request(url, { ...tls, headers, signal, agent: route?.agent ?? false });
  if (request === undefined) throw new Error("no node:http");
  const answer = await new Promise<AsyncIterable<Uint8Array>>(
    (resolve, reject) => {
      request.on("error", reject);
      request.on(
        "response",
        (answer) =>
          answer.statusCode === 200 ? resolve(answer) : reject(answer),
      );
      request.end();
    },
  );
  return await textOf(answer);
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
