import {
  blobNotAccessible,
  type GET_BLOB_EVENT,
  type PUT_BLOB_EVENT,
} from "../../../protocol/mod.ts";
import { roomForBase64 } from "../../../client/message_limits.ts";
import { toBase64 } from "../../util/base64.ts";
import type { BlobKinds } from "../../blobs/blob_kinds.ts";
import type { Uploads } from "../../blobs/uploads/uploads.ts";
import type { Handler } from "./handler.ts";

/** Most bytes of one chunk: as many as Computers of other SDKs send. */
const MAX_CHUNK_BYTES = 262_144;

/** What {@linkcode getBlob} needs. */
export interface GetBlobNeeds {
  /** Finds the bytes of handles. */
  readonly blobs: Pick<BlobKinds, "resolve">;
  /** The Server's limit for messages in bytes, if known. */
  readonly maxPayload: number | undefined;
}

/**
 * Returns how many bytes a chunk has: at least one while any are left, since a reader could not go on
 * from an empty one. With less room its answer cannot be sent, which its own check says.
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

/** Returns a chunk of the bytes that a handle leads to (0.4 §7.2). */
export const getBlob: Handler<typeof GET_BLOB_EVENT, GetBlobNeeds> = async (
  { blob_handle, chunk_offset = 0, max_chunk_bytes: wanted, req_id },
  { blobs, maxPayload },
) => {
  const source = await blobs.resolve(blob_handle);
  const left = source.size - chunk_offset;
  if (chunk_offset < 0 || left < 0) throw blobNotAccessible("range");
  const answer = {
    blob_handle,
    mime_type: source.mimeType,
    total_size: source.size,
    sha256: source.sha256,
    chunk_offset,
    eof: false,
    blob: "",
    req_id,
  };
  const room = roomForBase64(answer, maxPayload);
  const length = chunkLength(wanted, left, room);
  const bytes = length === 0
    ? new Uint8Array()
    : await source.read(chunk_offset, length);
  return {
    ...answer,
    eof: chunk_offset + bytes.length === source.size,
    blob: toBase64(bytes),
  };
};

/** What {@linkcode putBlob} needs. */
export interface PutBlobNeeds {
  /** Takes the files of Agents. */
  readonly uploads: Pick<Uploads, "put">;
}

/** Takes a chunk of a file (0.4 §7.5). */
export const putBlob: Handler<typeof PUT_BLOB_EVENT, PutBlobNeeds> = (
  request,
  { uploads },
) => uploads.put(request);
