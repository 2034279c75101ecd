import type { GET_SKILLS_EVENT } from "../../../protocol/mod.ts";
import type { Skills } from "../../skills/skills.ts";
import type { Handler } from "./handler.ts";

/** What requests about skills need. */
export interface SkillNeeds {
  /** The skills. */
  readonly skills: Pick<Skills, "list" | "open">;
}

/** Lists the skills whose source is present (0.4 §6.3). */
export const getSkills: Handler<typeof GET_SKILLS_EVENT, SkillNeeds> = async (
  { req_id },
  { skills },
) => ({ skills: await skills.list(), req_id });
