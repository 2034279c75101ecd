import process from "node:process";
import { join, relative, sep } from "node:path";
import { type BigIntStats, constants } from "node:fs";
import {
  type FileHandle,
  lstat,
  open,
  readlink,
  realpath,
} from "node:fs/promises";
import type { SkillReason } from "../../protocol/errors.ts";

/** The file that is meant where none is named. */
export const ENTRY_FILE = "SKILL.md";

/** Keeps the secrets of a skill; it never leaves the Computer (protocol §8.6). */
const SECRETS_FILE = ".skillenv";

/** How often a file is looked for that changes meanwhile, as when a skill is replaced. */
const MAX_ATTEMPTS = 3;

/** A file of a skill that is open. */
interface OpenedFile {
  /** The open file; the caller closes it. */
  readonly handle: FileHandle;
  /** Its status when it was opened. */
  readonly stats: BigIntStats;
  /** Its real path below the skill's real folder, with `/`. */
  readonly path: string;
}

// Without waiting: a pipe would wait for its writer.
const FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) |
  (constants.O_NONBLOCK ?? 0);

const DISK = {
  /** Opens a file that is no link. */
  open: (path: string): Promise<FileHandle> => open(path, FLAGS),
  /** Resolves all links of a path. */
  realpath: (path: string): Promise<string> => realpath(path),
  /** Describes what is at a path, without following a link there. */
  lstat: (path: string): Promise<BigIntStats> => lstat(path, { bigint: true }),
};

/** The operations of the disk that the sandbox uses. */
export type Disk = typeof DISK;

/**
 * Opens a file of a skill, if it may be given out (protocol §8.6).
 *
 * @param root the skill's folder, from the registry and never from a request
 * @param path the path below it, as requested
 * @throws {SkillFault} why not
 */
export async function openInSkill(
  root: string,
  path: string | undefined,
  disk: Disk = DISK,
): Promise<OpenedFile> {
  const wanted = path || ENTRY_FILE;
  checkPath(wanted);
  for (let attempt = 1;; attempt++) {
    try {
      return await openInside(root, wanted, disk);
    } catch (error) {
      // Whether something is missing, or may not be read, is not disclosed.
      const isOfDisk = error instanceof Error && "code" in error;
      if (isOfDisk) throw new SkillFault("not_found");
      if (error !== CHANGED) throw error;
      if (attempt === MAX_ATTEMPTS) throw new SkillFault("traversal");
    }
  }
}

/**
 * Checks a path of a request before the disk is touched.
 *
 * @throws {SkillFault} `traversal` or `forbidden`
 */
export function checkPath(path: string): void {
  const segments = path.split("/");
  if (
    path.startsWith("/") || /[\\\0]/.test(path) ||
    segments.some((segment) => segment === ".." || segment.includes(":"))
  ) throw new SkillFault("traversal");
  if (segments.some(isSecretsName)) throw new SkillFault("forbidden");
}

/** Returns whether a file system may take a name for that of the secrets: Windows drops dots and spaces at the end. */
const isSecretsName = (name: string): boolean =>
  name.normalize("NFKC").toLowerCase().replace(/[. ]+$/, "") === SECRETS_FILE;

async function openInside(
  root: string,
  path: string,
  disk: Disk,
): Promise<OpenedFile> {
  const realRoot = await disk.realpath(root);
  const real = await disk.realpath(join(realRoot, path));
  const inner = checkReal(realRoot, real);
  const before = await disk.lstat(real);
  if (!before.isFile()) throw new SkillFault("not_found");
  const handle = await disk.open(real);
  try {
    const stats = await handle.stat({ bigint: true });
    await checkOpened(handle, stats, real, disk);
    const secrets = await disk.lstat(join(realRoot, SECRETS_FILE))
      .catch(() => undefined);
    if (secrets && isSame(secrets, stats)) throw new SkillFault("forbidden");
    if (!stats.isFile()) throw new SkillFault("not_found");
    return { handle, stats, path: inner };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Returns the path below the root; throws where it leads out of it, or to secrets. */
function checkReal(realRoot: string, real: string): string {
  const segments = relative(realRoot, real).split(sep);
  if (segments[0] === ".." || /^[A-Za-z]:$/.test(segments[0] ?? "")) {
    throw new SkillFault("traversal");
  }
  if (segments.some(isSecretsName)) throw new SkillFault("forbidden");
  return segments.join("/");
}

/** Checks what was really opened: a link may have been created since the path was checked. */
async function checkOpened(
  handle: FileHandle,
  stats: BigIntStats,
  real: string,
  disk: Disk,
): Promise<void> {
  // Linux has the path of each open file there.
  const opened = process.platform === "linux"
    ? await readlink(`/proc/self/fd/${handle.fd}`).catch(() => undefined)
    : undefined;
  if (opened !== undefined && opened !== real) throw CHANGED;
  const [now, entry] = await Promise.all([
    disk.realpath(real),
    disk.lstat(real),
  ]).catch(() => {
    throw CHANGED;
  });
  if (now !== real || !isSame(entry, stats)) throw CHANGED;
}

const isSame = (a: BigIntStats, b: BigIntStats): boolean =>
  a.dev === b.dev && a.ino === b.ino;

/** The file at the path is no longer the one that was checked. */
const CHANGED = new Error("it changed while it was opened");

/** A file of a skill that is not given out; whoever asked receives the reason alone. */
export class SkillFault extends Error {
  /** Always `"SkillFault"`. */
  override readonly name = "SkillFault";
  /** Why. */
  readonly reason: SkillReason;
  /** The bytes of a file that is too large. */
  readonly totalSize: number | undefined;

  /** Creates a fault. */
  constructor(reason: SkillReason, totalSize?: number) {
    super(reason);
    this.reason = reason;
    this.totalSize = totalSize;
  }
}
