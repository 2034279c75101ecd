import { createHash } from "node:crypto";
import {
  blobWriteFailed,
  type BlobWriteReason,
  type ProtocolError,
  type PutBlobReq,
  type PutBlobRet,
} from "../../../protocol/mod.ts";
import { log } from "../../util/log.ts";
import { reasonOf } from "../../util/values.ts";
import { checkLaterChunk, type Declaration, readBytes } from "./declaration.ts";
import type { Part } from "./landing.ts";
import { cleanHint } from "./name_hint.ts";

/** One upload: its chunks in order, the file in its place after the last (0.4 §7.5). */
export class Upload {
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
    const bytes = readBytes(request);
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
export const unknownUpload = (id: string): ProtocolError =>
  blobWriteFailed(
    "invalid_upload",
    "there is no such upload, or it was given up; start over without upload_id",
    id,
  );
