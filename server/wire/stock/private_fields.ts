/**
 * Every field of `socket.io` and `engine.io` that the server reads and that their types declare
 * private, or whose name has an underscore, and the server of the package `ws`. The versions of both
 * are pinned because of the fields, and
 * `tests/unit/server/wire/private_fields_test.ts` has a test for each.
 *
 * @module
 */
import type { Server as Engine, Socket as Connection } from "engine.io";
import type { Server, Socket } from "socket.io";
import type { Buffer } from "node:buffer";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
// @ts-types="npm:@types/ws@^8.18.2"
import { type ServerOptions, type WebSocket, WebSocketServer } from "ws";

/** Returns the decoder that Socket.IO creates for each connection. */
export const decoderOf = ({ client }: Pick<Socket, "client">): unknown =>
  client["decoder"];

/** Returns the WebSocket below a transport; `undefined` for polling. */
export const webSocketOf = (transport: Connection["transport"]): unknown =>
  Reflect.get(transport, "socket");

/** Returns the TCP or TLS connection below a WebSocket of either engine. */
export const carrierOf = (webSocket: unknown): unknown =>
  webSocket instanceof Object ? Reflect.get(webSocket, "_socket") : undefined;

/** Returns the open connection with an id, which is the `sid` of its requests. */
export const connectionOf = (
  engine: Engine,
  sid: string,
): Connection | undefined =>
  Object.hasOwn(engine["clients"], sid) ? engine["clients"][sid] : undefined;

/** Returns the open connections of an engine. */
export const connectionsOf = (engine: Engine): Connection[] =>
  Object.values(engine["clients"]);

/** Returns whether Engine.IO has queued packets that its transport has not taken. */
export const hasQueuedPackets = (connection: Connection): boolean =>
  connection["writeBuffer"].length > 0;

/** Returns whether a ping was sent to the client without a pong so far. */
export const isPongDue = (connection: Connection): boolean =>
  connection["pingTimeoutTimer"] !== null;

/** Returns whether Engine.IO has received anything from the client since its last ping. */
export const isKnownAlive = (connection: Connection): boolean =>
  connection["pingTimeoutTimer"] === null ||
  connection["hasRefreshedPingTimeout"];

/** Returns the number of existing namespaces, including those that clients made up. */
export const namespaceCount = (io: Server): number => io._nsps.size;

/** Key of the function that ends the early limit of a WebSocket. */
const admissions = new WeakMap<object, () => void>();

/**
 * The server of the package `ws`, with a limit on what a peer may send before it has a session.
 *
 * `ws` has one size limit for all peers, and collects a whole message before it can be refused. So the
 * bytes are counted below it, and a peer that sends too many is disconnected.
 *
 * @param earlyBytes maximum number of bytes that a peer may send without a session
 */
export const stockEngine = (
  earlyBytes: number,
): new (options: ServerOptions) => WebSocketServer =>
  class extends WebSocketServer {
    /** Answers an upgrade request, and counts the bytes that follow. */
    override handleUpgrade(
      request: IncomingMessage,
      socket: Duplex,
      head: Buffer,
      upgraded: (client: WebSocket, request: IncomingMessage) => void,
    ): void {
      super.handleUpgrade(request, socket, head, (client: WebSocket) => {
        let left = earlyBytes;
        const count = (chunk: Uint8Array) => {
          left -= chunk.length;
          if (left < 0) client.terminate();
        };
        socket.on("data", count);
        admissions.set(client, () => socket.off("data", count));
        upgraded(client, request);
      });
    }
  };

/** Allows messages of full size on a WebSocket of {@linkcode StockEngine}; ignores any other value. */
export function admitStock(client: unknown): void {
  if (client instanceof Object) admissions.get(client)?.();
}
