import { readAt } from "../../../shared/bytes.ts";
import { bodyOffset, FRONT_MATTER_BYTES } from "./front_matter.ts";
import { hashOf } from "./file_hashes.ts";
import { isTextType, mediaTypeOf } from "./media_types.ts";
import { type Disk, ENTRY_FILE, openInSkill } from "./sandbox.ts";
import { SkillFault } from "./skill_fault.ts";

/** Files over this are not given out (0.4 §6.5). */
export const MAX_FILE_BYTES = 100 * 1024 * 1024;

/** A file of a skill as an Agent receives it: `SKILL.md` without its front matter. */
export interface SkillFile {
  /** Its type, by its name. */
  readonly mimeType: string;
  /** Whether that is a type of text. */
  readonly isText: boolean;
  /** Its bytes. */
  readonly totalSize: number;
  /** Lower-case hex digits of their SHA-256. */
  sha256(): Promise<string>;
  /** Reads bytes; fewer at the end of the file. */
  read(offset: number, length: number): Promise<Uint8Array>;
  /** Closes it. */
  close(): Promise<void>;
}

/**
 * Opens a file of a skill (0.4 §6.5).
 *
 * @param root the skill's folder, from the registry
 * @param path the path below it, as requested; `SKILL.md` by default
 * @throws {SkillFault} why it is not given out
 */
export async function openSkillFile(
  root: string,
  path: string | undefined,
  disk?: Disk,
): Promise<SkillFile> {
  const { handle, stats, path: inner } = await openInSkill(root, path, disk);
  try {
    const size = Number(stats.size);
    const start = inner === ENTRY_FILE
      ? bodyOffset(await readAt(handle, 0, Math.min(size, FRONT_MATTER_BYTES)))
      : 0;
    const totalSize = size - start;
    if (totalSize > MAX_FILE_BYTES) {
      throw new SkillFault("too_large", totalSize);
    }
    const mimeType = mediaTypeOf(inner);
    const read = (offset: number, length: number) =>
      readAt(
        handle,
        start + offset,
        Math.max(0, Math.min(length, totalSize - offset)),
      );
    return {
      mimeType,
      isText: isTextType(mimeType),
      totalSize,
      sha256: () => hashOf(stats, start, totalSize, read),
      read,
      close: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}
