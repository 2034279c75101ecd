/**
 * The frames of the tunnel: their kinds, and how they are written as bytes, a fixed head, a text, and a
 * payload that is not copied.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { ErrorCode, ProtocolError } from "../../protocol/mod.ts";
import type { Sent } from "./link.ts";
import type { Kick } from "../office/office.ts";
import type { Peer, WantedSeat } from "../office/peer.ts";
import { type Payload, payloadOfBytes } from "../wire/mod.ts";

/** A client that requests a seat in an office at another node. */
export interface Opening
  extends
    WantedSeat,
    Pick<Peer, "version" | "instance" | "identity" | "address"> {
  /** The id of its connection. */
  readonly client: string;
  /** The name of its profile; of a device, {@linkcode DEVICE_PROTOCOL}. */
  readonly protocol: string;
  /** Whether this is only a query, as the client has to leave another seat before. */
  readonly isQuestion: boolean;
}

/**
 * What the frames of a tunnel are, apart from their payloads. The node of the client has opened the
 * stream, and given it its number.
 */
export const Kind = {
  /** Requests a seat: {@linkcode Opening}. */
  open: 1,
  /** Grants the seat, or confirms that it would be granted. */
  opened: 2,
  /** Why there is no seat: `refusal`, absent where the node is not the home of the office, or not for much longer. */
  refused: 3,
  /** An event of the client; its text is the name, its id that of the answer that is expected, or 0. */
  event: 4,
  /** The answer to an event, without a payload if it has none; its text is a `CallEnd`, or empty for an ordinary one. */
  ack: 5,
  /** A request to the client; its text is the name. */
  ask: 7,
  /** The answer of the client. */
  answer: 8,
  /** The answer of the client to a request does not matter any more. */
  forget: 9,
  /** A notification for all clients whose streams it lists; its text is the name. */
  notice: 10,
  /** The identity of the client after a check. */
  identity: 11,
  /** The client leaves the office. */
  leave: 12,
  /** All that the client got before it left has been sent. */
  left: 13,
  /** The connection of the client is closed. */
  gone: 14,
  /** Closes the connection of the client: `reason` and `isReplaced` of `Peer.end()`. */
  end: 15,
  /** The sender has ended all streams between the two nodes. */
  reset: 16,
  /** A seat is held free at all nodes, since an office may move: {@linkcode HeldSeat}. */
  hold: 17,
  /** A question of those who operate another node, and its answer. */
  question: 18,
  reply: 19,
} as const;

/** A seat that an operator holds free. */
export type HeldSeat = WantedSeat & Omit<Kick, "by">;

/** The parts of a frame that are written before its payload. */
export interface FrameHead {
  readonly kind: number;
  /** The number of the stream; 0 for a frame of none. */
  readonly stream: number;
  /** Distinguishes the requests of one stream. */
  readonly id?: number;
  /** A name, or JSON. */
  readonly text?: string;
  /** The streams of a notice. */
  readonly streams?: readonly number[];
}

/** A frame of a tunnel: one message of a link. */
export interface TunnelFrame extends Required<FrameHead> {
  /** Returns the payload. */
  payload(): Payload | undefined;
}

/** Bytes in front of the text. */
const FIXED_BYTES = 17;

/** Room for what is written before a payload when it is sent on, so that it is not copied. */
const MIN_HEAD_BYTES = 64;

const NONE: readonly number[] = [];

/** Returns the bytes before the payload. */
export function encodeHead(
  { kind, stream, id = 0, text = "", streams = NONE }: FrameHead,
): Buffer {
  const length = Buffer.byteLength(text);
  const used = FIXED_BYTES + length + 4 * streams.length;
  const head = Buffer.allocUnsafe(Math.max(MIN_HEAD_BYTES, used));
  head[0] = kind;
  head.writeUInt32BE(stream, 1);
  head.writeUInt32BE(id, 5);
  head.writeUInt32BE(length, 9);
  head.writeUInt32BE(streams.length, 13);
  if (length > 0) head.write(text, FIXED_BYTES);
  let at = FIXED_BYTES + length;
  for (const each of streams) at = head.writeUInt32BE(each, at);
  return head;
}

/**
 * Reads a frame.
 *
 * @throws {RangeError} when it is cut off
 */
export function decodeFrame(bytes: Buffer): TunnelFrame {
  const length = bytes.readUInt32BE(9);
  const count = bytes.readUInt32BE(13);
  const end = FIXED_BYTES + length + 4 * count;
  if (end > bytes.length) {
    throw new RangeError("Cannot read a frame of a tunnel: it is cut off");
  }
  const streams: number[] = [];
  for (let i = 0; i < count; i++) {
    streams.push(bytes.readUInt32BE(FIXED_BYTES + length + 4 * i));
  }
  return {
    kind: bytes.readUInt8(0),
    stream: bytes.readUInt32BE(1),
    id: bytes.readUInt32BE(5),
    text: length === 0
      ? ""
      : bytes.toString("utf8", FIXED_BYTES, FIXED_BYTES + length),
    streams,
    payload: () => payloadOfBytes(bytes, Math.max(MIN_HEAD_BYTES, end)),
  };
}

/** The error when the other node, or what connects the nodes, is not reached any more. */
export const unreachable = (): ProtocolError =>
  new ProtocolError(
    ErrorCode.INTERNAL_ERROR,
    "The server of this office cannot be reached now: try again",
    { fields: { reason: "node unreachable" } },
  );

/** The error for what was not sent to another node. */
export const notSent = (sent: Exclude<Sent, "sent">): ProtocolError =>
  sent === "away" ? unreachable() : new ProtocolError(
    ErrorCode.TOO_MANY_REQUESTS,
    "Too much waits for another server: try again later",
    { fields: { reason: "node busy" } },
  );
