import { checkNumbers } from "../../shared/checks.ts";
import { tmpdir } from "node:os";
import { MAX_TIMER_MS } from "../../shared/async.ts";
import { blobNotAccessible } from "../../protocol/mod.ts";
import { logThrown } from "../util/log.ts";
import { BlobKinds } from "./blob_kinds.ts";
import { BlobStore } from "./blob_store.ts";
import { RESULT_KIND } from "./move_out.ts";
import {
  type BlobOptions,
  DEFAULT_BLOB_STORE_BYTES,
  DEFAULT_UPLOAD_BYTES,
} from "./options.ts";
import { Uploads } from "./uploads/uploads.ts";

const DEFAULT_MEMORY_BYTES = 32 * 2 ** 20;
const DEFAULT_CONCURRENT_UPLOADS = 4;
const DEFAULT_IDLE_TIMEOUT_MS = 120_000;

/** All that a Computer exchanges with Agents in parts: content of results, and files (0.4 §7). */
export class BlobExchange {
  /** Who resolves which handles. */
  readonly kinds: BlobKinds = new BlobKinds();
  /** The content of results. */
  readonly store: BlobStore;
  /** The files of Agents. */
  readonly uploads: Uploads;
  #started: Promise<unknown> | undefined;

  /** @throws {TypeError} when a limit is out of range */
  constructor({ landingRoot, uploads = {}, blobStore = {} }: BlobOptions) {
    this.store = new BlobStore({
      maxBytes: count(
        "blobStore.maxBytes",
        blobStore.maxBytes ?? DEFAULT_BLOB_STORE_BYTES,
      ),
      memoryBytes: count(
        "blobStore.memoryBytes",
        blobStore.memoryBytes ?? DEFAULT_MEMORY_BYTES,
      ),
      directory: blobStore.directory ?? tmpdir(),
    });
    this.uploads = new Uploads(landingRoot, {
      maxBytes: count(
        "uploads.maxBytes",
        uploads.maxBytes ?? DEFAULT_UPLOAD_BYTES,
      ),
      maxConcurrent: count(
        "uploads.maxConcurrent",
        uploads.maxConcurrent ?? DEFAULT_CONCURRENT_UPLOADS,
      ),
      idleTimeoutMs: count(
        "uploads.idleTimeoutMs",
        uploads.idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS,
        MAX_TIMER_MS,
      ),
    });
    this.kinds.add(RESULT_KIND, ({ sha256 }) => {
      if (typeof sha256 !== "string") throw blobNotAccessible("invalid_handle");
      const source = this.store.get(sha256);
      if (!source) throw blobNotAccessible("gone");
      return source;
    });
  }

  /** Removes what killed processes left, once; never rejects. */
  async start(): Promise<void> {
    await (this.#started ??= Promise.all([
      this.store.start(),
      this.uploads.start(),
    ]));
  }

  /** Removes what belongs to an office that the Computer is no longer in; never rejects. */
  async clear(): Promise<void> {
    await Promise.all([this.store.clear(), this.uploads.drop()])
      .catch(logThrown);
  }

  /** Removes everything for good. */
  async close(): Promise<void> {
    await this.#started;
    await Promise.all([this.store.close(), this.uploads.close()]);
  }
}

function count(
  option: string,
  value: number,
  most: number = Number.MAX_SAFE_INTEGER,
): number {
  checkNumbers({ [option]: value });
  if (Number.isInteger(value) && value > 0 && value <= most) return value;
  throw new TypeError(
    `${option} cannot be ${value}: expected a whole number from 1 to ${most}`,
  );
}
