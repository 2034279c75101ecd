/**
 * Every field of `socket.io`, `engine.io` and `socket.io-parser` that the server reads and that
 * their types call private, or that has an underscore. The versions of the three are pinned for
 * this file's sake, and `tests/unit/server/wire/private_fields_test.ts` has a test for each line.
 *
 * @module
 */
import type { Server as Engine, Socket as Connection } from "engine.io";
import type { Server, Socket } from "socket.io";
import type { Decoder, Packet } from "socket.io-parser";

/** Returns the decoder of a client's packets, which Socket.IO makes for each connection. */
export const decoderOf = ({ client }: Pick<Socket, "client">): unknown =>
  client["decoder"];

/** Returns the WebSocket below a transport; `undefined` for polling. */
export const webSocketOf = (transport: Connection["transport"]): unknown =>
  Reflect.get(transport, "socket");

/** Returns the id of a connection, which is the `sid` of its requests. */
export const idOf = (connection: Connection): string => connection["id"];

/** Returns the open connections of an engine. */
export const connectionsOf = (engine: Engine): Connection[] =>
  Object.values(engine["clients"]);

/** Tells whether Engine.IO keeps packets that its transport has not taken. */
export const hasQueuedPackets = (connection: Connection): boolean =>
  connection["writeBuffer"].length > 0;

/** Tells whether a ping was sent to the client and its pong has not come. */
export const isPongDue = (connection: Connection): boolean =>
  connection["pingTimeoutTimer"] !== null;

/** Tells whether Engine.IO has heard of the client since its last ping. */
export const isKnownAlive = (connection: Connection): boolean =>
  connection["pingTimeoutTimer"] === null ||
  connection["hasRefreshedPingTimeout"];

/** Returns the packet whose attachments a decoder waits for, if there is one. */
export const unfinishedPacketOf = (decoder: Decoder): Packet | undefined =>
  decoder["reconstructor"]?.["packet"];

/** Counts the namespaces that exist, with those that clients made up. */
export const namespaceCount = (io: Server): number => io._nsps.size;
