import { constants } from "node:fs";
import { lstat, open, realpath } from "node:fs/promises";
import { basename, dirname, join, relative, sep } from "node:path";
import type { FileArguments } from "../rules/rules.ts";
import { readPath } from "../rules/conditions.ts";
import type { FileNow } from "./confirm.ts";

/** The largest file that is read for a question. */
const MAX_BYTES = 131_072;

/**
 * Reads what a file has now that a call would write. It is read before anybody said yes, and shown to whoever
 * may answer: only a regular file below the folder of the rule, with all links resolved, of at most 128 KiB of
 * text.
 *
 * @returns undefined where it may not be read, or cannot
 */
export async function readFileNow(
  { path, content, under }: FileArguments,
  params: Readonly<Record<string, unknown>>,
): Promise<FileNow | undefined> {
  const file = Object.hasOwn(params, path) ? params[path] : undefined;
  if (typeof file !== "string" || readPath(file) === undefined) {
    return undefined;
  }
  if (typeof params[content] !== "string") return undefined;
  try {
    const folder = await realpath(under);
    const real = await realpath(file).catch((error) => {
      if (Object(error).code !== "ENOENT") throw error;
    });
    if (real === undefined) {
      return await isMissingBelow(file, folder) ? { of: content } : undefined;
    }
    if (!isBelow(real, folder)) return undefined;
    const before = await readText(real);
    return before === undefined ? undefined : { of: content, before };
  } catch {
    return undefined;
  }
}

/** Returns whether a file does not exist, in a folder that is below another; a dangling link exists. */
async function isMissingBelow(file: string, folder: string): Promise<boolean> {
  const parent = await realpath(dirname(file));
  const place = join(parent, basename(file));
  const found = await lstat(place).catch(() => undefined);
  return found === undefined && isBelow(place, folder);
}

/** Returns whether a resolved path is in a resolved folder. */
function isBelow(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way !== "" && way !== ".." && !way.startsWith(`..${sep}`) &&
    join(folder, way) === path;
}

/** Reads a regular file of text; undefined for anything else, and where it was replaced meanwhile. */
async function readText(real: string): Promise<string | undefined> {
  if (!(await lstat(real)).isFile()) return undefined; // opening a pipe would wait for its writer
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
  const file = await open(real, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const { size, ino, dev } = await file.stat();
    const bytes = new Uint8Array(MAX_BYTES + 1);
    let length = 0;
    for (;;) {
      const { bytesRead } = await file.read(
        bytes,
        length,
        bytes.length - length,
        length,
      );
      length += bytesRead;
      if (bytesRead === 0 || length > MAX_BYTES) break;
    }
    if (size > MAX_BYTES || length > MAX_BYTES) return undefined;
    // A folder on the way may have become a link between the two.
    const now = await lstat(real);
    if (!now.isFile() || now.ino !== ino || now.dev !== dev) return undefined;
    if (await realpath(real) !== real) return undefined;
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    return text.decode(bytes.subarray(0, length));
  } finally {
    await file.close();
  }
}
