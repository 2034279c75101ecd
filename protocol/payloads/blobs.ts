import * as z from "../schema.ts";
import {
  computerCallShape,
  identifier,
  type Parser,
  parser,
  textOf,
} from "../validation.ts";
import type { AgentCallData } from "./tools.ts";

/** Requests a chunk of the bytes behind a handle (0.4 §7.2). */
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

/** A chunk of the bytes behind a handle (0.4 §7.2). */
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

/** Sends a chunk of a file to a Computer; the first one declares the file (0.4 §7.5). */
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

/** The answer to a chunk; the last one says where the file is (0.4 §7.5). */
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

/** A number of bytes. */
const byteCount = z.int().check(z.minimum(0));

/** Handles of other implementations grow with the path in them. */
const handle = textOf(1, 8192);

/**
 * What declares a file is checked by the Computer, whose answer 4019 `invalid_declaration` the
 * protocol defines.
 *
 * @internal
 */
const putBlobReqSchema = z.pipe(
  z.looseObject({
    ...computerCallShape,
    upload_id: z.exactOptional(identifier),
    // Likewise: one that does not continue the upload is 4019 `range`.
    chunk_offset: z.int(),
    eof: z.boolean(),
    blob: z.string(),
  }),
  z.transform((request) => request as PutBlobReq),
);

/** Parses a {@linkcode GetBlobReq}. */
export const parseGetBlobReq: Parser<GetBlobReq> = parser(z.looseObject({
  ...computerCallShape,
  blob_handle: handle,
  // Its range is checked by the Computer, whose answer 4018 `range` the protocol defines.
  chunk_offset: z.exactOptional(z.int()),
  max_chunk_bytes: z.exactOptional(byteCount),
}));
/** Parses a {@linkcode GetBlobRet}. */
export const parseGetBlobRet: Parser<GetBlobRet> = parser(z.looseObject({
  blob_handle: z.string(),
  mime_type: z.string(),
  total_size: byteCount,
  sha256: z.string(),
  chunk_offset: byteCount,
  eof: z.boolean(),
  blob: z.string(),
  req_id: z.string(),
}));
/** Parses a {@linkcode PutBlobReq}; the declaration in a first chunk is not checked. */
export const parsePutBlobReq: Parser<PutBlobReq> = parser(putBlobReqSchema);
/** Parses a {@linkcode PutBlobRet}. */
export const parsePutBlobRet: Parser<PutBlobRet> = parser(z.looseObject({
  upload_id: identifier,
  chunk_offset: byteCount,
  req_id: z.string(),
  landing_path: z.exactOptional(z.string()),
  total_size: z.exactOptional(byteCount),
  sha256: z.exactOptional(z.string()),
}));
