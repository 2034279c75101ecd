import * as z from "../validation.ts";
import type { AgentCallData } from "./tools.ts";

/** Requests a chunk of the bytes behind a handle (protocol §8.7). */
export interface GetBlobReq extends AgentCallData {
  /** Name of the Computer that issued the handle. */
  computer: string;
  /** The handle, opaque; at most 8,192 characters. */
  blob_handle: string;
  /** Where the chunk begins, in bytes; 0 when absent. */
  chunk_offset?: number;
  /** Maximum size of the chunk in bytes; absent or 0: as the Computer likes. */
  max_chunk_bytes?: number;
}

/** A chunk of the bytes behind a handle (protocol §8.7). */
export interface GetBlobRet {
  /** The handle of the request. */
  blob_handle: string;
  /** Media type of the whole. */
  mime_type: string;
  /** Size of the whole in bytes. */
  total_size: number;
  /** SHA-256 of the whole as hexadecimal digits. */
  sha256: string;
  /** Where the chunk begins, in bytes. */
  chunk_offset: number;
  /** Whether the chunk is the last one. */
  eof: boolean;
  /** The chunk as base64. */
  blob: string;
  /** The `req_id` of the request. */
  req_id: string;
}

/** Sends a chunk of a file to a Computer; the first one declares the file (protocol §8.7). */
export interface PutBlobReq extends AgentCallData {
  /** Name of the target Computer. */
  computer: string;
  /** The upload, as the first answer named it; absent in the first chunk. */
  upload_id?: string;
  /** Where the chunk begins: the number of bytes sent before. */
  chunk_offset: number;
  /** Whether the chunk is the last one. */
  eof: boolean;
  /** The chunk as base64. */
  blob: string;
  /** First chunk only: size of the file in bytes, at least 1. */
  total_size?: number;
  /** First chunk only: SHA-256 of the file as hexadecimal digits. */
  sha256?: string;
  /** First chunk only: a name from which the Computer may take parts. */
  name_hint?: string;
  /**
   * Gives the upload up instead, so that what has arrived is removed at once; an extension of this
   * package, which others do not know: to them it is an empty chunk.
   */
  abort?: boolean;
}

/** The answer to a chunk; the last one has the path of the file (protocol §8.7). */
export interface PutBlobRet {
  /** The upload, to be named in the next chunk. */
  upload_id: string;
  /** Where the chunk began, in bytes. */
  chunk_offset: number;
  /** The `req_id` of the request. */
  req_id: string;
  /** After the last chunk: absolute path of the file on the Computer. */
  landing_path?: string;
  /** After the last chunk: size of the file in bytes. */
  total_size?: number;
  /** After the last chunk: SHA-256 of the file as the Computer computed it. */
  sha256?: string;
}

/** The parsers of `client:get_blob`. */
export const getBlob = z.routed(
  z.computerCall({
    // Handles of other implementations grow with the path in them.
    blob_handle: z.textOf(1, 8192),
    // Its range is checked by the Computer, whose answer 4018 `range` the protocol defines.
    chunk_offset: z.exactOptional(z.int()),
    max_chunk_bytes: z.exactOptional(z.count),
  }),
  z.answer({
    blob_handle: z.string(),
    mime_type: z.string(),
    total_size: z.count,
    sha256: z.string(),
    chunk_offset: z.count,
    eof: z.boolean(),
    blob: z.string(),
  }),
);

/**
 * The parsers of `client:put_blob`. What declares a file in a first chunk is checked by the Computer,
 * whose answer 4019 `invalid_declaration` the protocol defines.
 */
export const putBlob = z.routed(
  z.pipe(
    z.computerCall({
      upload_id: z.exactOptional(z.identifier),
      // Likewise: one that does not continue the upload is 4019 `range`.
      chunk_offset: z.int(),
      eof: z.boolean(),
      blob: z.string(),
    }),
    z.transform((request) => request as PutBlobReq),
  ),
  z.answer({
    upload_id: z.identifier,
    chunk_offset: z.count,
    landing_path: z.exactOptional(z.string()),
    total_size: z.exactOptional(z.count),
    sha256: z.exactOptional(z.string()),
  }),
);
