/**
 * A file of a skill as Agents receive it: which bytes, of which type, with which hash.
 *
 * @module
 */
import type { BigIntStats } from "node:fs";
import { createHash } from "node:crypto";
import { type Disk, ENTRY_FILE, openInSkill, SkillFault } from "./sandbox.ts";
import { bodyOffset, FRONT_MATTER_BYTES } from "./skill_entry.ts";
import { readAt } from "../../shared/bytes.ts";

/** Files over this are not given out (protocol §8.6). */
const MAX_FILE_BYTES = 100 * 1024 * 1024;

/** A file of a skill as an Agent receives it: `SKILL.md` without its front matter. */
export interface SkillFile {
  /** Its type, by its name. */
  readonly mimeType: string;
  /** Whether that is a type of text. */
  readonly isText: boolean;
  /** Its bytes. */
  readonly totalSize: number;
  /** Lower-case hex digits of their SHA-256. */
  sha256(): Promise<string>;
  /** Reads bytes; fewer at the end of the file. */
  read(offset: number, length: number): Promise<Uint8Array>;
  /** Closes it. */
  close(): Promise<void>;
}

/**
 * Opens a file of a skill (protocol §8.6).
 *
 * @param root the skill's folder, from the registry
 * @param path the path below it, as requested; `SKILL.md` by default
 * @throws {SkillFault} why it is not given out
 */
export async function openSkillFile(
  root: string,
  path: string | undefined,
  disk?: Disk,
): Promise<SkillFile> {
  const { handle, stats, path: inner } = await openInSkill(root, path, disk);
  try {
    const size = Number(stats.size);
    const start = inner === ENTRY_FILE
      ? bodyOffset(await readAt(handle, 0, Math.min(size, FRONT_MATTER_BYTES)))
      : 0;
    const totalSize = size - start;
    if (totalSize > MAX_FILE_BYTES) {
      throw new SkillFault("too_large", totalSize);
    }
    const mimeType = mediaTypeOf(inner);
    const read = (offset: number, length: number) =>
      readAt(
        handle,
        start + offset,
        Math.max(0, Math.min(length, totalSize - offset)),
      );
    return {
      mimeType,
      isText: isTextType(mimeType),
      totalSize,
      sha256: () => cachedHash(stats, start, totalSize, read),
      read,
      close: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

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
function cachedHash(
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

/** Types by extension; those of the other SDKs, so that a file has the same type everywhere (protocol §8.6). */
const TYPES: ReadonlyMap<string, string> = new Map([
  [".md", "text/markdown"],
  [".markdown", "text/markdown"],
  [".txt", "text/plain"],
  [".json", "application/json"],
  [".xml", "application/xml"],
  [".yaml", "application/yaml"],
  [".yml", "application/yaml"],
  [".toml", "application/toml"],
  [".rst", "text/x-rst"],
  [".png", "image/png"],
  [".jpg", "image/jpeg"],
  [".jpeg", "image/jpeg"],
  [".gif", "image/gif"],
  [".webp", "image/webp"],
  [".bmp", "image/bmp"],
  [".ico", "image/vnd.microsoft.icon"],
  [".svg", "image/svg+xml"],
  [".pdf", "application/pdf"],
  [".zip", "application/zip"],
  [".gz", "application/gzip"],
  [".tar", "application/x-tar"],
  [".wasm", "application/wasm"],
  [".woff", "font/woff"],
  [".woff2", "font/woff2"],
  [".ttf", "font/ttf"],
  [".otf", "font/otf"],
  [".mp3", "audio/mpeg"],
  [".wav", "audio/wav"],
  [".mp4", "video/mp4"],
  [".webm", "video/webm"],
]);

const UNKNOWN_TYPE = "application/octet-stream";

const TEXT_TYPE =
  /^text\/|^application\/(json|xml|(x-)?yaml|toml|javascript)$|\+(json|xml|yaml)$/;

/** Returns the type of a file by its name alone; the operating system is never asked. */
export function mediaTypeOf(fileName: string): string {
  // As in the other SDKs, the dot of a file `.md` begins no extension.
  const extension = /[^/](\.[^/.]+)$/.exec(fileName)?.[1];
  return TYPES.get(extension?.toLowerCase() ?? "") ?? UNKNOWN_TYPE;
}

/** Returns whether a type is one of text; parameters are ignored. */
export const isTextType = (type: string): boolean =>
  TEXT_TYPE.test(type.replace(/;[^]*$/, "").trim().toLowerCase());
