/**
 * The decoder of a client's packets, which refuses what would take too much to parse.
 *
 * A long packet is scanned first. Of one with too many values only the head is read: its event, and the
 * id of its ack. It is passed on with an error in place of its payload, so that it fails by itself: no
 * other request, and not the connection.
 *
 * @module
 */
import { Decoder, type Packet, PacketType } from "socket.io-parser";
import { ConnectionError } from "./errors.ts";
import { ErrorCode, ProtocolError } from "../protocol/errors.ts";
import { outlineOf } from "../shared/json/outline.ts";
import { countValues } from "../shared/json/values.ts";

/** The most values of a request or a notification: those of a call's arguments. */
export const MAX_EVENT_VALUES = 100_000;
/** The most values of an answer: those of a Computer's tools; a packet does not name its sender. */
export const MAX_ANSWER_VALUES = 1_000_000;

/** Type, attachments, namespace and id of a packet; its payload follows. */
const HEAD = /^([2356])(?:(\d+)-)?(?:(\/[^,]*),)?(\d*)(?=\s*\[)/;

/** Decodes packets, but none with too many values. */
export class BoundedDecoder extends Decoder {
  override add(chunk: unknown): void {
    if (typeof chunk !== "string" || chunk.length <= MAX_EVENT_VALUES) {
      return super.add(chunk); // a value takes a character at least
    }
    const bounded = bound(chunk);
    if (typeof bounded === "object") {
      // Its only listener is the Manager, and this is the only event that it emits to it.
      this.emitReserved("decoded", bounded);
    } else super.add(bounded ?? chunk);
  }
}

/** @returns `undefined` for a packet that may be parsed, else what is passed on in its place */
function bound(text: string): Packet | string | undefined {
  const [head, type, attachments, nsp = "/", id = ""] = HEAD.exec(text) ?? [];
  if (head === undefined) return undefined;
  const isAnswer = type === "3" || type === "6";
  const most = isAnswer ? MAX_ANSWER_VALUES : MAX_EVENT_VALUES;
  if (countValues(text, most) <= most) return undefined;
  const [event] = isAnswer ? [] : [outlineOf(text.slice(head.length))].flat();
  // No message of the protocol has attachments; the stock decoder waits for them.
  if (attachments !== undefined) {
    return head + JSON.stringify(isAnswer ? [null] : [String(event), null]);
  }
  const why = `Cannot take ${
    event ?? "the answer"
  }: it has more than ${most} values; send less at once, or long data as one text`;
  const data = isAnswer
    ? [new ConnectionError("too_large", why)]
    : [String(event), new ProtocolError(ErrorCode.BAD_REQUEST, why)];
  return {
    type: isAnswer ? PacketType.ACK : PacketType.EVENT,
    nsp,
    data,
    ...(id !== "" && { id: Number(id) }),
  };
}
