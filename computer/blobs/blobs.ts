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
import type { BlobOptions } from "./options.ts";
import { type BlobSource, BlobStore } from "./store.ts";
import { Uploads } from "./uploads.ts";
import { logThrown } from "../util/log.ts";
import { isRecord } from "../../protocol/names.ts";
import { blobNotAccessible } from "../../protocol/errors.ts";
import { MAX_TIMER_MS } from "../../shared/async.ts";
import { checkNumbers } from "../../shared/checks.ts";

/** The kind of the handles of results. */
export const RESULT_KIND = "result";

/** All that a Computer exchanges with Agents in parts: content of results, and files (protocol §8.7). */
export class BlobExchange {
  /** The content of results. */
  readonly store: BlobStore;
  /** The files of Agents. */
  readonly uploads: Uploads;
  /** The resolvers by the kind of handle. */
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

/**
 * Finds the bytes of a handle, and applies the rules of those who issued it again: the fields of
 * the handle are never trusted.
 *
 * @throws {ProtocolError} 4018 `invalid_handle`, `forbidden` or `gone`
 */
export type ResolveBlob = (
  handle: BlobHandle,
) => BlobSource | Promise<BlobSource>;

/** The fields of a handle: its kind, and those of its issuer. It may be forged. */
interface BlobHandle {
  /** The kind, which has one resolver. */
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
