import { dirname, join } from "node:path";
import {
  lstat,
  mkdir,
  open,
  readdir,
  rename,
  rm,
  rmdir,
} from "node:fs/promises";
import { fetchSkill, type SkillServer } from "./fetch_skill.ts";
import { checkPath, SkillFault } from "./sandbox.ts";
import { isSkillWord, readEntry } from "./skill_entry.ts";
import type { SkillRoot } from "./skill_roots.ts";
import { isLeftOver, ownerMark } from "../util/processes.ts";
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
 * @throws {Error} that says why the skill cannot be had; an earlier version stays then
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
export async function removeLeftOvers(folder: string): Promise<void> {
  const workshop = join(folder, WORKSHOP);
  for (const name of await readdir(workshop).catch(() => [])) {
    const path = join(workshop, name);
    const stats = await lstat(path).catch(() => undefined);
    if (!stats || !isLeftOver(name, stats.mtimeMs)) continue;
    await rm(path, { recursive: true, force: true }).catch(() => {});
  }
}

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

/** How large a skill may be that an MCP server brings: the limits of the other SDKs (protocol §8.6). */
export const STAGING_LIMITS = {
  /** Bytes of all files together. */
  bytes: 256 * 1024 * 1024,
  /** Files and folders together. */
  members: 10_000,
  /** Bytes of a packed archive. */
  packedBytes: 64 * 1024 * 1024,
};

/** The same of a test, in which they are smaller. */
export type StagingLimits = Readonly<typeof STAGING_LIMITS>;

/** For this user alone (protocol §8.6). */
const PRIVATE_FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
const PROGRAM_MODE = 0o700;

/** A new folder that the files of a skill are written to; nothing gets out of it, and it stays below its limits. */
export class StagingFolder {
  /** Where it is. */
  readonly path: string;
  /** Its limits. */
  readonly limits: StagingLimits;
  #bytes = 0;
  #members = 0;

  /** @param path a folder of its own, which holds nothing yet */
  constructor(path: string, limits: StagingLimits = STAGING_LIMITS) {
    this.path = path;
    this.limits = limits;
  }

  /**
   * Makes a folder.
   *
   * @param name its path, with `/`
   * @throws {Error} when it would be outside, or is one too many
   */
  async addFolder(name: string): Promise<void> {
    await makePrivate(this.#place(name));
  }

  /**
   * Writes a file.
   *
   * @param name its path, with `/`
   * @throws {Error} when it would be outside, or a limit is exceeded
   */
  async addFile(
    name: string,
    pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    isProgram = false,
  ): Promise<void> {
    const path = this.#place(name);
    await makePrivate(dirname(path));
    const file = await open(path, "w", isProgram ? PROGRAM_MODE : FILE_MODE);
    try {
      for await (const piece of pieces) {
        this.#bytes += piece.length;
        if (this.#bytes > this.limits.bytes) {
          throw new Error(`it is larger than ${this.limits.bytes} bytes`);
        }
        await file.writeFile(piece);
      }
    } finally {
      await file.close();
    }
  }

  #place(name: string): string {
    if (++this.#members > this.limits.members) {
      throw new Error(`it has more than ${this.limits.members} files`);
    }
    const path = name.replace(/\/+$/, "");
    if (!isInside(path)) {
      throw new Error(`it has a file outside of it: ${JSON.stringify(name)}`);
    }
    return join(this.path, path);
  }
}

/** Makes a folder, and those above it, for this user alone. */
async function makePrivate(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: PRIVATE_FOLDER_MODE });
}

function isInside(path: string): boolean {
  try {
    checkPath(path);
  } catch (error) {
    // Secrets may be there; they are not given out.
    return error instanceof SkillFault && error.reason === "forbidden";
  }
  return path !== "";
}
