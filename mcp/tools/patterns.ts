/** What a pattern is compared with. */
export interface Matchable {
  /** The name that clients see. */
  readonly name: string;
  /** The words that its Computer tagged it with. */
  readonly tags: readonly string[];
}

const TAG = "tag:";

/**
 * Makes the filter of patterns such as `laptop__*` and `tag:safe`.
 *
 * @param include any of them must match; none at all lets everything in
 * @param exclude none of them may match
 * @throws {TypeError} naming a pattern that can match nothing
 */
export function toolFilter(
  include: readonly string[],
  exclude: readonly string[],
): (tool: Matchable) => boolean {
  const [wanted, unwanted] = [include.map(matcher), exclude.map(matcher)];
  return (tool) =>
    (wanted.length === 0 || wanted.some((matches) => matches(tool))) &&
    !unwanted.some((matches) => matches(tool));
}

function matcher(pattern: string): (tool: Matchable) => boolean {
  if (pattern.startsWith(TAG) && pattern.length > TAG.length) {
    const tag = pattern.slice(TAG.length);
    return ({ tags }) => tags.includes(tag);
  }
  // What can never match guards nothing: a misspelt `exclude` would let tools through.
  if (!/^[\w*-]+$/.test(pattern)) {
    throw new TypeError(
      `Cannot use the pattern ${
        JSON.stringify(pattern)
      }: expected a tool's name of letters, digits, _ and -, with * for any characters, or tag:WORD`,
    );
  }
  const expression = new RegExp(`^${pattern.replaceAll(/\*+/g, ".*")}$`);
  return ({ name }) => expression.test(name);
}
