import type { ConfigPath, ConfigProblem } from "./problem.ts";

/** An issue reported by the validator. */
export interface Issue {
  /** Its kind. */
  readonly code?: string | undefined;
  /** Path within the validated value. */
  readonly path: readonly PropertyKey[];
  /** The validator's message. */
  readonly message: string;
}

/** Converts issues of the validator to readable problems below a path. */
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
    const wanted = TYPE_NAMES[expected] ?? expected;
    return received === "undefined"
      ? `it is missing; expected ${wanted}`
      : `expected ${wanted}, not ${TYPE_NAMES[received] ?? received}`;
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

/** Readable names of the validator's types. */
const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  record: "a map",
  object: "an object",
};
