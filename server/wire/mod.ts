/**
 * Moves packets between the network and the sessions, as bytes where possible: with a custom WebSocket
 * server below Engine.IO, and a custom reader and writer of Socket.IO packets. The rest of the server
 * imports only this file; `README.md` explains why it exists, and how to do without it.
 *
 * @module
 */
export { wsEngineOption, type WsOption } from "./websocket/frame_engine.ts";
export { type Ack, type Answer, type Incoming, Link } from "./link.ts";
export {
  guardedParser,
  type PacketGuard,
  purposeOf,
} from "./packet/packet_decoder.ts";
export { bytesOfPayload, payloadOfBytes } from "./packet/payload_bytes.ts";
export { Payload } from "../shared/payload.ts";
export {
  connectionsOf,
  hasQueuedPackets,
  idOf,
  namespaceCount,
} from "./stock.ts";
export type { CutOff } from "./websocket/frame_socket.ts";
export {
  type Carried,
  carriedBy,
  holdReading,
  limitQueue,
  whenGone,
} from "./websocket/tap_socket.ts";
