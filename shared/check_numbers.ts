/**
 * Checks that options are numbers, where they are given.
 *
 * A text such as `"5"` compares like a number, but is appended where a number would be added.
 *
 * @param options by the names that callers use
 * @throws {TypeError} that names the first option that is no number
 */
export function checkNumbers(options: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || typeof value === "number") continue;
    throw new TypeError(
      `Cannot use ${name}: expected a number, got ${shown(value)}`,
    );
  }
}

function shown(value: unknown): string {
  if (typeof value === "string") return `the text ${JSON.stringify(value)}`;
  return value === null ? "null" : `a value of type ${typeof value}`;
}
