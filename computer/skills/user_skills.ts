import { dirname, join } from "node:path";
import { existsSync, type FSWatcher, watch } from "node:fs";
import { opendir, readdir, realpath, stat } from "node:fs/promises";
import { isSkillWord, readEntry } from "./skill_entry.ts";
import { log } from "../util/log.ts";
import { reasonOf } from "../util/values.ts";
import type { A2CSkillRef } from "../../protocol/mod.ts";

/** The skills of a folder, and its problems. */
export interface FoundSkills {
  /** The skills, by name. */
  readonly refs: readonly A2CSkillRef[];
  /** Why others are left out, in one sentence each. */
  readonly problems: readonly string[];
}

/**
 * Finds the skills in a folder: each folder in it with a valid `SKILL.md`, used in place (protocol §8.6).
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
      if (!isSkillWord(name)) {
        throw new Error(
          "name its folder in lower-case letters and digits with single hyphens, at most 64 characters",
        );
      }
      const { fields } = await readEntry(path);
      const real = await realpath(path);
      refs.push({ name, source: "user", path: real, ...fields });
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
export async function folderProblem(
  folder: string,
): Promise<string | undefined> {
  try {
    await (await opendir(folder)).close();
  } catch (error) {
    if (Object(error).code === "ENOENT") return undefined;
    const reason = reasonOf(error);
    return `No skills are offered: ${reason} (--no-skills leaves them out)`;
  }
}

/** How far up a folder is looked for that exists, where the watched one does not yet. */
const MAX_LEVELS_UP = 3;

/**
 * Watches a folder and all below it, also one that is made later.
 *
 * @param changed called at each change of it, often several times
 */
export function watchFolder(folder: string, changed: () => void): Disposable {
  let watcher: FSWatcher | undefined;
  let watched: string | undefined;
  let closed = false;
  const cannot = (error: unknown) => {
    if (closed) return;
    log.warn("Cannot watch {folder} for changes of skills: {reason}", {
      folder: watched ?? folder,
      reason: reasonOf(error),
    });
  };
  const watchNearest = () => {
    try {
      const nearest = closed ? undefined : nearestFolder(folder);
      if (nearest === undefined || nearest === watched) return;
      watcher?.close();
      watcher = undefined;
      watched = nearest;
      watcher = watch(nearest, { recursive: nearest === folder });
      watcher.on("change", () => {
        const before = watched;
        watchNearest();
        if (watched === folder || before === folder) changed();
      }).on("error", cannot);
    } catch (error) {
      cannot(error);
    }
  };
  watchNearest();
  return {
    [Symbol.dispose]() {
      closed = true;
      watcher?.close();
    },
  };
}

/**
 * Finds a folder itself, or one above it that exists.
 *
 * @throws where the runtime forbids a look at one of them
 */
function nearestFolder(folder: string): string | undefined {
  for (let level = 0; level <= MAX_LEVELS_UP; level++) {
    if (existsSync(folder)) return folder;
    folder = dirname(folder);
  }
  return undefined;
}
