import { type FileSource, openPath } from "./files.ts";

/** A file to send: a path where there is a file system, or its bytes. */
export type FileToPut = string | Uint8Array | Blob;

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
