/**
 * The transports of a connection to a Server where the platform ends them by itself: what bundles for browsers
 * and Workers have in place of `node_transports.ts`.
 *
 * @module
 */
import { Fetch, NodeWebSocket, NodeXHR, XHR } from "socket.io-client";
import type { Encoder } from "socket.io-parser";
import type { UrlOptions } from "../options.ts";

/** The name of a transport. */
export type TransportName = NonNullable<UrlOptions["transports"]>[number];

/** The transports of a connection, by their names. */
export interface Transports {
  readonly polling: typeof Fetch | typeof NodeXHR;
  readonly websocket: typeof NodeWebSocket;
  /** Resolves when all that they have opened is closed; absent where the platform keeps nothing open. */
  ended?(): Promise<void>;
  /** Writes packets for them; default: that of Socket.IO. */
  readonly encoder?: typeof Encoder;
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
});
