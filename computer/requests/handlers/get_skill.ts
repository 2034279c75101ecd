import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import {
  type GET_SKILL_EVENT,
  type GetSkillRet,
  skillNotAccessible,
} from "../../../protocol/mod.ts";
import { writeHandle } from "../../blobs/handle.ts";
import { ENTRY_FILE } from "../../skills/files/sandbox.ts";
import { SkillFault } from "../../skills/files/skill_fault.ts";
import type { SkillFile } from "../../skills/files/skill_file.ts";
import { SKILL_KIND } from "../../skills/skill_blobs.ts";
import type { SkillNeeds } from "./get_skills.ts";
import type { Handler } from "./handler.ts";

/** Text up to this is part of the answer; the rest is fetched in parts (0.4 §6.5). */
const INLINE_BYTES = 32 * 1024;

/** Gets a file of a skill: its text, or a handle for its bytes (0.4 §6.5). */
export const getSkill: Handler<typeof GET_SKILL_EVENT, SkillNeeds> = async (
  { name, rel_path, req_id },
  { skills },
) => {
  const path = rel_path || ENTRY_FILE;
  const file = await skills.open(name, path).catch((error) => {
    throw error instanceof SkillFault
      ? skillNotAccessible(error.reason, path, error.totalSize)
      : error;
  });
  try {
    const answer = {
      name,
      rel_path: path,
      mime_type: file.mimeType,
      total_size: file.totalSize,
      req_id,
    };
    return await inline(answer, file) ?? {
      ...answer,
      sha256: await file.sha256(),
      blob_handle: writeHandle({ kind: SKILL_KIND, name, path }),
    };
  } finally {
    await file.close();
  }
};

async function inline(
  answer: Omit<GetSkillRet, "sha256">,
  file: SkillFile,
): Promise<GetSkillRet | undefined> {
  if (!file.isText || file.totalSize > INLINE_BYTES) return undefined;
  const bytes = await file.read(0, file.totalSize);
  const body = Buffer.from(bytes).toString();
  // Bytes that are no UTF-8 would come back as others.
  if (!Buffer.from(body).equals(bytes)) return undefined;
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return { ...answer, total_size: bytes.length, sha256, body };
}
