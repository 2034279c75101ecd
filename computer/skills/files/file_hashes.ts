import type { BigIntStats } from "node:fs";
import { createHash } from "node:crypto";

/** How many hashes are kept. */
const MAX_KEPT = 256;
const PIECE_BYTES = 1024 * 1024;
/** A file that changed just now may change again without showing it: clocks of file systems are coarse. */
const SETTLED_MS = 2_000;

/** Hashes of files as they were; each chunk of a large file is sent with the hash of all of it. */
const kept = new Map<string, Promise<string>>();

/**
 * Returns the SHA-256 of a file from an offset on, in lower-case hex digits.
 *
 * @param stats what the file is: a hash is taken again once any of it has changed
 * @param read reads from that offset on
 */
export function hashOf(
  { dev, ino, size, mtimeNs, ctimeNs }: BigIntStats,
  start: number,
  length: number,
  read: (offset: number, length: number) => Promise<Uint8Array>,
): Promise<string> {
  const key = [dev, ino, size, mtimeNs, ctimeNs, start].join();
  const known = kept.get(key);
  kept.delete(key); // in the order of use
  const hash = known ?? computeHash(length, read);
  if (Date.now() - Number(ctimeNs / 1_000_000n) < SETTLED_MS) return hash;
  kept.set(key, hash);
  hash.catch(() => kept.delete(key));
  if (kept.size > MAX_KEPT) kept.delete(kept.keys().next().value ?? "");
  return hash;
}

async function computeHash(
  length: number,
  read: (offset: number, length: number) => Promise<Uint8Array>,
): Promise<string> {
  const hash = createHash("sha256");
  for (let offset = 0; offset < length;) {
    const piece = await read(offset, PIECE_BYTES);
    if (piece.length === 0) break; // it has become shorter
    hash.update(piece);
    offset += piece.length;
  }
  return hash.digest("hex");
}
