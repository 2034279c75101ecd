/**
 * Putting a file on a Computer (protocol §8.7): its SHA-256 first, then chunk after chunk. The answer to the
 * first chunk names the upload; an upload that fails is abandoned, so that the Computer can drop it.
 *
 * @module
 */
import { BlobError, CHUNK_BYTES, unsupported } from "./blobs.ts";
import { type FileSource, openPath } from "./files.ts";
import { sha256, toBase64 } from "./bytes.ts";
import { PUT_FILE_NAMES, type PutFileOptions } from "./options.ts";
import type { Requests } from "./requests.ts";
import { ConnectionError } from "../client/errors.ts";
import {
  ErrorCode,
  PROFILES,
  ProtocolError,
  PUT_BLOB_EVENT,
  type PutBlobRet,
} from "../protocol/mod.ts";
import { abortable } from "../shared/async.ts";
import { checkNames } from "../shared/checks.ts";

/** Bytes that are read at once to compute the SHA-256. */
const READ_BYTES = 2 ** 20;

/** A file that a Computer has taken. */
export interface PutFile {
  /** Its absolute path on the Computer, for the parameters of tools. */
  readonly path: string;
  /** Number of bytes. */
  readonly size: number;
  /** SHA-256 as lower-case hexadecimal digits. */
  readonly sha256: string;
}

/** What sends the chunks. */
type UploadRequests = Pick<Requests, "ask" | "roomForBase64" | "protocol">;

/** Sends a file to a Computer, one chunk after the other (protocol §8.7). */
export async function putFile(
  requests: UploadRequests,
  computer: string,
  file: FileToPut,
  options: PutFileOptions,
): Promise<PutFile> {
  checkNames(options, PUT_FILE_NAMES, "putFile()");
  const { signal, onProgress, name = nameOf(file) } = options;
  if (name === "" && typeof file !== "string") {
    throw new TypeError(
      'Cannot put bytes without a name, from which the Computer takes the extension: give one, such as { name: "photo.png" }',
    );
  }
  const { protocol } = requests;
  if (PROFILES[protocol].lacks.includes(PUT_BLOB_EVENT)) {
    throw new BlobError(
      "unsupported",
      `Cannot put a file on the Computer: this connection speaks protocol ${protocol}, which has no uploads; choose 0.4 with the option protocol (--protocol), at the Computer too`,
    );
  }
  const source = await openSource(file);
  try {
    const digest = await hash(source, signal);
    const upload = { requests, computer, source, digest, name };
    return await sendAll(upload, signal, onProgress);
  } finally {
    await source.close();
  }
}

/** A file that is sent to a Computer. */
interface Upload {
  readonly requests: UploadRequests;
  readonly computer: string;
  readonly source: FileSource;
  /** Its SHA-256. */
  readonly digest: string;
  readonly name: string;
}

/** Sends all chunks. */
async function sendAll(
  upload: Upload,
  signal: AbortSignal | undefined,
  onProgress: PutFileOptions["onProgress"],
): Promise<PutFile> {
  const { requests, computer, source, digest, name } = upload;
  const total = source.size;
  /** The answer to the first chunk, which names the upload. */
  let begun: Promise<PutBlobRet> | undefined;
  let sent = 0;
  try {
    for (;;) {
      const empty = {
        computer,
        ...(begun
          ? { upload_id: (await begun).upload_id }
          : { total_size: total, sha256: digest, name_hint: name }),
        chunk_offset: sent,
        eof: false,
        blob: "",
      };
      // Without room the request itself fails, with the reason.
      const room = Math.max(1, requests.roomForBase64(empty));
      const most = Math.min(CHUNK_BYTES, room);
      const bytes = await readExactly(source, sent, most);
      signal?.throwIfAborted();
      const end = sent + bytes.length;
      const chunk = { ...empty, eof: end === total, blob: toBase64(bytes) };
      let answered: Promise<PutBlobRet>;
      if (begun) answered = requests.ask(PUT_BLOB_EVENT, chunk, { signal });
      else {
        // Not aborted, since its answer names the upload that is to be abandoned.
        begun = requests.ask(PUT_BLOB_EVENT, chunk).catch((error) => {
          throw refused(error);
        });
        answered = signal ? abortable(begun, signal) : begun;
      }
      const answer = await answered;
      sent = end;
      onProgress?.({ sent, total });
      if (sent === total) return landed(answer, upload);
    }
  } catch (error) {
    // So that the Computer need not keep what it has; older ones drop it after a while.
    begun?.then(({ upload_id }) =>
      requests.ask(PUT_BLOB_EVENT, {
        computer,
        upload_id,
        chunk_offset: sent,
        eof: false,
        blob: "",
        abort: true,
      })
    ).catch(() => {}); // it has ended there already, or is unreachable
    throw error;
  }
}

/** Compares the file that a Computer has with the one that was sent. */
function landed(
  { landing_path: path, sha256 }: PutBlobRet,
  { computer, source, digest }: Upload,
): PutFile {
  if (path === undefined) {
    const message =
      `Computer "${computer}" did not return the path of the file`;
    throw new BlobError("invalid", message);
  }
  if (sha256?.toLowerCase() !== digest) {
    const message =
      `The file that Computer "${computer}" has is not the one that was sent`;
    throw new BlobError("changed", message);
  }
  return { path, size: source.size, sha256: digest };
}

async function hash(
  source: FileSource,
  signal: AbortSignal | undefined,
): Promise<string> {
  const digest = sha256();
  for (let at = 0; at < source.size; at += READ_BYTES) {
    signal?.throwIfAborted();
    digest.update(await readExactly(source, at, READ_BYTES));
  }
  return await digest.hex();
}

/** Reads a chunk; a file that has become shorter meanwhile is an error. */
async function readExactly(
  source: FileSource,
  at: number,
  most: number,
): Promise<Uint8Array> {
  const length = Math.min(most, source.size - at);
  const bytes = await source.read(at, length);
  if (bytes.length === length) return bytes;
  throw new BlobError("changed", "The file became shorter while it was read");
}

/** Explains why the first chunk failed: a Computer without uploads may not answer at all (protocol §8.7). */
function refused(error: unknown): unknown {
  const isSilence =
    error instanceof ProtocolError && error.code === ErrorCode.TIMEOUT ||
    error instanceof ConnectionError && error.code === "timeout";
  return isSilence
    ? new BlobError(
      "unsupported",
      "Cannot put a file on the Computer: it did not answer, so it seems not to know how; it must speak protocol 0.4",
      { cause: error },
    )
    : unsupported(error, "put a file on");
}

/** A file to send: a path where there is a file system, or its bytes. */
export type FileToPut = string | Uint8Array | Blob;

/** Returns the name of a file without a folder; bytes, and Blobs that are no Files, have none. */
export function nameOf(file: FileToPut): string {
  if (typeof file === "string") return file.split(/[\\/]/).at(-1) ?? "";
  return file instanceof File ? file.name : "";
}

/**
 * Opens a file.
 *
 * @throws {TypeError} when it is a path without a file system, not a file, or empty
 * @throws the error of the file system, such as `ENOENT`
 */
export async function openSource(file: FileToPut): Promise<FileSource> {
  const source = typeof file === "string"
    ? await openPath(file)
    : file instanceof Blob
    ? fromBlob(file)
    : fromBytes(file);
  if (source.size > 0) return source;
  await source.close();
  throw new TypeError("Cannot put an empty file: it needs at least one byte");
}

const fromBlob = (blob: Blob): FileSource => ({
  size: blob.size,
  read: async (offset, length) =>
    new Uint8Array(await blob.slice(offset, offset + length).arrayBuffer()),
  close: () => Promise.resolve(),
});

const fromBytes = (bytes: Uint8Array): FileSource => ({
  size: bytes.length,
  read: (offset, length) =>
    Promise.resolve(bytes.subarray(offset, offset + length)),
  close: () => Promise.resolve(),
});
