import { Buffer } from "node:buffer";
import { Opcode } from "./frame_reader.ts";
import type { JsonText } from "../json/json_text.ts";

/** Returns the length of a server frame's header. */
const headerLength = (length: number): number =>
  length < 126 ? 2 : length < 65_536 ? 4 : 10;

/** Writes the header of a final, unmasked frame at `at`. */
function writeHeader(
  bytes: Buffer,
  at: number,
  opcode: number,
  length: number,
): void {
  bytes[at] = 0x80 | opcode;
  if (length < 126) bytes[at + 1] = length;
  else if (length < 65_536) {
    bytes[at + 1] = 126;
    bytes.writeUInt16BE(length, at + 2);
  } else {
    bytes[at + 1] = 127;
    bytes.writeUInt32BE(Math.floor(length / 2 ** 32), at + 2);
    bytes.writeUInt32BE(length % 2 ** 32, at + 6);
  }
}

/** Returns a text message as one frame. */
export function textFrame(text: string): Buffer {
  const length = Buffer.byteLength(text);
  const header = headerLength(length);
  const frame = Buffer.allocUnsafe(header + length);
  writeHeader(frame, 0, Opcode.TEXT, length);
  frame.write(text, header);
  return frame;
}

/** Returns a binary message or a control frame. */
export function bytesFrame(opcode: number, payload: Uint8Array): Buffer {
  const header = headerLength(payload.length);
  const frame = Buffer.allocUnsafe(header + payload.length);
  writeHeader(frame, 0, opcode, payload.length);
  frame.set(payload, header);
  return frame;
}

/**
 * Returns a text message of `head`, `body` and `tail` as one frame; does not copy the body if its
 * buffer has padding around it.
 *
 * @param head ASCII only; `tail` likewise
 */
export function jsonFrame(head: string, body: JsonText, tail: string): Buffer {
  const length = head.length + body.length + tail.length;
  const header = headerLength(length);
  const before = header + head.length;
  if (body.claimPadding(before, tail.length)) {
    const frame = body.bytes.subarray(
      body.start - before,
      body.end + tail.length,
    );
    writeHeader(frame, 0, Opcode.TEXT, length);
    writeAscii(frame, header, head);
    writeAscii(frame, before + body.length, tail);
    return frame;
  }
  const frame = Buffer.allocUnsafe(header + length);
  writeHeader(frame, 0, Opcode.TEXT, length);
  writeAscii(frame, header, head);
  body.bytes.copy(frame, before, body.start, body.end);
  writeAscii(frame, before + body.length, tail);
  return frame;
}

/** Writes ASCII in a loop, which is faster than native methods for few characters. */
function writeAscii(bytes: Buffer, at: number, text: string): void {
  for (let i = 0; i < text.length; i++) bytes[at + i] = text.charCodeAt(i);
}
