/**
 * Files that Agents send in chunks (0.4 §7.5): the first chunk declares the file, later ones
 * continue it, the last one lands it; an upload without a next chunk in time is dropped.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { createHash, randomUUID } from "node:crypto";
import { Landing, type Part } from "./landing.ts";
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

/** The limits of {@linkcode Uploads}. */
export interface UploadLimits {
  /** Maximum bytes of a file. */
  readonly maxBytes: number;
  /** Maximum uploads at a time. */
  readonly maxConcurrent: number;
  /** How long an upload may wait for its next chunk. */
  readonly idleTimeoutMs: number;
}

/** An upload that has begun, or is about to. */
interface Running {
  readonly upload: Promise<Upload>;
  timer?: ReturnType<typeof setTimeout>;
}

/** Takes the files of Agents (0.4 §7.5). */
export class Uploads {
  readonly #landing: Landing | undefined;
  readonly #limits: UploadLimits;
  readonly #running = new Map<string, Running>();
  /** Those being given up, since no further chunk came in time. */
  readonly #late = new Set<Promise<void>>();
  #closed = false;

  /** @param root the folder for them; without one, nothing is taken */
  constructor(root: string | undefined, limits: UploadLimits) {
    this.#landing = root === undefined ? undefined : new Landing(root);
    this.#limits = limits;
  }

  /** Removes what killed processes left; never rejects. */
  async start(): Promise<void> {
    await this.#landing?.removeLeftOver();
  }

  /**
   * Takes a chunk.
   *
   * @throws {ProtocolError} 4019
   */
  async put(request: PutBlobReq): Promise<PutBlobRet> {
    if (!this.#landing) {
      throw blobWriteFailed(
        "forbidden",
        "this Computer takes no files; its owner can give them a folder with landingRoot (--landing-root)",
      );
    }
    if (request.upload_id === undefined) {
      return await this.#begin(this.#landing, request);
    }
    const running = this.#running.get(request.upload_id);
    if (!running) throw unknownUpload(request.upload_id);
    clearTimeout(running.timer);
    try {
      return await (await running.upload).take(request);
    } finally {
      this.#expectNext(request.upload_id);
    }
  }

  /** Gives up all uploads; never rejects. */
  async drop(): Promise<void> {
    const dropping = [...this.#running].map(async ([id, { upload }]) => {
      this.#forget(id);
      await giveUp(upload);
    });
    await Promise.all([...dropping, ...this.#late]);
  }

  /** Gives up all uploads, and takes no more. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.drop();
  }

  async #begin(landing: Landing, request: PutBlobReq): Promise<PutBlobRet> {
    const declared = readDeclaration(request);
    const { maxBytes, maxConcurrent } = this.#limits;
    if (declared.size > maxBytes) {
      throw blobWriteFailed(
        "too_large",
        `it has ${declared.size} bytes, and this Computer takes at most ${maxBytes}`,
      );
    }
    if (this.#closed || this.#running.size >= maxConcurrent) {
      throw blobWriteFailed(
        "busy",
        `${maxConcurrent} uploads are running; try again later`,
      );
    }
    const id = randomUUID().replaceAll("-", "");
    const upload = landing.create(id).then((part) =>
      new Upload(id, declared, part, () => this.#forget(id))
    );
    this.#running.set(id, { upload }); // takes its place before anything is awaited
    try {
      return await (await upload).take(request);
    } catch (error) {
      this.#forget(id);
      await giveUp(upload); // its Agent begins again: nothing is lost that it would go on with
      throw error;
    } finally {
      this.#expectNext(id);
    }
  }

  /** Gives an upload up that gets no further chunk in time. */
  #expectNext(id: string): void {
    const running = this.#running.get(id);
    if (!running) return;
    clearTimeout(running.timer);
    running.timer = setTimeout(() => {
      const late = giveUp(running.upload).finally(() =>
        this.#late.delete(late)
      );
      this.#late.add(late);
    }, this.#limits.idleTimeoutMs);
  }

  #forget(id: string): void {
    clearTimeout(this.#running.get(id)?.timer);
    this.#running.delete(id);
  }
}

const giveUp = (upload: Promise<Upload>): Promise<void> =>
  upload.then((begun) => begun.drop(), () => {}); // one that could not begin has nothing

/** One upload: its chunks in order, the file in its place after the last (0.4 §7.5). */
class Upload {
  readonly #id: string;
  readonly #declared: Declaration;
  readonly #part: Part;
  readonly #dropped: () => void;
  readonly #hash = createHash("sha256");
  #received = 0;
  #ended = false;
  #last: Promise<unknown> = Promise.resolve();

  /** @param dropped called when it ends, before its answer */
  constructor(
    id: string,
    declared: Declaration,
    part: Part,
    dropped: () => void,
  ) {
    this.#id = id;
    this.#declared = declared;
    this.#part = part;
    this.#dropped = dropped;
  }

  /**
   * Takes the next chunk, after those before it.
   *
   * @throws {ProtocolError} 4019
   */
  take(request: PutBlobReq): Promise<PutBlobRet> {
    const taken = this.#last.then(() => this.#take(request));
    this.#last = taken.catch(() => {});
    return taken;
  }

  /** Gives it up, and removes what has arrived, after the chunk that is being written. */
  drop(): Promise<void> {
    const dropped = this.#last.then(() => this.#end());
    this.#last = dropped;
    return dropped;
  }

  async #take(request: PutBlobReq): Promise<PutBlobRet> {
    if (this.#ended) throw unknownUpload(this.#id);
    const { chunk_offset, eof, req_id } = request;
    const answer = { upload_id: this.#id, chunk_offset, req_id };
    if (request.abort === true) {
      await this.#end();
      return answer;
    }
    if (request.upload_id !== undefined) checkLaterChunk(request);
    if (chunk_offset !== this.#received) {
      throw this.#failure(
        "range",
        `chunk_offset is ${chunk_offset}, and ${this.#received} bytes have arrived`,
      );
    }
    if (!isBase64(request.blob)) {
      throw invalid("blob must be base64", request.upload_id);
    }
    const bytes = Buffer.from(request.blob, "base64");
    const end = chunk_offset + bytes.length;
    const { size } = this.#declared;
    if (end > size) {
      await this.#end();
      throw this.#failure(
        "range",
        `it has more than the declared ${size} bytes`,
      );
    }
    if (eof && end < size) {
      throw this.#failure(
        "range",
        `the last chunk ends at ${end} of ${size} bytes`,
      );
    }
    await this.#onDisk(() => this.#part.write(bytes));
    this.#hash.update(bytes);
    this.#received = end;
    return eof ? { ...answer, ...await this.#land() } : answer;
  }

  async #land(): Promise<Partial<PutBlobRet>> {
    const { size, sha256, hint } = this.#declared;
    const actual = this.#hash.digest("hex");
    if (actual !== sha256) {
      await this.#end();
      throw this.#failure(
        "integrity",
        `the bytes that arrived have the SHA-256 ${actual}`,
      );
    }
    const name = [this.#id, cleanHint(hint)].filter((part) => part !== "");
    const landing_path = await this.#onDisk(() =>
      this.#part.land(name.join("_"))
    );
    this.#ended = true;
    this.#dropped();
    log.info("Took a file of {size} bytes of an Agent: {path}", {
      size,
      path: landing_path,
    });
    return { landing_path, total_size: size, sha256: actual };
  }

  async #onDisk<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      log.warn("Cannot write a file of an Agent: {reason}", {
        reason: reasonOf(error),
      });
      await this.#end();
      throw this.#failure("io_error", "the Computer cannot write it");
    }
  }

  async #end(): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    this.#dropped();
    await this.#part.remove();
  }

  #failure(reason: BlobWriteReason, why: string): ProtocolError {
    return blobWriteFailed(reason, why, this.#id);
  }
}

/** Creates the error of an upload that does not exist, or no longer. */
const unknownUpload = (id: string): ProtocolError =>
  blobWriteFailed(
    "invalid_upload",
    "there is no such upload, or it was given up; start over without upload_id",
    id,
  );

/** What the first chunk says of a file. */
interface Declaration {
  /** Number of bytes, at least 1. */
  readonly size: number;
  /** SHA-256 as lower-case digits. */
  readonly sha256: string;
  /** A name from which parts may be taken. */
  readonly hint: string;
}

/** Reads what the first chunk declares. @throws {ProtocolError} 4019 `invalid_declaration` */
function readDeclaration(request: PutBlobReq): Declaration {
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
function checkLaterChunk(request: PutBlobReq): void {
  const again = ["total_size", "sha256", "name_hint"]
    .filter((field) => Object.hasOwn(request, field));
  if (again.length === 0) return;
  const why = `only the first chunk has ${again.join(", ")}`;
  throw invalid(why, request.upload_id);
}

type Unchecked = {
  readonly [F in "total_size" | "sha256" | "name_hint"]?: unknown;
};

const invalid = (why: string, uploadId?: string) =>
  blobWriteFailed("invalid_declaration", why, uploadId);

/** Maximum characters that are taken from a hint. */
const MAX_CHARACTERS = 64;

/** Returns what a hint adds to the name of a file: `[A-Za-z0-9._-]`, or nothing (0.4 §7.5). */
export const cleanHint = (hint: string): string =>
  hint.trim().replaceAll(/[^A-Za-z0-9._-]+/g, "_").slice(0, MAX_CHARACTERS)
    .replaceAll(/^[._-]+|[._-]+$/g, "");
