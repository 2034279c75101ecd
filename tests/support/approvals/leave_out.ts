/**
 * Copies of the Computer's side of approvals, each without one of its checks, so that a test can find out
 * whether the check is missed.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { ApprovalsModule } from "./side.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
/** What is copied: the Computer's side, and the messages. */
const FOLDERS = ["computer/approvals", "shared/approvals"];
const ENTRY = "computer/approvals/approvals.ts";
const IMPORT = / from "(\.[^"]+)"/g;

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

/** The sources that may be copied, by their paths, with those of them that each imports. */
const sources: ReadonlyMap<
  string,
  { readonly text: string; readonly imports: readonly string[] }
> = new Map(
  await Promise.all(FOLDERS.map(async (folder) => {
    const names = await readdir(join(ROOT, folder));
    return await Promise.all(names.map(async (name) => {
      const path = `${folder}/${name}`;
      const text = await readFile(join(ROOT, path), "utf8");
      const imports = text.matchAll(IMPORT).map(([, specifier = ""]) =>
        join(dirname(path), specifier)
      );
      return [path, { text, imports: [...imports] }] as const;
    }));
  })).then((all) => all.flat()),
);

/** Returns a file and all that load it, which a change of it is a change of. */
function changedBy(file: string): ReadonlySet<string> {
  const changed = new Set([file]);
  for (const path of changed) { // also those that are added meanwhile
    for (const [other, { imports }] of sources) {
      if (imports.includes(path)) changed.add(other);
    }
  }
  return changed;
}

/**
 * Loads the approvals without a check: a copy of its file, and of all that load it; without one, of all files.
 *
 * @param folder of its own
 */
export async function withoutCheck(
  folder: string,
  check: Check | undefined,
): Promise<ApprovalsModule> {
  const copied = check ? changedBy(check.file) : new Set(sources.keys());
  for (const part of FOLDERS) {
    await mkdir(join(folder, part), { recursive: true });
  }
  await Promise.all([...copied].map(async (path) => {
    let { text = "" } = sources.get(path) ?? {};
    if (check?.file === path) {
      const parts = text.split(check.source);
      assertEquals(parts.length, 2, `${path} has once: ${check.source}`);
      text = parts.join(check.without ?? "");
    }
    await writeFile(join(folder, path), withImports(text, path, copied));
  }));
  assert(copied.has(ENTRY), `${check?.file} is not loaded`);
  return await import(pathToFileURL(join(folder, ENTRY)).href);
}

/** Imports what is not copied from where it is. */
const withImports = (
  text: string,
  path: string,
  copied: ReadonlySet<string>,
): string =>
  text.replaceAll(IMPORT, (whole, specifier: string) => {
    const target = join(dirname(path), specifier);
    if (copied.has(target)) return whole;
    return ` from "${pathToFileURL(join(ROOT, target)).href}"`;
  });
