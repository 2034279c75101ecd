import { dirname, join } from "node:path";
import { rename, rm, rmdir } from "node:fs/promises";
import { fetchSkill, type SkillServer } from "./fetch_skill.ts";
import { isSkillWord, readEntry } from "./skill_entry.ts";
import type { SkillRoot } from "./skill_roots.ts";
import { makePrivate, StagingFolder } from "./staging_folder.ts";
import { ownerMark, removeLeftOvers } from "../util/processes.ts";
import type { A2CSkillRef } from "../../protocol/mod.ts";

/** Where skills of an MCP server are put. */
export interface StagingPlace {
  /** The private folder of all of them. */
  readonly folder: string;
  /** The MCP server's part of names, and its folder below. */
  readonly server: string;
  /** Keeps its readers from finding nothing. */
  readonly replacing: Replacing;
  /** Returns whether another skill of the MCP server has a name already. */
  isTaken(skill: string): boolean;
}

/** Below the folder of all: what is being made, and what is being removed. */
const WORKSHOP = ".staging";

/**
 * Fetches a skill of an MCP server, and puts it in its place: whoever reads files of an earlier version
 * meanwhile finds those, or the new ones.
 *
 * @throws {Error} with the reason why the skill cannot be staged; an earlier version stays then
 */
export async function stageSkill(
  root: SkillRoot,
  server: SkillServer,
  place: StagingPlace,
  signal: AbortSignal,
): Promise<A2CSkillRef> {
  const own = `${ownerMark()}.${crypto.randomUUID()}`;
  const draft = join(place.folder, WORKSHOP, own);
  try {
    await makePrivate(draft);
    const folder = new StagingFolder(draft);
    await fetchSkill(root, server, folder, signal);
    const { name, fields } = await readEntry(draft);
    if (name === undefined) throw new Error(`its front matter has no "name"`);
    if (!isSkillWord(name)) {
      const quoted = JSON.stringify(name);
      throw new Error(
        `its name ${quoted} is none for a skill: lower-case letters, digits and single hyphens, at most 64`,
      );
    }
    if (place.isTaken(name)) {
      throw new Error(`another skill of its MCP server is named "${name}" too`);
    }
    signal.throwIfAborted();
    const path = join(place.folder, place.server, name);
    await place.replacing.write(() => replace(path, draft));
    return {
      name: `mcp:${place.server}:${name}`,
      source: `mcp:${place.server}`,
      uri: root.uri,
      path,
      ...fields,
      ...(root.version !== undefined && { version: root.version }),
    };
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/** Removes a skill that its MCP server no longer offers. */
export async function removeStaged(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true });
  await rmdir(dirname(path)).catch(() => {}); // it has others
}

/** Removes what processes that were killed left unfinished; never rejects. */
export const removeUnfinished = (folder: string): Promise<void> =>
  removeLeftOvers(join(folder, WORKSHOP), /^/);

async function replace(path: string, draft: string): Promise<void> {
  await makePrivate(dirname(path));
  const old = `${draft}-old`;
  const had = await rename(path, old).then(() => true, () => false);
  try {
    await rename(draft, path);
  } catch (error) {
    if (had) await rename(old, path);
    throw error;
  }
  if (had) await rm(old, { recursive: true, force: true });
}

/**
 * Keeps readers of folders apart from those who replace one: for a moment there is neither the old
 * folder nor the new one.
 */
export class Replacing {
  #begun = 0;
  #work: Promise<unknown> = Promise.resolve();

  /** Replaces a folder. */
  async write(replace: () => Promise<void>): Promise<void> {
    this.#begun++;
    const done = replace();
    this.#work = Promise.allSettled([this.#work, done]);
    await done;
  }

  /**
   * Reads in a folder: before or after a replacement, or again where one came between.
   *
   * @throws what `read` throws
   */
  async read<T>(read: () => Promise<T>): Promise<T> {
    while (true) {
      // Counted before the wait: another replacement may begin as this one ends.
      const begun = this.#begun;
      await this.#work;
      try {
        return await read();
      } catch (error) {
        if (begun === this.#begun) throw error;
      }
    }
  }
}
