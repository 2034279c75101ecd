/** A command of the shell, for completion. */
export interface Completable {
  /** The words of the command, such as `server add`. */
  readonly words: readonly string[];
  /** Returns the possible arguments, if they are known. */
  readonly values?: (() => readonly string[]) | undefined;
}

/**
 * Completes a line of the shell, for `node:readline`.
 *
 * @returns the completions of the last word, and that word
 */
export function completeLine(
  line: string,
  commands: readonly Completable[],
): [string[], string] {
  const words = line.trimStart().split(/\s+/);
  const last = words.pop() ?? "";
  const found = new Set<string>();
  for (const { words: own, values } of commands) {
    const common = Math.min(words.length, own.length);
    if (!own.slice(0, common).every((word, i) => word === words[i])) continue;
    const next = own[words.length];
    if (next !== undefined) found.add(`${next} `);
    else if (words.length === own.length) {
      for (const value of values?.() ?? []) found.add(value);
    }
  }
  return [[...found].filter((word) => word.startsWith(last)).sort(), last];
}
