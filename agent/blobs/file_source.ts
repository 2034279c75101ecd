import { readAt } from "../../shared/bytes.ts";
import { builtin } from "./builtin.ts";

/** A file to send: a path where there is a file system, or its bytes. */
export type FileToPut = string | Uint8Array | Blob;

/** A file that is open for reading. */
export interface FileSource {
  /** Number of bytes. */
  readonly size: number;
  /** Reads bytes; fewer only at the end. */
  read(offset: number, length: number): Promise<Uint8Array>;
  /** Closes it. */
  close(): Promise<void>;
}

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

async function openPath(path: string): Promise<FileSource> {
  const fs = builtin("node:fs/promises");
  if (!fs) {
    throw new TypeError("Cannot open a path here; give the file as a Blob");
  }
  const file = await fs.open(path);
  try {
    const stat = await file.stat();
    if (!stat.isFile()) {
      throw new TypeError(`Cannot put ${path}: it is not a file`);
    }
    return {
      size: stat.size,
      read: (offset, length) => readAt(file, offset, length),
      close: () => file.close(),
    };
  } catch (error) {
    await file.close();
    throw error;
  }
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
