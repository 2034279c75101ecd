/**
 * Moves packets between the network and the sessions, as bytes where possible, with a custom reader and
 * writer of Socket.IO packets. Connections come from a {@linkcode ClientEngine}: that of
 * `stock_engine.ts`, or that of `fetch_engine.ts`. The rest of the server imports only this file and those two; `README.md`
 * explains why it exists, and how to do without it.
 *
 * @module
 */
export type {
  Carried,
  ClientEngine,
  ClientSocket,
  ConnectionGuard,
  CutOff,
  Heartbeat,
  Reception,
  WireConnection,
} from "./wire_connection.ts";
export { type Ack, Link } from "./link.ts";
export { purposeOf } from "./packet_decoder.ts";
export { bytesOfPayload, payloadOfBytes } from "./payload_bytes.ts";
export { Payload } from "../shared/payload.ts";
