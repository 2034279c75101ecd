import { readAt } from "../../../shared/bytes.ts";
import {
  FRONT_MATTER_BYTES,
  type FrontMatter,
  readFrontMatter,
} from "./front_matter.ts";
import { ENTRY_FILE, openInSkill } from "./sandbox.ts";
import { SkillFault } from "./skill_fault.ts";

/**
 * Reads what a folder says of itself as a skill.
 *
 * @throws {Error} that says why it is none
 */
export async function readEntry(folder: string): Promise<FrontMatter> {
  const { handle } = await openInSkill(folder, ENTRY_FILE).catch((error) => {
    throw new Error(
      error instanceof SkillFault && error.reason !== "not_found"
        ? `its ${ENTRY_FILE} is a link out of it`
        : `it has no ${ENTRY_FILE}`,
      { cause: error },
    );
  });
  try {
    return await readFrontMatter(await readAt(handle, 0, FRONT_MATTER_BYTES));
  } finally {
    await handle.close();
  }
}
