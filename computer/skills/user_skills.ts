import { dirname, join } from "node:path";
import { existsSync, type FSWatcher, watch } from "node:fs";
import { opendir, readdir, realpath, stat } from "node:fs/promises";
import { isSkillWord, readEntry } from "./skill_entry.ts";
import { log } from "../util/log.ts";
import { reasonOf } from "../util/values.ts";
import type { A2CSkillRef } from "../../protocol/mod.ts";

/** What was found in a folder of skills. */
export interface FoundSkills {
  /** The skills, by name. */
  readonly refs: readonly A2CSkillRef[];
  /** Why others are left out, in one sentence each. */
  readonly problems: readonly string[];
}

/**
 * Finds the skills in a folder: each folder in it with a valid `SKILL.md`, used in place (0.4 §6.4).
 *
 * Never rejects: a folder that does not exist has no skills.
 */
export async function findUserSkills(folder: string): Promise<FoundSkills> {
  const refs: A2CSkillRef[] = [];
  const problems: string[] = [];
  const names = await readdir(folder).catch(() => []);
  for (const name of names.toSorted()) {
    if (name.startsWith(".")) continue;
    const path = join(folder, name);
    try {
      if (!(await stat(path)).isDirectory()) continue;
      refs.push(await readSkill(name, path));
    } catch (error) {
      problems.push(`Skill ${path} is left out: ${reasonOf(error)}`);
    }
  }
  return { refs, problems };
}

/**
 * Returns the reason why a folder of skills cannot be read; undefined when it can, or does not exist.
 *
 * Tries it: permissions of the runtime refuse what the mode of a folder allows.
 */
export async function refusalOf(folder: string): Promise<string | undefined> {
  try {
    await (await opendir(folder)).close();
  } catch (error) {
    if (isMissing(error)) return undefined;
    return `No skills are offered: ${
      reasonOf(error)
    } (--no-skills leaves them out)`;
  }
}

const isMissing = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ENOENT";

async function readSkill(name: string, path: string): Promise<A2CSkillRef> {
  if (!isSkillWord(name)) {
    throw new Error(
      "name its folder in lower-case letters and digits with single hyphens, at most 64 characters",
    );
  }
  const { fields } = await readEntry(path);
  return { name, source: "user", path: await realpath(path), ...fields };
}

/** How far up a folder is looked for that exists, where the watched one does not yet. */
const MAX_LEVELS_UP = 3;

/**
 * Watches a folder and all below it, also one that is made later.
 *
 * @param changed called at each change of it, often several times
 */
export class FolderWatch implements Disposable {
  readonly #folder: string;
  readonly #changed: () => void;
  #watcher: FSWatcher | undefined;
  #watched: string | undefined;
  #closed = false;

  /** Begins to watch. */
  constructor(folder: string, changed: () => void) {
    this.#folder = folder;
    this.#changed = changed;
    this.#watch();
  }

  /** Stops watching. */
  [Symbol.dispose](): void {
    this.#closed = true;
    this.#watcher?.close();
    this.#watcher = undefined;
  }

  #watch(): void {
    try {
      const folder = this.#closed ? undefined : this.#nearest();
      if (folder === undefined || folder === this.#watched) return;
      this.#watcher?.close();
      this.#watcher = undefined;
      this.#watched = folder;
      const watcher = watch(folder, { recursive: folder === this.#folder });
      watcher.on("change", () => this.#seen());
      watcher.on("error", (error) => this.#cannot(error));
      this.#watcher = watcher;
    } catch (error) {
      this.#cannot(error);
    }
  }

  #seen(): void {
    const before = this.#watched;
    this.#watch();
    if (this.#watched === this.#folder || before === this.#folder) {
      this.#changed();
    }
  }

  /**
   * Finds the folder itself, or one above it that exists.
   *
   * @throws where the runtime forbids a look at one of them
   */
  #nearest(): string | undefined {
    let folder = this.#folder;
    for (let level = 0; level <= MAX_LEVELS_UP; level++) {
      if (existsSync(folder)) return folder;
      folder = dirname(folder);
    }
    return undefined;
  }

  #cannot(error: unknown): void {
    if (this.#closed) return;
    log.warn("Cannot watch {folder} for changes of skills: {reason}", {
      folder: this.#watched ?? this.#folder,
      reason: reasonOf(error),
    });
  }
}
