/** A name of a skill, taken apart (0.4 §6.2). */
export type SkillName =
  | { readonly kind: "user"; readonly skill: string }
  | { readonly kind: "plugin"; readonly plugin: string; readonly skill: string }
  | { readonly kind: "mcp"; readonly server: string; readonly skill: string };

const MAX_WORD_LENGTH = 64;
const WORD = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const SERVER_ID = /^(?!.*__)[A-Za-z0-9_-]+$/;

/** Tells whether a text may be the name of a skill, or of a plugin: lower case, with single hyphens. */
export const isSkillWord = (text: string): boolean =>
  text.length <= MAX_WORD_LENGTH && WORD.test(text);

/** Tells whether a text may stand for an MCP server in names of skills, and as a folder of its own. */
export const isServerId = (text: string): boolean => SERVER_ID.test(text);

/**
 * Takes a name apart, before anything is looked up.
 *
 * @returns `undefined` for a text that cannot be the name of a skill
 */
export function parseSkillName(name: string): SkillName | undefined {
  const [first = "", second, third, ...more] = name.split(":");
  if (more.length > 0) return undefined;
  if (third !== undefined) {
    return first === "mcp" && isServerId(second ?? "") && isSkillWord(third)
      ? { kind: "mcp", server: second ?? "", skill: third }
      : undefined;
  }
  if (!isSkillWord(first)) return undefined;
  if (second === undefined) return { kind: "user", skill: first };
  return isSkillWord(second)
    ? { kind: "plugin", plugin: first, skill: second }
    : undefined;
}
