import { globOf } from "../../shared/glob.ts";

/** Whether a tool passes the patterns of a filter. */
export type ToolFilter = (tool: Matchable) => boolean;

/** What a pattern is compared with. */
interface Matchable {
  /** The names by which clients may mean it. */
  readonly names: readonly string[];
  /** A name that it would have if no other tool had it: an exclusion must not depend on other tools. */
  readonly own: string;
  /** The words that its Computer tagged it with. */
  readonly tags: readonly string[];
}

const TAG = "tag:";

/**
 * Makes the filter of patterns such as `laptop__*` and `tag:safe`.
 *
 * @param include any of them must match; without any, everything passes
 * @param exclude none of them may match
 * @throws {TypeError} naming a pattern that can match nothing
 */
export function toolFilter(
  include: readonly string[],
  exclude: readonly string[],
): ToolFilter {
  const included = include.map(matcher);
  const excluded = exclude.map(matcher);
  return ({ names, own, tags }) =>
    (included.length === 0 ||
      included.some((matches) => matches(names, tags))) &&
    !excluded.some((matches) => matches([...names, own], tags));
}

type Matcher = (names: readonly string[], tags: readonly string[]) => boolean;

function matcher(pattern: string): Matcher {
  if (pattern.startsWith(TAG) && pattern.length > TAG.length) {
    const tag = pattern.slice(TAG.length);
    return (_, tags) => tags.includes(tag);
  }
  // What can never match guards nothing: a misspelt `exclude` would let tools through.
  if (!/^[\w*-]+$/.test(pattern)) {
    throw new TypeError(
      `Cannot use the pattern ${
        JSON.stringify(pattern)
      }: expected a tool's name of letters, digits, _ and -, with * for any characters, or tag:WORD`,
    );
  }
  const matches = globOf(pattern);
  return (names) => names.some(matches);
}
