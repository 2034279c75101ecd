import type { ConfigPath, ConfigProblem } from "./problem.ts";

/** What the validator says about one field. */
export interface Issue {
  /** Its kind. */
  readonly code?: string | undefined;
  /** Where, below what was validated. */
  readonly path: readonly PropertyKey[];
  /** In the validator's words. */
  readonly message: string;
}

/** Says for a person what the validator found, below a path. */
export const explainIssues = (
  path: ConfigPath,
  issues: readonly Issue[],
): ConfigProblem[] =>
  issues.map((issue) => ({
    path: [
      ...path,
      ...issue.path.map((key) => typeof key === "symbol" ? String(key) : key),
    ],
    text: textOf(issue, path[0] === "inputs"),
  }));

function textOf({ code, path, message }: Issue, isInput: boolean): string {
  const field = path.at(-1);
  if (code === "invalid_union" && field === "type") {
    return isInput
      ? 'expected "promptString", "pickString" or "command"'
      : 'expected "stdio", "streamable" (or "http") or "sse"';
  }
  const [, expected, received] =
    /^Invalid input: expected (\w+), received (\w+)$/.exec(message) ?? [];
  if (expected !== undefined && received !== undefined) {
    const wanted = WORDS[expected] ?? expected;
    return received === "undefined"
      ? `it is missing; expected ${wanted}`
      : `expected ${wanted}, not ${WORDS[received] ?? received}`;
  }
  const [, options] = /^Invalid option: expected one of (.+)$/.exec(message) ??
    [];
  if (options !== undefined) {
    return `expected ${
      options.replaceAll("|", ", ").replace(/, ([^,]+)$/, " or $1")
    }`;
  }
  if (message.startsWith("Too small: expected string")) return "it is empty";
  if (message.startsWith("Too small: expected number")) {
    return "expected a number above 0";
  }
  if (message === "Invalid input") {
    return path.includes("headers")
      ? "expected a text, a number, true or false"
      : "expected a list of texts, or a map of them";
  }
  return message;
}

/** What the validator's words for kinds of values mean to a person. */
const WORDS: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  record: "a map",
  object: "an object",
};
