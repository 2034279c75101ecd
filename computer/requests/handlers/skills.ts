import {
  type GET_SKILL_EVENT,
  type GET_SKILLS_EVENT,
  skillNotFound,
} from "../../../protocol/mod.ts";
import type { Handler } from "./handler.ts";

/** Lists the skills: this Computer has none. */
export const getSkills: Handler<typeof GET_SKILLS_EVENT, unknown> = (
  { req_id },
) => ({ skills: [], req_id });

/** Gets a file of a skill: this Computer has none. */
export const getSkill: Handler<typeof GET_SKILL_EVENT, unknown> = (
  { name },
) => {
  throw skillNotFound(name);
};
