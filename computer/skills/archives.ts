import { Buffer } from "node:buffer";
import { Readable, type Transform } from "node:stream";
import { crc32, createGunzip, createInflateRaw } from "node:zlib";
// @ts-types="npm:@types/yauzl@^3.4.0"
import type { Entry } from "yauzl";
import { loadPackages } from "../../shared/packages.ts";
import type { StagingFolder } from "./staging_folder.ts";

/** The kind of a file in its Unix mode, which stands in the upper half of the attributes; 0 where it has none. */
const KIND = 0o170000;
const PLAIN_KINDS: readonly number[] = [0, 0o100000, 0o040000];
const ANY_EXECUTE = 0o111;
const STORED = 0;
const DEFLATED = 8;

/**
 * Unpacks a `zip`.
 *
 * @throws {Error} when it is damaged, has links or devices, or exceeds a limit
 */
export async function unpackZip(
  data: Uint8Array,
  folder: StagingFolder,
): Promise<void> {
  const { fromBufferPromise } = await loadPackages(
    "unpack a zip",
    ["yauzl"],
    // @ts-types="npm:@types/yauzl@^3.4.0"
    () => import("yauzl"),
  );
  const buffer = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const zip = await fromBufferPromise(buffer, { strictFileNames: true });
  for await (const entry of zip.eachEntry()) {
    const { fileName } = entry;
    const mode = entry.externalFileAttributes >>> 16;
    if (!PLAIN_KINDS.includes(mode & KIND)) {
      throw new Error(`it has a link or device: ${JSON.stringify(fileName)}`);
    }
    if (fileName.endsWith("/")) await folder.addFolder(fileName);
    else {
      const { fileDataStart } = await zip.readLocalFileHeaderPromise(entry, {
        minimal: true,
      });
      const end = fileDataStart + entry.compressedSize;
      const packed = data.subarray(fileDataStart, end);
      const pieces = unpacked(entry, packed);
      const isProgram = (mode & ANY_EXECUTE) !== 0;
      await folder.addFile(fileName, verified(pieces, entry), isProgram);
    }
  }
}

function unpacked(
  entry: Entry,
  packed: Uint8Array,
): AsyncIterable<Uint8Array> | Iterable<Uint8Array> {
  const { compressionMethod, fileName } = entry;
  if (entry.isEncrypted()) {
    throw new Error(`it is encrypted: ${JSON.stringify(fileName)}`);
  }
  if (compressionMethod === STORED) return [packed];
  if (compressionMethod === DEFLATED) return inflated(packed, createInflateRaw);
  throw new Error(
    `its compression is not supported: ${JSON.stringify(fileName)}`,
  );
}

/** The overhead of tar for each file: a header, padding, and a long name. */
const OVERHEAD_BYTES = 8 * 1024;

/**
 * Unpacks a `tar.gz`.
 *
 * @throws {Error} when it is damaged, has links or devices, or exceeds a limit
 */
export async function unpackTarGz(
  data: Uint8Array,
  folder: StagingFolder,
): Promise<void> {
  const { createTarDecoder } = await loadPackages(
    "unpack a tar.gz",
    ["modern-tar"],
    () => import("modern-tar"),
  );
  const { bytes, members } = folder.limits;
  // Headers without files count too, or there could be any number.
  const maxBytes = bytes + members * OVERHEAD_BYTES;
  const unpacked = atMost(maxBytes, inflated(data, createGunzip));
  const entries = ReadableStream.from(unpacked)
    .pipeThrough(createTarDecoder({ strict: true }));
  for await (const { header, body } of entries) {
    const { type, mode = 0 } = header;
    const name = header.name.replace(/^(?:\.\/)+/, "");
    if (type === "file") {
      await folder.addFile(name, body, (mode & ANY_EXECUTE) !== 0);
    } else if (type === "directory" || type === "pax-global-header") {
      await body.cancel();
      const isInner = type === "directory" && !["", "."].includes(name);
      if (isInner) await folder.addFolder(name);
    } else throw new Error(`it has a ${type}: ${JSON.stringify(header.name)}`);
  }
}

/** Unpacks data from the first read on: before it, the error of damaged data would not be handled. */
async function* inflated(
  data: Uint8Array,
  unpacking: () => Transform,
): AsyncGenerator<Uint8Array> {
  yield* Readable.from([data]).pipe(unpacking());
}

/**
 * Passes pieces on.
 *
 * @throws {Error} when they are larger than the limit together
 */
export async function* atMost(
  maxBytes: number,
  pieces: AsyncIterable<Uint8Array>,
  name = "it",
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const piece of pieces) {
    bytes += piece.length;
    if (bytes > maxBytes) {
      throw new Error(`${name} is larger than ${maxBytes} bytes`);
    }
    yield piece;
  }
}

/**
 * Passes pieces on, which have to be as the archive lists them.
 *
 * @throws {Error} when size or checksum are others
 */
async function* verified(
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  expected: Pick<Entry, "uncompressedSize" | "crc32">,
): AsyncGenerator<Uint8Array> {
  let size = 0;
  let crc = 0;
  for await (const piece of pieces) {
    size += piece.length;
    crc = crc32(piece, crc);
    if (size > expected.uncompressedSize) break;
    yield piece;
  }
  if (size !== expected.uncompressedSize || crc !== expected.crc32) {
    throw new Error("it is damaged: size or checksum of a file are wrong");
  }
}
