import { BlobError, CHUNK_BYTES, unsupported } from "./blobs.ts";
import { type FileSource, openPath } from "./files.ts";
import { sha256, toBase64 } from "./bytes.ts";
import type { PutFileOptions } from "./options.ts";
import type { Requests } from "./requests.ts";
import { ConnectionError } from "../client/errors.ts";
import {
  type AgentCallData,
  ErrorCode,
  PROFILES,
  ProtocolError,
  PUT_BLOB_EVENT,
  type PutBlobReq,
  type PutBlobRet,
} from "../protocol/mod.ts";
import { abortable } from "../shared/async.ts";

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

/** Sends a file to a Computer, one chunk after the other (0.4 §7.5). */
export async function putFile(
  requests: UploadRequests,
  computer: string,
  file: FileToPut,
  { signal, onProgress, ...options }: PutFileOptions,
): Promise<PutFile> {
  const name = options.name ?? nameOf(file);
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
    const upload = new Upload(requests, computer, source, digest);
    try {
      return await upload.run({ name, onProgress }, signal);
    } catch (error) {
      upload.abandon();
      throw error;
    }
  } finally {
    await source.close();
  }
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

/** One upload of a file. */
class Upload {
  readonly #requests: UploadRequests;
  readonly #computer: string;
  readonly #source: FileSource;
  readonly #digest: string;
  /** The answer to the first chunk, which names the upload. */
  #begun: Promise<PutBlobRet> | undefined;
  #sent = 0;

  constructor(
    requests: UploadRequests,
    computer: string,
    source: FileSource,
    digest: string,
  ) {
    this.#requests = requests;
    this.#computer = computer;
    this.#source = source;
    this.#digest = digest;
  }

  /** Sends all chunks. */
  async run(
    { name, onProgress }: {
      readonly name: string;
      readonly onProgress: PutFileOptions["onProgress"];
    },
    signal: AbortSignal | undefined,
  ): Promise<PutFile> {
    const total = this.#source.size;
    for (;;) {
      const answer = await this.#sendNext(name, signal);
      onProgress?.({ sent: this.#sent, total });
      if (this.#sent === total) return this.#landed(answer);
    }
  }

  /**
   * Tells the Computer that no more chunks follow, so that it need not keep what it has; older ones
   * find out after a while.
   */
  abandon(): void {
    this.#begun?.then(({ upload_id }) =>
      this.#requests.ask(PUT_BLOB_EVENT, {
        computer: this.#computer,
        upload_id,
        chunk_offset: this.#sent,
        eof: false,
        blob: "",
        abort: true,
      }, undefined)
    ).catch(() => {}); // it has ended there already, or cannot be told
  }

  async #sendNext(
    name: string,
    signal: AbortSignal | undefined,
  ): Promise<PutBlobRet> {
    const begun = await this.#begun;
    const { size } = this.#source;
    const empty = {
      computer: this.#computer,
      ...(begun ? { upload_id: begun.upload_id } : {
        total_size: size,
        sha256: this.#digest,
        name_hint: name,
      }),
      chunk_offset: this.#sent,
      eof: false,
      blob: "",
    };
    const room = this.#requests.roomForBase64(empty);
    // With less room the request itself fails, and says why.
    const most = Math.max(1, Math.min(CHUNK_BYTES, room));
    const bytes = await readExactly(this.#source, this.#sent, most);
    signal?.throwIfAborted();
    const end = this.#sent + bytes.length;
    const chunk = { ...empty, eof: end === size, blob: toBase64(bytes) };
    const answer = begun
      ? await this.#requests.ask(PUT_BLOB_EVENT, chunk, signal)
      : await this.#begin(chunk, signal);
    this.#sent = end;
    return answer;
  }

  /** Sends the first chunk; its answer is awaited in any case, since it has the name to give up. */
  async #begin(
    chunk: Omit<PutBlobReq, keyof AgentCallData>,
    signal: AbortSignal | undefined,
  ): Promise<PutBlobRet> {
    const begun = this.#requests.ask(PUT_BLOB_EVENT, chunk, undefined)
      .catch((error) => {
        throw refused(error);
      });
    this.#begun = begun;
    return await (signal ? abortable(begun, signal) : begun);
  }

  #landed({ landing_path, sha256 }: PutBlobRet): PutFile {
    const digest = this.#digest;
    if (landing_path === undefined) {
      throw new BlobError(
        "invalid",
        `Computer "${this.#computer}" does not say where it put the file`,
      );
    }
    if (sha256?.toLowerCase() !== digest) {
      throw new BlobError(
        "changed",
        `The file that Computer "${this.#computer}" has is not the one that was sent`,
      );
    }
    return { path: landing_path, size: this.#source.size, sha256: digest };
  }
}

/** Explains why the first chunk failed: a Computer that knows no uploads may not answer at all (0.4 §7.5). */
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
