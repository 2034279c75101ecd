/**
 * The problems of a configuration, in words: the error that lists them, the validator's issues, and
 * unknown fields.
 *
 * @module
 */
import type { core } from "zod/mini";
import { isRecord } from "../../protocol/names.ts";
import {
  baseServerFields,
  inputFields,
  oauthFields,
  type ServerFields,
  serverFields,
  toolMetaFields,
} from "../../protocol/payloads/config_file.ts";
import { nearestWord } from "../../shared/checks.ts";

/** The place of a value in a configuration: keys and indexes from the top. */
export type ConfigPath = readonly (string | number)[];

/** One problem of a configuration. */
export interface ConfigProblem {
  /** The place of the problem. */
  readonly path: readonly (string | number)[];
  /** The problem, and how to fix it. */
  readonly text: string;
}

/** Thrown for an invalid configuration; lists all of its problems. */
export class ConfigError extends Error {
  /** Always `"ConfigError"`. */
  override readonly name = "ConfigError";
  /** Every problem found. */
  readonly problems: readonly ConfigProblem[];

  /**
   * Creates an error whose message has one line per problem.
   *
   * @param source name of the file, or another origin of the configuration
   * @param lines returns the position of a problem, such as `12:5`, if known
   */
  constructor(
    source: string,
    problems: readonly ConfigProblem[],
    lines: (problem: ConfigProblem) => string | undefined = () => undefined,
  ) {
    super(
      problems.map((problem) => {
        const place = [source, lines(problem)].filter(Boolean).join(":");
        const path = problem.path.join(".");
        return `${place}: ${path === "" ? "" : `${path}: `}${problem.text}`;
      }).join("\n"),
    );
    this.problems = problems;
  }
}

/**
 * Converts issues of the validator to readable problems.
 *
 * @param value the validated value
 * @param isInput whether that is a list of inputs
 */
export const explainIssues = (
  issues: readonly core.$ZodIssue[],
  value: unknown,
  isInput = false,
): ConfigProblem[] =>
  issues.map((issue) => ({
    path: issue.path.map((key) => typeof key === "symbol" ? String(key) : key),
    text: explainIssue(issue, value, isInput),
  }));

function explainIssue(
  issue: core.$ZodIssue,
  value: unknown,
  isInput: boolean,
): string {
  const { path, message } = issue;
  switch (issue.code) {
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
      const received = typeName(valueAt(value, path));
      const wanted = TYPE_NAMES[issue.expected] ?? issue.expected;
      return received === "undefined"
        ? `it is missing; expected ${wanted}`
        : `expected ${wanted}, not ${TYPE_NAMES[received] ?? received}`;
    }
    case "invalid_value": {
      const allowed = issue.values.map((one) => JSON.stringify(one));
      return `expected ${allowed.join(", ").replace(/, ([^,]+)$/, " or $1")}`;
    }
    case "too_small":
      if (issue.origin === "string" || issue.origin === "array") {
        return "it is empty";
      }
      return issue.origin === "number" ? "expected a number above 0" : message;
  }
  return message;
}

/** Returns the value that an issue is about. */
const valueAt = (value: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>((inner, key) => Reflect.get(Object(inner), key), value);

function typeName(value: unknown): string {
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

/**
 * How unknown fields are treated. In our own format each is an error; in another program's format,
 * where they may be valid, only those that look like a misspelled field of ours.
 */
export type Strictness = "own" | "foreign";

/** The fields of an MCP server in process. */
const IN_PROCESS_FIELDS: ServerFields = {
  own: [...baseServerFields, "type", "server"],
  parameters: [],
};

/** Finds unknown fields of an MCP server in our format; missing fields are not reported. */
export function unknownServerFields(
  entry: unknown,
  strictness: Strictness,
): ConfigProblem[] {
  if (!isRecord(entry)) return [];
  const { type, server_parameters, tool_meta, default_tool_meta } = entry;
  const fields = serverFields.get(type) ??
    (type === "in-process" ? IN_PROCESS_FIELDS : undefined);
  const metas = Object.entries(isRecord(tool_meta) ? tool_meta : {});
  return [
    ...unknownIn(entry, fields?.own, strictness).map(orOfTools),
    ...below(
      ["server_parameters"],
      unknownIn(server_parameters, fields?.parameters, strictness),
    ),
    ...below(
      ["server_parameters", "oauth"],
      unknownIn(Object(server_parameters).oauth, oauthFields, strictness),
    ),
    ...metas.flatMap(([tool, meta]) =>
      below(["tool_meta", tool], ofMeta(meta))
    ),
    ...below(["default_tool_meta"], ofMeta(default_tool_meta)),
  ];
}

/** Explains where a field of tools belongs, such as `auto_apply`. */
function orOfTools(problem: ConfigProblem): ConfigProblem {
  const meant = nearestWord(`${problem.path.at(-1)}`, toolMetaFields);
  if (meant === undefined) return problem;
  const text = meant === "alias"
    ? `it is a field of a tool: write "tool_meta": {TOOL: {"alias": …}}`
    : `it is a field of tools: write "default_tool_meta": {"${meant}": …}, or in "tool_meta" for one of them`;
  return { ...problem, text };
}

/** Later versions may add fields here (protocol §4), so only misspelled ones are errors. */
const ofMeta = (meta: unknown): ConfigProblem[] =>
  unknownIn(meta, toolMetaFields, "foreign");

/** Finds unknown fields of input definitions. */
export const unknownInputFields = (
  inputs: unknown,
  strictness: Strictness,
): ConfigProblem[] =>
  (Array.isArray(inputs) ? inputs : []).flatMap((input, i) => {
    const fields = isRecord(input) ? inputFields.get(input.type) : undefined;
    return below([i], unknownIn(input, fields, strictness));
  });

/** Finds unknown fields of an object; of anything else, and where none are known, there are none. */
export function unknownIn(
  value: unknown,
  known: readonly string[] | undefined,
  strictness: Strictness,
): ConfigProblem[] {
  if (!known || !isRecord(value)) return [];
  return Object.keys(value).flatMap((field) => {
    if (known.includes(field)) return [];
    const meant = nearestWord(field, known);
    if (meant === undefined && strictness === "foreign") return [];
    return [{
      path: [field],
      text: meant === undefined
        ? `unknown field; remove it, or use one of ${known.join(", ")}`
        : `unknown field; did you mean "${meant}"?`,
    }];
  });
}

/** Puts problems below a path. */
export const below = (
  path: ConfigPath,
  problems: readonly ConfigProblem[],
): ConfigProblem[] =>
  problems.map((problem) => ({ ...problem, path: [...path, ...problem.path] }));

/**
 * The places of the fields of a converted value in its source, relative to the value. The longest
 * path that leads to a field counts; a field without one is at the same place in both.
 */
export type SourceMap = readonly (readonly [
  field: ConfigPath,
  source: ConfigPath,
])[];

/** Returns the place of a field in the source. */
export function sourcePath(map: SourceMap, field: ConfigPath): ConfigPath {
  const [nearest] = map
    .filter(([path]) => path.every((key, i) => key === field[i]))
    .toSorted(([a], [b]) => b.length - a.length);
  if (!nearest) return field;
  const [path, source] = nearest;
  return [...source, ...field.slice(path.length)];
}
