import { type Buffer, isUtf8 } from "node:buffer";
import { FrameError } from "./frame_reader.ts";

/**
 * Checks the payload of a close frame (RFC 6455 §7.4).
 *
 * @throws {FrameError} when the code or the reason is invalid
 */
export function checkClose(payload: Buffer): void {
  if (payload.length === 0) return;
  const code = payload.length === 1 ? 0 : payload.readUInt16BE();
  const known = code >= 1000 && code <= 1014 &&
    ![1004, 1005, 1006].includes(code);
  if (!known && !(code >= 3000 && code <= 4999)) {
    throw new FrameError(1002, `Invalid close code ${code}`);
  }
  if (!isUtf8(payload.subarray(2))) throw new FrameError(1007, "Invalid UTF-8");
}
