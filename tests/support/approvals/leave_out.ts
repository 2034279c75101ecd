/**
 * Copies of the Computer's side of approvals, each without one of its checks, so that a test can find out
 * whether the check is missed.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { ApprovalsModule } from "./side.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
/** What is copied: the Computer's side, and the messages. */
const FOLDERS = ["computer/approvals", "shared/approvals"];

/** A check, as a part of a source. */
export interface Check {
  readonly file: string;
  /** The exact text, which is there once. */
  readonly source: string;
  /** What stands there without the check; default: nothing. */
  readonly without?: string;
  /** How the name of the attack begins that has an effect without the check. */
  readonly noticedBy: string;
  /** What else prevents the same, so that the attack has no effect either. */
  readonly repeats?: string;
}

/**
 * Loads the approvals without a check.
 *
 * @param folder of its own
 */
export async function withoutCheck(
  folder: string,
  check: Check | undefined,
): Promise<ApprovalsModule> {
  for (const part of FOLDERS) {
    await mkdir(join(folder, part), { recursive: true });
    for (const name of await readdir(join(ROOT, part))) {
      const path = `${part}/${name}`;
      let source = await readFile(join(ROOT, path), "utf8");
      if (check?.file === path) {
        const parts = source.split(check.source);
        assertEquals(parts.length, 2, `${path} has once: ${check.source}`);
        source = parts.join(check.without ?? "");
      }
      await writeFile(join(folder, path), withImports(source, path));
    }
  }
  const entry = join(folder, "computer/approvals/approvals.ts");
  return await import(pathToFileURL(entry).href);
}

/** Imports what is not copied from where it is. */
const withImports = (source: string, path: string): string =>
  source.replaceAll(/ from "(\.[^"]+)"/g, (whole, specifier: string) => {
    const target = join(dirname(path), specifier);
    if (FOLDERS.includes(dirname(target))) return whole;
    return ` from "${pathToFileURL(join(ROOT, target)).href}"`;
  });
