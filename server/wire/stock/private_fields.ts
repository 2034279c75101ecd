/**
 * Every field of `socket.io`, `engine.io` and `socket.io-parser` that the server reads and that
 * their types declare private, or whose name has an underscore. The versions of the three are pinned
 * because of them, and `tests/unit/server/wire/private_fields_test.ts` has a test for each.
 *
 * @module
 */
import type { Server as Engine, Socket as Connection } from "engine.io";
import type { Server, Socket } from "socket.io";
import type { Decoder, Packet } from "socket.io-parser";

/** Returns the decoder that Socket.IO creates for each connection. */
export const decoderOf = ({ client }: Pick<Socket, "client">): unknown =>
  client["decoder"];

/** Returns the WebSocket below a transport; `undefined` for polling. */
export const webSocketOf = (transport: Connection["transport"]): unknown =>
  Reflect.get(transport, "socket");

/** Returns the TCP or TLS connection below a WebSocket of either engine. */
export const carrierOf = (webSocket: unknown): unknown =>
  typeof webSocket === "object" && webSocket !== null
    ? Reflect.get(webSocket, "_socket")
    : undefined;

/** Returns the id of a connection, which is the `sid` of its requests. */
export const idOf = (connection: Connection): string => connection["id"];

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

/** Returns the packet whose attachments a decoder is waiting for, if any. */
export const unfinishedPacketOf = (decoder: Decoder): Packet | undefined =>
  decoder["reconstructor"]?.["packet"];

/** Returns the number of existing namespaces, including those that clients made up. */
export const namespaceCount = (io: Server): number => io._nsps.size;
