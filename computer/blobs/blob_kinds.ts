import { blobNotAccessible } from "../../protocol/mod.ts";
import { type BlobHandle, readHandle } from "./handle.ts";

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

/** Who resolves which kind of handle (0.4 §7.1). */
export class BlobKinds {
  readonly #kinds = new Map<string, ResolveBlob>();

  /** Adds a kind of handle. */
  add(kind: string, resolve: ResolveBlob): void {
    this.#kinds.set(kind, resolve);
  }

  /**
   * Finds the bytes of a handle.
   *
   * @throws {ProtocolError} 4018 `invalid_handle`, `forbidden` or `gone`
   */
  async resolve(text: string): Promise<BlobSource> {
    const handle = readHandle(text);
    const resolve = handle && this.#kinds.get(handle.kind);
    if (!resolve) throw blobNotAccessible("invalid_handle");
    return await resolve(handle);
  }
}
