import { blobNotAccessible, ProtocolError } from "../../protocol/mod.ts";
import type { BlobSource, ResolveBlob } from "../blobs/blobs.ts";
import { SkillFault } from "./files/skill_fault.ts";
import type { SkillFile } from "./files/skill_file.ts";
import type { Skills } from "./skills.ts";

/** The kind of the handles of files of skills. */
export const SKILL_KIND = "skill";

/**
 * Resolves handles of files of skills: registry and sandbox decide each time again (0.4 §7.1).
 *
 * Each part is read from a file that is opened for it; an Agent may never ask for the last one.
 */
export const skillBlobs =
  (skills: Pick<Skills, "open">): ResolveBlob =>
  async ({ name, path }): Promise<BlobSource> => {
    if (typeof name !== "string" || typeof path !== "string") {
      throw blobNotAccessible("invalid_handle");
    }
    return await withFile(skills, name, path, async (file) => ({
      mimeType: file.mimeType,
      size: file.totalSize,
      sha256: await file.sha256(),
      read: (offset, length) =>
        withFile(skills, name, path, (file) => file.read(offset, length)),
    }));
  };

async function withFile<T>(
  skills: Pick<Skills, "open">,
  name: string,
  path: string,
  work: (file: SkillFile) => Promise<T>,
): Promise<T> {
  const file = await openAgain(skills, name, path);
  try {
    return await work(file);
  } finally {
    await file.close();
  }
}

async function openAgain(
  skills: Pick<Skills, "open">,
  name: string,
  path: string,
): Promise<SkillFile> {
  try {
    return await skills.open(name, path);
  } catch (error) {
    if (error instanceof SkillFault) {
      throw blobNotAccessible(
        error.reason === "not_found" ? "gone" : "forbidden",
      );
    }
    throw error instanceof ProtocolError ? blobNotAccessible("gone") : error;
  }
}
