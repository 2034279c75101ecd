import { Buffer } from "node:buffer";
import { crc32, deflateRawSync } from "node:zlib";

/** A file of a zip. */
export interface ZipEntry {
  /** Its path, as hostile as it likes. */
  readonly name: string;
  /** Its text. */
  readonly data: string;
  /** Its Unix mode with its kind. */
  readonly mode?: number;
  /** The size that the zip tells in place of the real one. */
  readonly claimedSize?: number;
}

/** Writes a zip, as no program would that checks what it writes. */
export function zipOf(...entries: readonly ZipEntry[]): Buffer<ArrayBuffer> {
  const files: Buffer[] = [];
  const index: Buffer[] = [];
  let offset = 0;
  for (const { name, data, mode = 0o100644, claimedSize } of entries) {
    const packed = deflateRawSync(data);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0); // version
    common.writeUInt16LE(0x800, 2); // names in UTF-8
    common.writeUInt16LE(8, 4); // deflated
    common.writeUInt32LE(crc32(data), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(claimedSize ?? Buffer.byteLength(data), 18);
    common.writeUInt16LE(Buffer.byteLength(name), 22);
    const local = Buffer.concat([
      Buffer.from("PK\x03\x04", "latin1"),
      common,
      Buffer.from(name),
      packed,
    ]);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE((mode << 16) >>> 0, 6);
    tail.writeUInt32LE(offset, 10);
    index.push(
      Buffer.from("PK\x01\x02\x14\x03", "latin1"),
      common,
      tail,
      Buffer.from(name),
    );
    files.push(local);
    offset += local.length;
  }
  const directory = Buffer.concat(index);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(entries.length, 4);
  end.writeUInt16LE(entries.length, 6);
  end.writeUInt32LE(directory.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([
    ...files,
    directory,
    Buffer.from("PK\x05\x06", "latin1"),
    end,
  ]);
}
