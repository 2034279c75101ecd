/**
 * Content that is exchanged with Agents in parts (protocol §8.7): large content of results, which the
 * store keeps until it is fetched by a handle, and files that Agents send.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { tmpdir } from "node:os";
import {
  DEFAULT_BLOB_STORE_BYTES,
  DEFAULT_UPLOAD_BYTES,
} from "../util/defaults.ts";
import { BlobStore } from "./store.ts";
import { Uploads } from "./uploads.ts";
import { logThrown } from "../util/log.ts";
import { isRecord } from "../../protocol/names.ts";
import { blobNotAccessible } from "../../protocol/errors.ts";
import { MAX_TIMER_MS } from "../../shared/async.ts";
import { checkNumbers, type NamesOf } from "../../shared/checks.ts";

/** The kind of the handles of results. */
export const RESULT_KIND = "result";

/** All that a Computer exchanges with Agents in parts: content of results, and files (protocol §8.7). */
export class BlobExchange {
  /** The content of results. */
  readonly store: BlobStore;
  /** The files of Agents. */
  readonly uploads: Uploads;
  /** Who resolves which kind of handle. */
  readonly #kinds = new Map<string, ResolveBlob>();
  #started: Promise<unknown> | undefined;

  /** @throws {TypeError} when a limit is out of range */
  constructor({ landingRoot, uploads = {}, blobStore = {} }: BlobOptions) {
    const {
      maxBytes = DEFAULT_BLOB_STORE_BYTES,
      memoryBytes = 32 * 2 ** 20,
      directory = tmpdir(),
    } = blobStore;
    const {
      maxBytes: fileBytes = DEFAULT_UPLOAD_BYTES,
      maxConcurrent = 4,
      idleTimeoutMs = 120_000,
    } = uploads;
    checkLimits({
      "blobStore.maxBytes": maxBytes,
      "blobStore.memoryBytes": memoryBytes,
      "uploads.maxBytes": fileBytes,
      "uploads.maxConcurrent": maxConcurrent,
    });
    checkLimits({ "uploads.idleTimeoutMs": idleTimeoutMs }, MAX_TIMER_MS);
    this.store = new BlobStore({ maxBytes, memoryBytes, directory });
    this.uploads = new Uploads(landingRoot, {
      maxBytes: fileBytes,
      maxConcurrent,
      idleTimeoutMs,
    });
    this.resolves(RESULT_KIND, ({ sha256 }) => {
      if (typeof sha256 !== "string") throw blobNotAccessible("invalid_handle");
      const source = this.store.get(sha256);
      if (!source) throw blobNotAccessible("gone");
      return source;
    });
  }

  /** Adds a kind of handle. */
  resolves(kind: string, resolve: ResolveBlob): void {
    this.#kinds.set(kind, resolve);
  }

  /**
   * Finds the bytes of a handle (protocol §8.7).
   *
   * @throws {ProtocolError} 4018 `invalid_handle`, `forbidden` or `gone`
   */
  async resolve(text: string): Promise<BlobSource> {
    const handle = readHandle(text);
    const resolve = handle && this.#kinds.get(handle.kind);
    if (!resolve) throw blobNotAccessible("invalid_handle");
    return await resolve(handle);
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

function checkLimits(
  limits: Readonly<Record<string, number>>,
  most: number = Number.MAX_SAFE_INTEGER,
): void {
  checkNumbers(limits);
  for (const [option, value] of Object.entries(limits)) {
    if (Number.isInteger(value) && value > 0 && value <= most) continue;
    throw new TypeError(
      `${option} cannot be ${value}: expected a whole number from 1 to ${most}`,
    );
  }
}

/** Options for content that is too large for a message, and for files of Agents. */
export interface BlobOptions {
  /**
   * The folder for files that Agents send, which is made if it is missing; without one, none is
   * taken. Take it from the owner, never from a file of a project: whoever writes it says where
   * Agents write.
   */
  landingRoot?: string;
  /** Limits of those files. */
  uploads?: {
    /** Maximum bytes of a file; default 100 MiB. */
    readonly maxBytes?: number;
    /** Maximum files at a time; default 4. */
    readonly maxConcurrent?: number;
    /** How long a file may wait for its next part until it is given up; default 120,000. */
    readonly idleTimeoutMs?: number;
  };
  /**
   * What keeps large images and files of results until Agents have fetched them; what was not used
   * for longest goes first.
   */
  blobStore?: {
    /** Maximum bytes altogether; default 512 MiB. A single image or file has at most 100 MiB. */
    readonly maxBytes?: number;
    /** Maximum bytes in memory; what is older is written to the disk. Default 32 MiB. */
    readonly memoryBytes?: number;
    /** The folder in which a private one is made for them; default: the system's for temporary files. */
    readonly directory?: string;
  };
}

/** The names of {@linkcode BlobOptions}. */
export const BLOB_NAMES = {
  landingRoot: true,
  uploads: {
    maxBytes: true,
    maxConcurrent: true,
    idleTimeoutMs: true,
  } satisfies NamesOf<NonNullable<BlobOptions["uploads"]>>,
  blobStore: {
    maxBytes: true,
    memoryBytes: true,
    directory: true,
  } satisfies NamesOf<NonNullable<BlobOptions["blobStore"]>>,
} satisfies NamesOf<BlobOptions>;

/** Bytes that a handle leads to, as they are now. */
export interface BlobSource {
  /** Their media type. */
  readonly mimeType: string;
  /** Number of bytes. */
  readonly size: number;
  /** SHA-256 as lower-case hexadecimal digits. */
  readonly sha256: string;
  /** Reads bytes; the range is within the size. */
  read(offset: number, length: number): Promise<Uint8Array>;
}

/**
 * Finds the bytes of a handle, and applies the rules of those who issued it again: what the handle
 * says is never trusted.
 *
 * @throws {ProtocolError} 4018 `invalid_handle`, `forbidden` or `gone`
 */
export type ResolveBlob = (
  handle: BlobHandle,
) => BlobSource | Promise<BlobSource>;

/** What a handle says: who resolves it, and what that one wrote into it. Anybody can write one. */
interface BlobHandle {
  /** Who resolves it. */
  readonly kind: string;
  /** Further fields, for that one alone. */
  readonly [field: string]: unknown;
}

/** Writes a handle, which is opaque to Agents (protocol §8.7). */
export const writeHandle = (handle: BlobHandle): string =>
  Buffer.from(JSON.stringify(handle)).toString("base64url");

/** Reads a handle; `undefined` if this Computer cannot have written it. */
function readHandle(text: string): BlobHandle | undefined {
  try {
    const handle: unknown = JSON.parse(
      Buffer.from(text, "base64url").toString(),
    );
    if (!isRecord(handle) || typeof handle.kind !== "string") return undefined;
    const read = { ...handle, kind: handle.kind };
    return writeHandle(read) === text ? read : undefined;
  } catch {
    return undefined;
  }
}
