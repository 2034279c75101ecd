/**
 * Puts the folder of a skill in place of `${TFROBOT_SKILL_DIR}`, for a text that goes into a prompt;
 * every other `${…}` stays (0.4 §6.9).
 *
 * @param skill as `getSkills` lists it; its `path` is the folder on its Computer
 */
export const expandSkillDir = (
  text: string,
  skill: { readonly path: string },
): string => text.replaceAll("${TFROBOT_SKILL_DIR}", () => skill.path);
