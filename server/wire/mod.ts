/**
 * Moves packets between the network and the sessions, as bytes where it can: an own WebSocket
 * below Engine.IO, and an own reader and writer of Socket.IO's packets beside it. This file is all
 * that the rest of the server knows of it; `README.md` tells why it exists and how to do without.
 *
 * @module
 */
export {
  MIN_UPLOAD_RATE,
  type WsEngine,
  wsEngineOption,
} from "./websocket/frame_engine.ts";
export { type Ack, type Answer, type Incoming, Link } from "./link.ts";
export { guardedParser, type PacketGuard } from "./packet/packet_decoder.ts";
export { purposeOf } from "./packet/packet_head.ts";
export { Payload } from "./json/payload.ts";
export {
  connectionsOf,
  hasQueuedPackets,
  idOf,
  namespaceCount,
} from "./stock/private_fields.ts";
export type { CutOff } from "./websocket/send_queue.ts";
export { holdReading, limitQueue } from "./transports.ts";
