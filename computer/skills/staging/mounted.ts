import { opendir, realpath } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { openInSkill } from "../files/sandbox.ts";
import { SkillFault } from "../files/skill_fault.ts";
import type { StagingFolder } from "./staging_folder.ts";

/**
 * Copies a folder that an MCP server names.
 *
 * Links are followed as they are when a file is given out: within the folder only. Others, and
 * what is no file, are left out.
 *
 * @throws {Error} when there is no such folder, it is no skill, or it exceeds a limit
 */
export async function copyMounted(
  mounted: string,
  folder: StagingFolder,
  signal: AbortSignal,
): Promise<void> {
  if (!isAbsolute(mounted)) throw new Error(`its "mount_dir" is not absolute`);
  const root = await realpath(mounted).catch(() => {
    throw new Error(`its folder ${mounted} does not exist`);
  });
  // First of all, so that nothing is copied of a folder that is no skill.
  if (!await copyFile(root, "SKILL.md", folder)) {
    throw new Error(`its folder ${mounted} has no SKILL.md`);
  }
  await copyFolder(root, "", folder, signal);
}

async function copyFolder(
  root: string,
  path: string,
  folder: StagingFolder,
  signal: AbortSignal,
): Promise<void> {
  for await (const entry of await opendir(join(root, path))) {
    signal.throwIfAborted();
    const inner = path === "" ? entry.name : `${path}/${entry.name}`;
    if (entry.isDirectory()) await copyFolder(root, inner, folder, signal);
    else if (inner !== "SKILL.md") await copyFile(root, inner, folder);
  }
}

/** Returns whether there was a file to copy. */
async function copyFile(
  root: string,
  path: string,
  folder: StagingFolder,
): Promise<boolean> {
  try {
    const { handle, stats } = await openInSkill(root, path);
    try {
      const isProgram = (stats.mode & 0o111n) !== 0n;
      const pieces = handle.createReadStream({ autoClose: false });
      await folder.addFile(path, pieces, isProgram);
    } finally {
      await handle.close();
    }
    return true;
  } catch (error) {
    if (error instanceof SkillFault) return false;
    throw error;
  }
}
