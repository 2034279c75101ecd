import { createHash } from "node:crypto";
import { Buffer } from "node:buffer";
import { type ComputerScript, ProtocolError } from "../../testing/mod.ts";
import type { GetBlobReq } from "../../protocol/mod.ts";
import { getBlob } from "../../protocol/payloads/blobs.ts";

/** The handle of all bytes of {@linkcode blobScript}. */
export const HANDLE = "hKF2AaRr";

/** Returns the digest in hexadecimal digits. */
export const sha256 = (bytes: Uint8Array): string =>
  createHash("sha256").update(bytes).digest("hex");

/** Bytes that differ everywhere, the same each time. */
export const someBytes = (length: number): Uint8Array<ArrayBuffer> => {
  const bytes = new Uint8Array(length);
  for (let i = 0, x = 1; i < length; i++) {
    x = (x * 48_271) % 0x7fffffff;
    bytes[i] = x;
  }
  return bytes;
};

/** What a Computer of another SDK writes beside content that it left out. */
export const leftOut = (bytes: Uint8Array) => ({
  a2c_blob_handle: HANDLE,
  a2c_total_size: bytes.length,
  a2c_sha256: sha256(bytes),
});

/** How a scripted Computer gives bytes out. */
export interface BlobScriptOptions {
  /** Maximum bytes of a chunk. */
  readonly chunk?: number;
  /** Changes an answer; its `number` counts from 0. */
  readonly change?: (
    answer: Record<string, unknown>,
    request: GetBlobReq,
    number: number,
  ) => unknown;
}

/** A Computer whose tools answer with `content`, and which gives out `bytes` in chunks (protocol §8.7). */
export function blobScript(
  content: unknown,
  bytes: Uint8Array,
  { chunk = 262_144, change = (answer) => answer }: BlobScriptOptions = {},
): ComputerScript & { readonly requests: GetBlobReq[] } {
  const requests: GetBlobReq[] = [];
  const all = {
    mime_type: "image/png",
    total_size: bytes.length,
    sha256: sha256(bytes),
  };
  const script: ComputerScript = (event, payload) => {
    if (event === "client:get_tools") return { tools: [], req_id: "1" };
    if (event === "client:tool_call") return { content };
    if (event !== "client:get_blob") throw unknownEvent(event);
    const request = getBlob.parseRequest(payload);
    const { blob_handle, req_id, chunk_offset = 0 } = request;
    const size = Math.min(request.max_chunk_bytes ?? chunk, chunk);
    const part = bytes.subarray(chunk_offset, chunk_offset + size);
    const eof = chunk_offset + part.length >= bytes.length;
    const blob = Buffer.from(part).toString("base64");
    const answer = { ...all, blob_handle, chunk_offset, eof, blob, req_id };
    return change(answer, request, requests.push(request) - 1);
  };
  return Object.assign(script, { requests });
}

/** What a peer answers that does not know an event. */
export const unknownEvent = (event: string): ProtocolError =>
  new ProtocolError(400, `Unknown event "${event}"`);
