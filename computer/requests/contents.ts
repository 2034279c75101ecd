/**
 * Requests for content in parts: files of skills, and the bytes behind handles.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { roomForBase64 } from "../../client/message_limits.ts";
import { type BlobExchange, writeHandle } from "../blobs/blobs.ts";
import type { Handler } from "./parts.ts";
import { ENTRY_FILE, SkillFault } from "../skills/sandbox.ts";
import type { SkillFile } from "../skills/skill_file.ts";
import { SKILL_KIND } from "../skills/skills.ts";
import { toBase64 } from "../util/values.ts";
import type {
  GET_SKILL_EVENT,
  GetBlobReq,
  GetBlobRet,
  GetSkillRet,
} from "../../protocol/mod.ts";
import {
  blobNotAccessible,
  skillNotAccessible,
} from "../../protocol/errors.ts";

/** Text up to this is part of the answer; the rest is fetched in parts (protocol §8.6). */
const INLINE_BYTES = 32 * 1024;

/** Gets a file of a skill: its text, or a handle for its bytes (protocol §8.6). */
export const getSkill: Handler<typeof GET_SKILL_EVENT> = async (
  { name, rel_path, req_id },
  { skills },
) => {
  const path = rel_path || ENTRY_FILE;
  const file = await skills.open(name, path).catch((error) => {
    throw error instanceof SkillFault
      ? skillNotAccessible(error.reason, path, error.totalSize)
      : error;
  });
  try {
    const { mimeType: mime_type, totalSize: total_size } = file;
    const answer = { name, rel_path: path, mime_type, total_size, req_id };
    return await inline(answer, file) ?? {
      ...answer,
      sha256: await file.sha256(),
      blob_handle: writeHandle({ kind: SKILL_KIND, name, path }),
    };
  } finally {
    await file.close();
  }
};

async function inline(
  answer: Omit<GetSkillRet, "sha256">,
  file: SkillFile,
): Promise<GetSkillRet | undefined> {
  if (!file.isText || file.totalSize > INLINE_BYTES) return undefined;
  const bytes = await file.read(0, file.totalSize);
  const body = Buffer.from(bytes).toString();
  // Bytes that are no UTF-8 would come back as others.
  if (!Buffer.from(body).equals(bytes)) return undefined;
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return { ...answer, total_size: bytes.length, sha256, body };
}

/** Maximum bytes of one chunk, as Computers of other SDKs have it. */
const MAX_CHUNK_BYTES = 262_144;

/**
 * Returns how many bytes a chunk has: at least one while any are left, since a reader could not go on
 * from an empty one. With less room its answer cannot be sent, which is checked elsewhere.
 *
 * @param wanted the request's `max_chunk_bytes`; 0 and absent mean as many as a chunk may have
 * @param left from the offset to the end
 * @param room for bytes in a message that the Server takes
 */
export const chunkLength = (
  wanted: number | undefined,
  left: number,
  room: number,
): number =>
  Math.max(
    Math.min(wanted || MAX_CHUNK_BYTES, MAX_CHUNK_BYTES, room, left),
    Math.min(1, left),
  );

/** Returns a chunk of the bytes that a handle leads to (protocol §8.7). */
export async function getBlob(
  { blob_handle, chunk_offset = 0, max_chunk_bytes: wanted, req_id }:
    GetBlobReq,
  blobs: BlobExchange,
  maxPayload: number | undefined,
): Promise<GetBlobRet> {
  const source = await blobs.resolve(blob_handle);
  const { mimeType: mime_type, size: total_size, sha256 } = source;
  const left = total_size - chunk_offset;
  if (chunk_offset < 0 || left < 0) throw blobNotAccessible("range");
  const about = { blob_handle, mime_type, total_size, sha256, chunk_offset };
  const answer = { ...about, eof: false, blob: "", req_id };
  const room = roomForBase64(answer, maxPayload);
  const length = chunkLength(wanted, left, room);
  const bytes = length === 0
    ? new Uint8Array()
    : await source.read(chunk_offset, length);
  const eof = chunk_offset + bytes.length === total_size;
  return { ...answer, eof, blob: toBase64(bytes) };
}
