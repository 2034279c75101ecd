import { Buffer } from "node:buffer";
import { Decoder, Encoder, type Packet, PacketType } from "socket.io-parser";
import { Payload } from "../shared/payload.ts";
import { JsonText } from "./json_text.ts";

/** What the bytes are; the first of them. */
const NOTHING = 0;
const JSON_TEXT = 1;
const JSON_TEXT_OF_ERROR = 2;
const VALUE = 3;

/** Room for what is written around a payload when it is sent on, so that it is not copied. */
const TAIL = Buffer.alloc(1);

const encoder = new Encoder();

/**
 * Returns a payload as bytes, for another process that trusts this one; text is not copied.
 *
 * {@linkcode payloadOfBytes} reads them. The text of a client stays as it is, with what the scan has
 * found; values go as packets of Socket.IO, since they may have bytes in them.
 */
export function bytesOfPayload(payload: Payload | undefined): Uint8Array[] {
  if (payload === undefined) return [Buffer.of(NOTHING)];
  if (payload instanceof JsonText) {
    const { bytes, start, end, large, mayBeError } = payload;
    const kind = mayBeError ? JSON_TEXT_OF_ERROR : JSON_TEXT;
    const found = large.map((offset) => offset - start);
    return [headOf(kind, found), bytes.subarray(start, end), TAIL];
  }
  const parts = encoder.encode({
    type: PacketType.ACK, // of which any value may be the first
    nsp: "/",
    id: 0,
    data: [payload.parse()],
  }).map((part) =>
    typeof part === "string" ? Buffer.from(part) : bytesOf(part)
  );
  return [headOf(VALUE, parts.map(({ length }) => length)), ...parts];
}

/**
 * Reads what {@linkcode bytesOfPayload} returned, joined.
 *
 * @param bytes become part of the payload, with what is before it in their buffer
 * @param start where they begin in it
 * @throws {RangeError} when they are incomplete
 */
export function payloadOfBytes(
  bytes: Buffer,
  start: number,
): Payload | undefined {
  const kind = bytes.readUInt8(start);
  if (kind === NOTHING) return undefined;
  const count = bytes.readUInt32BE(start + 1);
  let at = start + 5;
  const numbers: number[] = [];
  for (let i = 0; i < count; i++, at += 4) numbers.push(bytes.readUInt32BE(at));
  if (kind === VALUE) return valueOf(bytes, at, numbers);
  const large = numbers.map((offset) => offset + at);
  const mayBeError = kind === JSON_TEXT_OF_ERROR;
  const end = bytes.length - TAIL.length;
  if (end < at) throw new RangeError("Cannot read a payload: it is cut off");
  const range = { bytes, start: at, end, ownsBuffer: true };
  return new JsonText(range, { large, mayBeError });
}

function headOf(kind: number, numbers: readonly number[]): Uint8Array {
  const head = Buffer.allocUnsafe(5 + 4 * numbers.length);
  head.writeUInt8(kind, 0);
  head.writeUInt32BE(numbers.length, 1);
  numbers.forEach((number, i) => head.writeUInt32BE(number, 5 + 4 * i));
  return head;
}

function valueOf(
  bytes: Buffer,
  at: number,
  lengths: readonly number[],
): Payload {
  let value: unknown;
  const decoder = new Decoder();
  decoder.on("decoded", ({ data }: Packet) => {
    if (Array.isArray(data)) value = data[0];
  });
  lengths.forEach((length, i) => {
    const part = bytes.subarray(at, at + length);
    if (part.length < length) {
      throw new RangeError("Cannot read a payload: it is cut off");
    }
    decoder.add(i === 0 ? part.toString() : part);
    at += length;
  });
  decoder.destroy();
  return Payload.of(value);
}

/** Returns the bytes of an attachment. */
export const bytesOf = (part: ArrayBuffer | ArrayBufferView): Uint8Array =>
  part instanceof ArrayBuffer
    ? new Uint8Array(part)
    : new Uint8Array(part.buffer, part.byteOffset, part.byteLength);
