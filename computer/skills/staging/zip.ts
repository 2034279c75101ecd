import { Buffer } from "node:buffer";
// @ts-types="npm:@types/yauzl@^3.4.0"
import { type Entry, fromBufferPromise } from "yauzl";
import { inflate, verified } from "./inflate.ts";
import type { StagingFolder } from "./staging_folder.ts";

/** The kind of a file in its Unix mode, which stands in the upper half of the attributes; 0 where none is told. */
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
  const buffer = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const zip = await fromBufferPromise(buffer, { strictFileNames: true });
  for await (const entry of zip.eachEntry()) {
    const { fileName } = entry;
    const mode = unixMode(entry);
    if (!PLAIN_KINDS.includes(mode & KIND)) {
      throw new Error(`it has a link or device: ${JSON.stringify(fileName)}`);
    }
    if (fileName.endsWith("/")) await folder.addFolder(fileName);
    else {
      const { fileDataStart } = await zip.readLocalFileHeaderPromise(entry, {
        minimal: true,
      });
      const packed = data.subarray(
        fileDataStart,
        fileDataStart + entry.compressedSize,
      );
      await folder.addFile(
        fileName,
        verified(unpacked(entry, packed, folder.limits.bytes), {
          size: entry.uncompressedSize,
          crc: entry.crc32,
        }),
        (mode & ANY_EXECUTE) !== 0,
      );
    }
  }
}

const unixMode = ({ externalFileAttributes }: Entry): number =>
  externalFileAttributes >>> 16;

function unpacked(
  entry: Entry,
  packed: Uint8Array,
  maxBytes: number,
): AsyncIterable<Uint8Array> | Iterable<Uint8Array> {
  const { compressionMethod, fileName } = entry;
  if (entry.isEncrypted()) {
    throw new Error(`it is encrypted: ${JSON.stringify(fileName)}`);
  }
  if (compressionMethod === STORED) return [packed];
  if (compressionMethod === DEFLATED) {
    return inflate(packed, "deflate", maxBytes);
  }
  throw new Error(
    `it is packed in a way that is unknown here: ${JSON.stringify(fileName)}`,
  );
}
