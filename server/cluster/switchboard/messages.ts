import { Buffer } from "node:buffer";
import type {
  ClientEvent,
  ErrorPayload,
  Notification,
  ProtocolName,
  ToolCallProgress,
} from "../../../protocol/mod.ts";
import type { Seat } from "../../shared/member.ts";
import {
  bytesOfPayload,
  type Payload,
  payloadOfBytes,
} from "../../wire/mod.ts";

/** A seat as other nodes see it: the secret of its holder stays at home. */
export type ToldSeat = Omit<Seat, "instance">;

/** What one node tells another. It is trusted: only nodes can send it. */
export type NodeMessage =
  /** An Agent there calls a Computer here. */
  | {
    readonly kind: "call";
    readonly id: number;
    readonly protocol: ProtocolName;
    readonly office: string;
    readonly computer: string;
    /** The connection of the Computer. */
    readonly to: string;
    /** The connection of the Agent. */
    readonly from: string;
    readonly event: ClientEvent;
    /** The `req_id` whose progress is wanted. */
    readonly reqId?: string;
  }
  /** A Computer there answered; `maybe` if a better answer may follow (spec §12). */
  | { readonly kind: "answer" | "maybe"; readonly id: number }
  /** A call ended without an answer. */
  | { readonly kind: "fail"; readonly id: number; readonly error: ErrorPayload }
  /** Nobody waits for the answer of a call any more. */
  | { readonly kind: "forget"; readonly id: number }
  /** A Computer there told how far a call is. */
  | {
    readonly kind: "progress";
    readonly id: number;
    readonly told: ToolCallProgress;
  }
  /** A notification for the members of an office. */
  | {
    readonly kind: "notice";
    readonly protocol: ProtocolName;
    readonly office: string;
    readonly event: Notification;
    readonly payload: unknown;
    readonly from: string;
    readonly except?: string;
  }
  /** Something for those who operate this node. */
  | {
    readonly kind: "question";
    readonly id: number;
    readonly question: unknown;
  }
  /** The answer, if there is one. */
  | { readonly kind: "reply"; readonly id: number; readonly reply?: unknown }
  /** A seat was taken or left, or its holder has lost it. */
  | {
    readonly kind: "enter" | "leave" | "evict";
    readonly protocol: ProtocolName;
    readonly seat: ToldSeat;
  };

/** The messages of some kinds. */
export type Of<Kind extends NodeMessage["kind"]> = Extract<
  NodeMessage,
  { kind: Kind }
>;

/** A message with the payload that follows it. */
export interface Received {
  /** The message. */
  readonly message: NodeMessage;
  /** Returns the payload of a call or an answer. */
  payload(): Payload | undefined;
}

/** Bytes of the length of the head. */
const LENGTH_BYTES = 4;

/** Room for what is written before a payload when it is sent on, so that it is not copied. */
const MIN_HEAD_BYTES = 64;

/** Returns a message as bytes, with the payload of a call or an answer behind it. */
export function encodeMessage(
  message: NodeMessage,
  payload?: Payload,
): Uint8Array[] {
  const text = JSON.stringify(message).padEnd(MIN_HEAD_BYTES);
  const head = Buffer.allocUnsafe(LENGTH_BYTES + Buffer.byteLength(text));
  head.writeUInt32BE(head.length - LENGTH_BYTES);
  head.write(text, LENGTH_BYTES);
  return hasPayload(message) ? [head, ...bytesOfPayload(payload)] : [head];
}

/**
 * Reads a message.
 *
 * @throws {RangeError} when it is cut off
 * @throws {SyntaxError} when its head is no JSON
 */
export function decodeMessage(bytes: Buffer): Received {
  const end = LENGTH_BYTES + bytes.readUInt32BE(0);
  if (end > bytes.length) {
    throw new RangeError("Cannot read a node's message: it is cut off");
  }
  const message: NodeMessage = JSON.parse(
    bytes.toString("utf8", LENGTH_BYTES, end),
  );
  return { message, payload: () => payloadOfBytes(bytes, end) };
}

const hasPayload = ({ kind }: NodeMessage): boolean =>
  kind === "call" || kind === "answer" || kind === "maybe";

/** Leaves out what only the node of a member may know. */
export function toldSeat({ instance: _, ...seat }: Seat): ToldSeat {
  return seat;
}
