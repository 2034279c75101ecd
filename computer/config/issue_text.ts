import type { ConfigPath, ConfigProblem } from "./problem.ts";

/** An issue reported by the validator: which fields it has depends on its code. */
export interface Issue {
  /** Its kind. */
  readonly code?: string | undefined;
  /** Path within the validated value. */
  readonly path: readonly PropertyKey[];
  /** The validator's message. */
  readonly message: string;
  /** Of `invalid_type`: the type that is allowed. */
  readonly expected?: string;
  /** Of `invalid_value`: the values that are allowed. */
  readonly values?: readonly unknown[];
  /** Of `too_small`: what is. */
  readonly origin?: string;
}

/**
 * Converts issues of the validator to readable problems below a path.
 *
 * @param value the validated value
 */
export const explainIssues = (
  path: ConfigPath,
  issues: readonly Issue[],
  value: unknown,
): ConfigProblem[] =>
  issues.map((issue) => ({
    path: [
      ...path,
      ...issue.path.map((key) => typeof key === "symbol" ? String(key) : key),
    ],
    text: textOf(issue, value, path[0] === "inputs"),
  }));

function textOf(issue: Issue, value: unknown, isInput: boolean): string {
  const { code, path, message, expected, values, origin } = issue;
  switch (code) {
    case "invalid_union":
      if (path.at(-1) === "type") {
        return isInput
          ? 'expected "promptString", "pickString" or "command"'
          : 'expected "stdio", "streamable" (or "http") or "sse"';
      }
      if (isInput && path.at(-2) === "options") {
        return 'expected a text, or {"label": ..., "value": ...} with texts that are not empty';
      }
      return path.includes("headers")
        ? "expected a text, a number, true or false"
        : "expected a list of texts, or a map of them";
    case "invalid_type": {
      const received = typeNameOf(valueAt(value, path));
      const wanted = TYPE_NAMES[expected ?? ""] ?? expected;
      return received === "undefined"
        ? `it is missing; expected ${wanted}`
        : `expected ${wanted}, not ${TYPE_NAMES[received] ?? received}`;
    }
    case "invalid_value": {
      const allowed = (values ?? []).map((one) => JSON.stringify(one));
      return `expected ${allowed.join(", ").replace(/, ([^,]+)$/, " or $1")}`;
    }
    case "too_small":
      if (origin === "string") return "it is empty";
      return origin === "number" ? "expected a number above 0" : message;
  }
  return message;
}

/** Returns the value that an issue is about. */
const valueAt = (value: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>(
    (inner, key) =>
      typeof inner === "object" && inner !== null
        ? Reflect.get(inner, key)
        : undefined,
    value,
  );

function typeNameOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
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
