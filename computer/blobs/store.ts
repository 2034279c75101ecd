/**
 * The store of large content, by its SHA-256: in memory first, then in files of a private folder,
 * and within limits.
 *
 * @module
 */
import { createHash, randomUUID } from "node:crypto";
import { join } from "node:path";
import { mkdir, open, rm } from "node:fs/promises";
import { setImmediate } from "node:timers/promises";
import type { BlobOptions } from "./options.ts";
import { log } from "../util/log.ts";
import { ownerMark, removeLeftOvers } from "../util/processes.ts";
import { reasonOf } from "../util/values.ts";
import { blobNotAccessible } from "../../protocol/errors.ts";
import { queue } from "../../shared/async.ts";
import { readAt } from "../../shared/bytes.ts";

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

/** Bytes that are hashed or written before others get their turn. */
const SLICE_BYTES = 4 * 2 ** 20;

/** Content, in memory or in a file. */
interface Entry {
  readonly sha256: string;
  readonly size: number;
  mimeType: string;
  bytes: Uint8Array | undefined;
  file: string | undefined;
}

/**
 * Keeps content by its SHA-256, within limits; what was not used for longest goes first (protocol §8.7).
 *
 * Old content is written to a folder that only this user can read.
 */
export class BlobStore {
  /** Number of bytes that it can hold. */
  readonly maxBytes: number;
  readonly #memoryBytes: number;
  readonly #directory: string;
  /** A folder in it that only this user can read, made when it is needed first. */
  #folder: Promise<string> | undefined;
  /** The least recently used first. */
  readonly #entries = new Map<string, Entry>();
  readonly #inTurn = queue();
  #closed = false;

  /** Creates an empty store. */
  constructor(
    { maxBytes, memoryBytes, directory }: Required<
      NonNullable<BlobOptions["blobStore"]>
    >,
  ) {
    this.maxBytes = maxBytes;
    this.#memoryBytes = memoryBytes;
    this.#directory = directory;
  }

  /** Removes what killed processes left; never rejects. */
  start(): Promise<void> {
    return this.#inTurn(() =>
      removeLeftOvers(this.#directory, /^a2c-smcp-blobs-/)
    );
  }

  /**
   * Adds content.
   *
   * @returns its SHA-256
   * @throws {Error} when it cannot be kept, such as because of a full disk
   */
  async add(bytes: Uint8Array, mimeType: string): Promise<string> {
    const sha256 = await digest(bytes);
    await this.#inTurn(() => this.#keep(sha256, bytes, mimeType));
    return sha256;
  }

  /** Returns content that is still there. */
  get(sha256: string): BlobSource | undefined {
    const entry = this.#entries.get(sha256);
    if (!entry) return undefined;
    this.#use(entry);
    const { mimeType, size } = entry;
    return {
      mimeType,
      size,
      sha256,
      read: (offset, length) => read(entry, offset, length),
    };
  }

  /** Removes everything. */
  clear(): Promise<void> {
    return this.#inTurn(async () => {
      this.#entries.clear();
      const folder = await this.#folder?.catch(() => undefined);
      this.#folder = undefined;
      if (folder === undefined) return;
      await rm(folder, { recursive: true, force: true });
    });
  }

  /** Removes everything for good. */
  close(): Promise<void> {
    this.#closed = true;
    return this.clear();
  }

  async #keep(
    sha256: string,
    bytes: Uint8Array,
    mimeType: string,
  ): Promise<void> {
    if (this.#closed) throw new Error("the Computer is closed");
    const known = this.#entries.get(sha256);
    if (known) {
      known.mimeType = mimeType;
      return this.#use(known);
    }
    const size = bytes.length;
    const added: Entry = { sha256, size, mimeType, bytes, file: undefined };
    this.#entries.set(sha256, added);
    let excess = totalSize([...this.#entries.values()]) - this.maxBytes;
    for (const oldest of this.#entries.values()) {
      if (excess <= 0) break;
      excess -= oldest.size;
      await this.#remove(oldest);
    }
    const inMemory = [...this.#entries.values()].filter((one) => one.bytes);
    excess = totalSize(inMemory) - this.#memoryBytes;
    for (const oldest of inMemory) {
      if (excess <= 0) break;
      excess -= oldest.size;
      await this.#spill(oldest, added);
    }
  }

  /** Moves content to the disk; content that cannot be is lost. */
  async #spill(entry: Entry, added: Entry): Promise<void> {
    const { bytes } = entry;
    if (!bytes) return;
    try {
      const file = join(await this.#madeFolder(), entry.sha256);
      await write(file, bytes);
      entry.file = file;
      entry.bytes = undefined;
    } catch (error) {
      await this.#remove(entry);
      log.warn("Cannot keep content of {size} bytes on the disk: {reason}", {
        size: entry.size,
        reason: reasonOf(error),
      });
      if (entry === added) {
        throw new Error(`it cannot be kept on the disk: ${reasonOf(error)}`, {
          cause: error,
        });
      }
    }
  }

  #madeFolder(): Promise<string> {
    const name = `a2c-smcp-blobs-${ownerMark()}.${randomUUID()}`;
    const path = join(this.#directory, name);
    return this.#folder ??= mkdir(this.#directory, { recursive: true })
      .then(() => mkdir(path, { mode: 0o700 })).then(() => path);
  }

  async #remove(entry: Entry): Promise<void> {
    this.#entries.delete(entry.sha256);
    entry.bytes = undefined;
    if (entry.file !== undefined) await rm(entry.file, { force: true });
  }

  #use(entry: Entry): void {
    this.#entries.delete(entry.sha256);
    this.#entries.set(entry.sha256, entry);
  }
}

const totalSize = (entries: readonly Entry[]): number =>
  entries.reduce((sum, { size }) => sum + size, 0);

/** @throws {ProtocolError} 4018 `gone` when it was removed meanwhile */
async function read(
  { bytes, file }: Entry,
  offset: number,
  length: number,
): Promise<Uint8Array> {
  if (bytes) return bytes.subarray(offset, offset + length);
  if (file === undefined) throw blobNotAccessible("gone");
  const handle = await open(file).catch(() => {
    throw blobNotAccessible("gone");
  });
  try {
    return await readAt(handle, offset, length);
  } finally {
    await handle.close();
  }
}

/** Writes a file that only its user can read; in slices, of which the runtime makes copies. */
async function write(path: string, bytes: Uint8Array): Promise<void> {
  const file = await open(path, "w", 0o600);
  try {
    for (let at = 0; at < bytes.length;) {
      const slice = bytes.subarray(at, at + SLICE_BYTES);
      at += (await file.write(slice)).bytesWritten;
    }
  } finally {
    await file.close();
  }
}

async function digest(bytes: Uint8Array): Promise<string> {
  const hash = createHash("sha256");
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
    if (at > 0) await setImmediate();
    hash.update(bytes.subarray(at, at + SLICE_BYTES));
  }
  return hash.digest("hex");
}
