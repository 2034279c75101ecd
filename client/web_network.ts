/**
 * The network to a Server where the platform has settings of its own for proxies and certificates: what
 * bundles for browsers and Workers have in place of `client/node_network.ts`.
 *
 * @module
 */
import type { UrlOptions } from "./options.ts";
import { Fetch, NodeWebSocket, NodeXHR, XHR } from "socket.io-client";

/** @throws {TypeError} for certificates */
export function checkTls(tls: object | undefined): void {
  const [first] =
    Object.entries(tls ?? {}).find(([, pem]) => pem !== undefined) ?? [];
  if (first === undefined) return;
  throw new TypeError(
    `Cannot use tls.${first} in a browser, which presents its own certificates: leave it out`,
  );
}

/** @throws {TypeError} for a proxy */
export function proxyRoute(
  { proxy = false }: { readonly proxy?: string | false | undefined },
): undefined {
  if (proxy === false) return undefined;
  throw new TypeError(
    "Cannot use the option proxy in a browser, which has settings of its own: leave it out",
  );
}

/** Returns `undefined`: there is no environment. */
export const unreadableExemptions = (_: object): undefined => undefined;

/** Returns `undefined`: the platform hides the reason of a failed handshake. */
export const tlsReason = (): Promise<undefined> => Promise.resolve(undefined);

/** A request, and what ends it. */
interface WebRequest {
  readonly options: { readonly headers?: Record<string, string> };
  readonly signal: AbortSignal;
}

/**
 * Requests a page without following a redirect.
 *
 * @throws when there is no answer, or none with a body
 */
export async function requestPage(
  url: string,
  { options: { headers = {} }, signal }: WebRequest,
): Promise<AsyncIterable<Uint8Array>> {
  const answer = await fetch(url, { headers, signal, redirect: "error" });
  if (!answer.ok || answer.body === null) throw new Error("no answer");
  return answer.body;
}

/** The name of a transport. */
export type TransportName = NonNullable<UrlOptions["transports"]>[number];

/** The transports of a connection, by their names. */
export interface Transports {
  readonly polling: typeof Fetch | typeof NodeXHR;
  readonly websocket: typeof NodeWebSocket;
  /** Resolves when all that they have opened is closed, where that can be known. */
  ended(): Promise<void>;
}

/**
 * Whether polling needs `fetch`: the builds for browsers, of which both names are one, need an
 * `XMLHttpRequest` that Cloudflare Workers lack.
 */
const lacksXhr = NodeXHR === XHR && !("XMLHttpRequest" in globalThis);

/** Returns the transports of a new connection. */
export const newTransports = (): Transports => ({
  polling: lacksXhr ? Fetch : NodeXHR,
  websocket: NodeWebSocket,
  ended: () => Promise.resolve(), // the platform keeps nothing running for them
});
