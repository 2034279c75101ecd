import { randomUUID } from "node:crypto";
import {
  blobWriteFailed,
  type PutBlobReq,
  type PutBlobRet,
} from "../../../protocol/mod.ts";
import { type Declaration, readDeclaration } from "./declaration.ts";
import { Landing } from "./landing.ts";
import { unknownUpload, Upload } from "./upload.ts";

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
    const upload = this.#create(landing, id, declared);
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

  async #create(
    landing: Landing,
    id: string,
    declared: Declaration,
  ): Promise<Upload> {
    const part = await (await landing.open()).create(id);
    return new Upload(id, declared, part, () => this.#forget(id));
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
