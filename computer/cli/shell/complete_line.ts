/** A command of the shell as completion needs it. */
export interface Completable {
  /** What is typed, such as `server add`. */
  readonly words: readonly string[];
  /** What may follow, if that is known. */
  readonly values?: (() => readonly string[]) | undefined;
}

/**
 * Completes a line of the shell, as `node:readline` wants it.
 *
 * @returns what the last word may become, and that word
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
