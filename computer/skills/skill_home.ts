import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";

/** Returns the folder of skills where none is named: that of other A2C-SMCP Computers of this user. */
export function defaultSkillHome(
  env: Readonly<Record<string, string | undefined>>,
): string {
  const chosen = env.A2C_SKILL_HOME?.trim();
  if (chosen) return resolve(chosen.replace(/^~(?=$|[/\\])/, homedir()));
  const data = env.XDG_DATA_HOME;
  return data && isAbsolute(data)
    ? join(data, "a2c", "skills")
    : join(homedir(), ".a2c", "skills");
}
