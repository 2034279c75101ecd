import { opendir, readdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import type { A2CSkillRef } from "../../protocol/mod.ts";
import { reasonOf } from "../util/values.ts";
import { readEntry } from "./files/read_entry.ts";
import { isSkillWord } from "./skill_names.ts";

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
