/**
 * The packets of Engine.IO, version 4, as text and bytes.
 *
 * @module
 */
import { Buffer } from "node:buffer";

/** The types of packets, in the order of their digits. */
const TYPES = [
  "open",
  "close",
  "ping",
  "pong",
  "message",
  "upgrade",
  "noop",
] as const;

type Type = typeof TYPES[number] | "error";

/** A packet; `error` stands for what is none. */
export interface EnginePacket {
  /** Its type. */
  readonly type: Type;
  /** Its data, if it has any; bytes only in a `message`. */
  readonly data?: string | Uint8Array;
}

/** Separates the packets of a payload. */
const SEPARATOR = "\x1e";

/** Decodes a message of a WebSocket, or a packet of a payload. */
export function decodePacket(encoded: string | Uint8Array): EnginePacket {
  if (typeof encoded !== "string") return { type: "message", data: encoded };
  const data = encoded.slice(1);
  if (encoded[0] === "b") {
    return { type: "message", data: Buffer.from(data, "base64") };
  }
  const type = TYPES[encoded.charCodeAt(0) - 0x30];
  if (type === undefined) return { type: "error" };
  return data === "" ? { type } : { type, data };
}

/** Encodes a packet for a WebSocket. */
export const encodePacket = (
  { type, data = "" }: EnginePacket,
): string | Uint8Array =>
  typeof data === "string"
    ? `${TYPES.findIndex((it) => it === type)}${data}`
    : data;

/** Decodes the body of a POST, up to the first that is no packet. */
export function decodePayload(payload: string): EnginePacket[] {
  const packets: EnginePacket[] = [];
  for (const encoded of payload.split(SEPARATOR)) {
    const packet = decodePacket(encoded);
    packets.push(packet);
    if (packet.type === "error") break;
  }
  return packets;
}

/** Encodes packets for the answer to a poll, which is text. */
export const encodePayload = (packets: readonly EnginePacket[]): string =>
  packets.map((packet) => {
    const encoded = encodePacket(packet);
    return typeof encoded === "string"
      ? encoded
      : `b${Buffer.from(encoded).toString("base64")}`;
  }).join(SEPARATOR);
