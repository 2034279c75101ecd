import { Buffer } from "node:buffer";
import { blobWriteFailed, type PutBlobReq } from "../../../protocol/mod.ts";
import { isBase64 } from "../../util/base64.ts";

/** What the first chunk says of a file. */
export interface Declaration {
  /** Number of bytes, at least 1. */
  readonly size: number;
  /** SHA-256 as lower-case digits. */
  readonly sha256: string;
  /** A name from which parts may be taken. */
  readonly hint: string;
}

/** Reads what the first chunk declares. @throws {ProtocolError} 4019 `invalid_declaration` */
export function readDeclaration(request: PutBlobReq): Declaration {
  // Not checked when the request was parsed.
  const { total_size, sha256, name_hint = "" }: Unchecked = request;
  if (
    typeof total_size !== "number" || !Number.isSafeInteger(total_size) ||
    total_size < 1
  ) {
    throw invalid("total_size must be a whole number of bytes, at least 1");
  }
  if (typeof sha256 !== "string" || !/^[0-9a-f]{64}$/i.test(sha256)) {
    throw invalid("sha256 must be 64 hexadecimal digits");
  }
  if (typeof name_hint !== "string") throw invalid("name_hint must be a text");
  return { size: total_size, sha256: sha256.toLowerCase(), hint: name_hint };
}

/**
 * Checks that a chunk declares nothing.
 *
 * @throws {ProtocolError} 4019 `invalid_declaration`
 */
export function checkLaterChunk(request: PutBlobReq): void {
  const again = ["total_size", "sha256", "name_hint"]
    .filter((field) => Object.hasOwn(request, field));
  if (again.length === 0) return;
  const why = `only the first chunk has ${again.join(", ")}`;
  throw invalid(why, request.upload_id);
}

/**
 * Reads the bytes of a chunk.
 *
 * @throws {ProtocolError} 4019 `invalid_declaration`
 */
export function readBytes({ blob, upload_id }: PutBlobReq): Uint8Array {
  if (!isBase64(blob)) throw invalid("blob must be base64", upload_id);
  return Buffer.from(blob, "base64");
}

type Unchecked = {
  readonly [F in "total_size" | "sha256" | "name_hint"]?: unknown;
};

const invalid = (why: string, uploadId?: string) =>
  blobWriteFailed("invalid_declaration", why, uploadId);
