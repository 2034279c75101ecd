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
  if (code === "invalid_union" && path.at(-1) === "type") {
    return isInput
      ? 'expected "promptString", "pickString" or "command"'
      : 'expected "stdio", "streamable" (or "http") or "sse"';
  }
  const [, expected] = /^Invalid input: (expected .+), received undefined$/
    .exec(message) ?? [];
  return expected === undefined ? message : `it is missing; ${expected}`;
}
