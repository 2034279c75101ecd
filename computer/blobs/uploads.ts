/**
 * Files that Agents send in chunks (protocol §8.7): the first chunk declares the file, later ones
 * continue it, the last one completes it; an upload without a next chunk in time is dropped.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { createHash, randomUUID } from "node:crypto";
import type { BlobOptions } from "./options.ts";
import { type Part, UploadFolder } from "./upload_folder.ts";
import { log } from "../util/log.ts";
import { isBase64, reasonOf } from "../util/values.ts";
import type {
  ProtocolError,
  PutBlobReq,
  PutBlobRet,
} from "../../protocol/mod.ts";
import {
  blobWriteFailed,
  type BlobWriteReason,
} from "../../protocol/errors.ts";
import { queue } from "../../shared/async.ts";

/** The limits of {@linkcode Uploads}. */
export type UploadLimits = Required<NonNullable<BlobOptions["uploads"]>>;

/** Takes the files of Agents (protocol §8.7). */
export class Uploads {
  readonly #folder: UploadFolder | undefined;
  readonly #limits: UploadLimits;
  readonly #running = new Map<string, Upload>();
  /** Those being dropped, since no further chunk came in time. */
  readonly #late = new Set<Promise<void>>();
  #closed = false;

  /** @param root the folder for them; without one, nothing is taken */
  constructor(root: string | undefined, limits: UploadLimits) {
    this.#folder = root === undefined ? undefined : new UploadFolder(root);
    this.#limits = limits;
  }

  /** Removes what killed processes left; never rejects. */
  async start(): Promise<void> {
    await this.#folder?.removeLeftOver();
  }

  /**
   * Takes a chunk.
   *
   * @throws {ProtocolError} 4019
   */
  async put(request: PutBlobReq): Promise<PutBlobRet> {
    if (!this.#folder) {
      throw blobWriteFailed(
        "forbidden",
        "this Computer accepts no files; its owner can set a folder for them with landingRoot (--landing-root)",
      );
    }
    if (request.upload_id === undefined) {
      return await this.#begin(this.#folder, request);
    }
    const upload = this.#running.get(request.upload_id);
    if (!upload) throw unknownUpload(request.upload_id);
    clearTimeout(upload.timer);
    try {
      return await upload.take(request);
    } finally {
      this.#expectNext(request.upload_id);
    }
  }

  /** Drops all uploads; never rejects. */
  async drop(): Promise<void> {
    const dropping = [...this.#running].map(([id, upload]) => {
      this.#forget(id);
      return upload.drop();
    });
    await Promise.all([...dropping, ...this.#late]);
  }

  /** Drops all uploads, and takes no more. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.drop();
  }

  async #begin(folder: UploadFolder, request: PutBlobReq): Promise<PutBlobRet> {
    const declared = readDeclaration(request);
    const { maxBytes, maxConcurrent } = this.#limits;
    if (declared.size > maxBytes) {
      throw blobWriteFailed(
        "too_large",
        `it has ${declared.size} bytes, and this Computer accepts at most ${maxBytes}`,
      );
    }
    if (this.#closed || this.#running.size >= maxConcurrent) {
      throw blobWriteFailed(
        "busy",
        `${maxConcurrent} uploads are running; try again later`,
      );
    }
    const id = randomUUID().replaceAll("-", "");
    const part = folder.create(id);
    const upload = new Upload(id, declared, part, () => this.#forget(id));
    this.#running.set(id, upload); // takes its place before anything is awaited
    try {
      return await upload.take(request);
    } catch (error) {
      await upload.drop(); // its Agent begins again: nothing is lost that it would go on with
      throw error;
    } finally {
      this.#expectNext(id);
    }
  }

  /** Drops an upload that gets no further chunk in time. */
  #expectNext(id: string): void {
    const upload = this.#running.get(id);
    if (!upload) return;
    clearTimeout(upload.timer);
    upload.timer = setTimeout(() => {
      const late = upload.drop().finally(() => this.#late.delete(late));
      this.#late.add(late);
    }, this.#limits.idleTimeoutMs);
  }

  #forget(id: string): void {
    clearTimeout(this.#running.get(id)?.timer);
    this.#running.delete(id);
  }
}

/** One upload: its chunks in order, the file in its place after the last (protocol §8.7). */
class Upload {
  /** Ends it when it waits too long for its next chunk. */
  timer: ReturnType<typeof setTimeout> | undefined;
  readonly #id: string;
  readonly #declared: Declaration;
  readonly #creating: Promise<Part>;
  readonly #ended: () => void;
  readonly #hash = createHash("sha256");
  readonly #inTurn = queue();
  #received = 0;
  #isOver = false;

  /**
   * @param creating its file
   * @param ended called when it ends, before its answer
   */
  constructor(
    id: string,
    declared: Declaration,
    creating: Promise<Part>,
    ended: () => void,
  ) {
    this.#id = id;
    this.#declared = declared;
    this.#creating = creating;
    this.#ended = ended;
  }

  /**
   * Takes the next chunk, after those before it.
   *
   * @throws {ProtocolError} 4019
   */
  take(request: PutBlobReq): Promise<PutBlobRet> {
    return this.#inTurn(() => this.#take(request));
  }

  /** Drops the upload, and removes what has arrived, after the chunk that is being written. */
  drop(): Promise<void> {
    return this.#inTurn(() => this.#end());
  }

  async #take(request: PutBlobReq): Promise<PutBlobRet> {
    if (this.#isOver) throw unknownUpload(this.#id);
    const part = await this.#creating;
    const { chunk_offset, eof, req_id } = request;
    const answer = { upload_id: this.#id, chunk_offset, req_id };
    if (request.abort === true) {
      await this.#end();
      return answer;
    }
    const bytes = await this.#readChunk(request);
    await this.#onDisk(part.write(bytes));
    this.#hash.update(bytes);
    this.#received += bytes.length;
    return eof ? { ...answer, ...await this.#finish(part) } : answer;
  }

  /** Returns the bytes of the chunk that is expected next; one that exceeds the file ends the upload. */
  async #readChunk(request: PutBlobReq): Promise<Uint8Array> {
    const { upload_id, chunk_offset, eof, blob } = request;
    if (upload_id !== undefined) checkLaterChunk(request);
    if (chunk_offset !== this.#received) {
      throw this.#failure(
        "range",
        `chunk_offset is ${chunk_offset}, and ${this.#received} bytes have arrived`,
      );
    }
    if (!isBase64(blob)) throw invalid("blob must be base64", upload_id);
    const bytes = Buffer.from(blob, "base64");
    const end = chunk_offset + bytes.length;
    const { size } = this.#declared;
    if (end > size) {
      const why = `it has more than the declared ${size} bytes`;
      return await this.#fail("range", why);
    }
    if (eof && end < size) {
      const why = `the last chunk ends at ${end} of ${size} bytes`;
      throw this.#failure("range", why);
    }
    return bytes;
  }

  /** Puts the complete file in its place. */
  async #finish(part: Part): Promise<Partial<PutBlobRet>> {
    const { size, sha256, hint } = this.#declared;
    const actual = this.#hash.digest("hex");
    if (actual !== sha256) {
      const why = `the bytes that arrived have the SHA-256 ${actual}`;
      return await this.#fail("integrity", why);
    }
    const name = [this.#id, cleanHint(hint)]
      .filter((text) => text !== "").join("_");
    const path = await this.#onDisk(part.complete(name));
    this.#isOver = true;
    this.#ended();
    log.info("Took a file of {size} bytes of an Agent: {path}", { size, path });
    return { landing_path: path, total_size: size, sha256: actual };
  }

  #onDisk<T>(work: Promise<T>): Promise<T> {
    return work.catch((error) => {
      const reason = reasonOf(error);
      log.warn("Cannot write a file of an Agent: {reason}", { reason });
      return this.#fail("io_error", "the Computer cannot write it");
    });
  }

  async #end(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#ended();
    const part = await this.#creating.catch(() => undefined); // none could be created
    await part?.remove();
  }

  async #fail(reason: BlobWriteReason, why: string): Promise<never> {
    await this.#end();
    throw this.#failure(reason, why);
  }

  #failure(reason: BlobWriteReason, why: string): ProtocolError {
    return blobWriteFailed(reason, why, this.#id);
  }
}

/** Creates the error of an upload that does not exist, or no longer. */
const unknownUpload = (id: string): ProtocolError =>
  blobWriteFailed(
    "invalid_upload",
    "there is no such upload, or it was dropped; start over without upload_id",
    id,
  );

/** The declaration of a file in its first chunk. */
interface Declaration {
  /** Number of bytes, at least 1. */
  readonly size: number;
  /** SHA-256 as lower-case digits. */
  readonly sha256: string;
  /** A name from which parts may be taken. */
  readonly hint: string;
}

/** Reads what the first chunk declares. @throws {ProtocolError} 4019 `invalid_declaration` */
function readDeclaration(
  // Not checked when the request was parsed.
  { total_size, sha256, name_hint = "" }: {
    readonly [F in "total_size" | "sha256" | "name_hint"]?: unknown;
  },
): Declaration {
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
function checkLaterChunk(request: PutBlobReq): void {
  const again = ["total_size", "sha256", "name_hint"]
    .filter((field) => Object.hasOwn(request, field));
  if (again.length === 0) return;
  const why = `only the first chunk has ${again.join(", ")}`;
  throw invalid(why, request.upload_id);
}

const invalid = (why: string, uploadId?: string) =>
  blobWriteFailed("invalid_declaration", why, uploadId);

/** Maximum characters that are taken from a hint. */
const MAX_CHARACTERS = 64;

/** Returns what a hint adds to the name of a file: `[A-Za-z0-9._-]`, or nothing (protocol §8.7). */
export const cleanHint = (hint: string): string =>
  hint.trim().replaceAll(/[^A-Za-z0-9._-]+/g, "_").slice(0, MAX_CHARACTERS)
    .replaceAll(/^[._-]+|[._-]+$/g, "");
