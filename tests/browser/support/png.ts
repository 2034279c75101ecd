import { Buffer } from "node:buffer";
import { crc32, deflateSync, inflateSync } from "node:zlib";

/** A picture without transparency. */
export interface Picture {
  readonly width: number;
  readonly height: number;
  /** Three bytes a pixel, row by row. */
  readonly rgb: Uint8Array;
}

const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];

/** The colours that a palette holds. */
const MAX_COLOURS = 256;

/**
 * Writes a PNG with a palette; of more than 256 colours, those closest to each other become one. It is
 * much smaller than what a browser writes.
 */
export function encodePng({ width, height, rgb }: Picture): Buffer {
  const { palette, indexes } = reduce(rgb);
  const rows = Buffer.alloc(height * (width + 1)); // a byte before each row: no filter
  for (let y = 0; y < height; y++) {
    rows.set(indexes.subarray(y * width, (y + 1) * width), y * (width + 1) + 1);
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3], 8); // 8 bits, an index into the palette
  return Buffer.concat([
    Buffer.from(SIGNATURE),
    chunk("IHDR", header),
    chunk("PLTE", palette),
    chunk("IDAT", deflateSync(rows, { level: 9, memLevel: 9 })),
    chunk("IEND", new Uint8Array()),
  ]);
}

/**
 * Reads a PNG of 8 bits a channel, as browsers write them; transparency is left out.
 *
 * @throws {TypeError} for any other
 */
export function decodePng(file: Uint8Array): Picture {
  const bytes = Buffer.from(file);
  const width = bytes.readUInt32BE(16);
  const height = bytes.readUInt32BE(20);
  const [depth = 0, type = 0, , , interlaced = 0] = bytes.subarray(24, 29);
  const channels = { 2: 3, 6: 4 }[type];
  if (depth !== 8 || interlaced !== 0 || channels === undefined) {
    throw new TypeError(`Cannot read a PNG of type ${type}`);
  }
  const data: Uint8Array[] = [];
  for (let at = 8; at < bytes.length;) {
    const size = bytes.readUInt32BE(at);
    const name = bytes.toString("latin1", at + 4, at + 8);
    if (name === "IDAT") data.push(bytes.subarray(at + 8, at + 8 + size));
    at += size + 12;
  }
  const rows = inflateSync(Buffer.concat(data));
  const stride = width * channels;
  const rgb = new Uint8Array(width * height * 3);
  let above: Uint8Array = new Uint8Array(stride);
  for (let y = 0; y < height; y++) {
    const at = y * (stride + 1);
    const row = rows.subarray(at + 1, at + 1 + stride);
    unfilter(rows[at] ?? 0, row, above, channels);
    for (let x = 0; x < width; x++) {
      const pixel = row.subarray(x * channels, x * channels + 3);
      rgb.set(pixel, (y * width + x) * 3);
    }
    above = row;
  }
  return { width, height, rgb };
}

/** Undoes what a row was filtered with, in its place. */
function unfilter(
  filter: number,
  row: Uint8Array,
  above: Uint8Array,
  channels: number,
): void {
  for (let i = 0; i < row.length; i++) {
    const a = row[i - channels] ?? 0;
    const b = above[i] ?? 0;
    const c = i < channels ? 0 : above[i - channels] ?? 0;
    const guess = [0, a, b, (a + b) >> 1, paeth(a, b, c)][filter] ?? 0;
    row[i] = (row[i] ?? 0) + guess;
  }
}

function paeth(a: number, b: number, c: number): number {
  const [toA, toB, toC] = [a, b, c].map((each) => Math.abs(a + b - c - each));
  if (toA === undefined || toB === undefined || toC === undefined) return a;
  return toA <= toB && toA <= toC ? a : toB <= toC ? b : c;
}

/** How many colours of areas there are at most, such as paper and boxes. */
const OWN = 32;

/**
 * Finds a palette, and the index of each pixel in it: of colours that differ in low bits alone, the most
 * frequent stands for all. A colour that is rare stays, unless there is one close to it; those of areas stay
 * as they are, however close.
 */
function reduce(
  rgb: Uint8Array,
): { palette: Uint8Array; indexes: Uint8Array } {
  const pixels = Uint32Array.from(
    { length: rgb.length / 3 },
    (_, i) =>
      (rgb[i * 3] ?? 0) << 16 | (rgb[i * 3 + 1] ?? 0) << 8 |
      (rgb[i * 3 + 2] ?? 0),
  );
  const counts = new Map<number, number>();
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
  const colours = [...counts].sort(([, a], [, b]) => b - a).map(([one]) => one);
  const own = new Map(colours.slice(0, OWN).map((one, index) => [one, index]));
  for (let lost = 0;; lost++) {
    const mask = 0x010101 * (0xff << lost & 0xff);
    const kept = [...own.keys()];
    const places = new Map<number, number>();
    for (const colour of colours) {
      if (places.has(colour & mask)) continue;
      places.set(colour & mask, own.get(colour) ?? kept.push(colour) - 1);
    }
    if (kept.length > MAX_COLOURS) continue;
    return {
      palette: Uint8Array.from(
        kept.flatMap((colour) => [
          colour >> 16,
          colour >> 8 & 255,
          colour & 255,
        ]),
      ),
      indexes: Uint8Array.from(
        pixels,
        (pixel) => own.get(pixel) ?? places.get(pixel & mask) ?? 0,
      ),
    };
  }
}

function chunk(type: string, data: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(type), data]);
  const size = Buffer.alloc(4);
  const sum = Buffer.alloc(4);
  size.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([size, body, sum]);
}
