/**
 * The commands `call` and `put`: arguments are read by the tool's schema, progress is shown on stderr,
 * and Ctrl-C cancels.
 *
 * @module
 */
import process from "node:process";
import { readFile, stat } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { print, printContent, printError, printJson } from "../../cli/print.ts";
import type { SmcpAgent } from "../agent.ts";
import {
  atComputer,
  type ComputerFlags,
  noComputer,
  officeTools,
  waitingFor,
  withAgent,
} from "./office.ts";
import { ambiguity, offering, suggestTool } from "../tools.ts";
import { UsageError } from "../../cli/run.ts";
import { isRecord } from "../../protocol/names.ts";
import { plain, progressText } from "../../cli/terminal_text.ts";
import {
  type CallToolResult,
  resultMeta,
  type SMCPTool,
  type ToolProgress,
  waitedFor,
  type Waiting,
} from "../../protocol/mod.ts";

/** Flags of `call`. */
interface CallFlags extends ComputerFlags {
  /** Arguments by name, as written. */
  arg: [string, string][];
  /** All arguments as JSON, or its source: `@FILE`, or `-` for stdin. */
  params?: string;
  /** Seconds. */
  timeout: number;
  /** Seconds. */
  confirmationTimeout: number;
}

/** Calls a tool and prints its result; the exit code is 1 if the tool fails. */
export async function call(tool: string, flags: CallFlags): Promise<void> {
  const { params: source } = flags;
  const given = source === undefined ? undefined : await readParams(source);
  let suggestion = "";
  const result = await withAgent(flags, async (agent, signal) => {
    const found = await find(agent, tool, flags, signal);
    const { computer, name, listed } = found;
    suggestion = found.suggestion;
    const params = given ?? readPairs(flags.arg, listed);
    let progress = "";
    const follow = (to: ToolProgress) => {
      const text = plain(progressText(to));
      progress = text === "" ? "" : `${text}  `;
      if (to.waiting && !process.stderr.isTTY) printError(text);
    };
    const what = `calling ${plain(tool)} on ${plain(computer)}`;
    return await waitingFor(
      () => `${progress}${what} (Ctrl-C cancels)`,
      agent.callTool(computer, name, params, {
        timeoutMs: flags.timeout * 1000,
        confirmationTimeoutMs: flags.confirmationTimeout * 1000,
        signal,
        onProgress: follow,
      }),
    );
  });
  if (flags.json) printJson(result);
  else printResult(result);
  if (result.isError) throw failure(tool, result, suggestion);
}

async function readParams(source: string): Promise<Record<string, unknown>> {
  const json = source === "-"
    ? await text(process.stdin)
    : source.startsWith("@")
    ? await readFile(source.slice(1), "utf8")
      .catch((error) => unreadable(`--params ${source}`, error))
    : source;
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    throw new UsageError(`--params is not JSON${describePlace(json, error)}`);
  }
  if (isRecord(value)) return value;
  throw new UsageError(
    `--params is no JSON object; write one such as '{"path": "."}'`,
  );
}

function readPairs(
  pairs: CallFlags["arg"],
  tool: SMCPTool | undefined,
): Record<string, unknown> {
  const { params, problems } = readArguments(pairs, tool?.params_schema);
  if (problems.length > 0) throw new UsageError(problems.join("; "));
  return params;
}

/** The tool that is called. */
interface CalledTool {
  readonly computer: string;
  readonly name: string;
  /** The tool, if its Computer lists it. */
  readonly listed: SMCPTool | undefined;
  /** Else the name that may be meant, as {@linkcode suggestTool} writes it. */
  readonly suggestion: string;
}

/**
 * Finds the tool that a name means, whole or without its `bundle_id`; a Computer that was named may
 * have tools that it does not list.
 */
async function find(
  agent: SmcpAgent,
  typed: string,
  flags: ComputerFlags,
  signal: AbortSignal,
): Promise<CalledTool> {
  const { computer } = flags;
  const known = computer === undefined
    ? await officeTools(agent, signal)
    : new Map([[computer, await agent.getTools(computer, { signal })]]);
  if (known.size === 0) throw noComputer(flags);
  const found = offering(known, typed);
  if (found.length > 1) {
    throw new UsageError(ambiguity(typed, found, "--computer"));
  }
  const [only] = found;
  if (only) {
    const { computer, tool } = only;
    return { computer, name: tool.name, listed: tool, suggestion: "" };
  }
  const suggestion = suggestTool(known, typed);
  if (computer !== undefined) {
    return { computer, name: typed, listed: undefined, suggestion };
  }
  throw new Error(
    `no Computer in the office offers the tool "${typed}"; the command "tools" lists what there is${suggestion}`,
  );
}

/** Prints a result: unchanged for programs, without control characters on a terminal. */
function printResult({ content, structuredContent }: CallToolResult): void {
  for (const { type, text, ...rest } of content) {
    printContent(
      typeof text === "string" ? text : `[${type}] ${summary(rest)}`,
    );
  }
  if (content.length === 0 && structuredContent) printJson(structuredContent);
}

const summary = (fields: Record<string, unknown>): string =>
  Object.entries(fields).map(([key, value]) =>
    typeof value === "string" && value.length > 60
      ? `${key}: ${value.length} characters`
      : `${key}: ${JSON.stringify(value)}`
  ).join(", ");

/** Creates the error of a failed tool: the printed result has the reason, but perhaps no remedy. */
function failure(
  tool: string,
  result: CallToolResult,
  suggestion: string,
): Error {
  const { error_code, a2c_timeout } = resultMeta(result);
  const waited = a2c_timeout === true ? waitedFor(result) : undefined;
  const remedy = waited ? UNANSWERED[waited] : REMEDIES[Number(error_code)];
  // Only a tool that is not listed has a suggestion.
  return new Error(
    `the tool "${tool}" failed${
      remedy === undefined ? "" : `; ${remedy}`
    }${suggestion}`,
  );
}

/** Remedies for calls in which a person at the Computer did not answer in time. */
const UNANSWERED: Readonly<Record<Waiting, string>> = {
  confirmation:
    "not confirmed in time: a person at the Computer has to answer its question, or its rules have to allow the call; --confirmation-timeout gives them more time",
  answer:
    "not answered in time: a person at the Computer has to, in its terminal or on its page (--ui)",
};

const REMEDIES: Readonly<Record<number, string>> = {
  4001: 'the command "tools" lists what there is',
  4002: "the Computer's configuration forbids it",
  4004: "give it more time with --timeout",
  4005:
    "a person at the Computer has to allow it, or its rules, which smcp-computer rules lists there",
  4006: "a person at the Computer has to sign in",
  4007: "a person at the Computer has to sign in again",
};

/** Puts a file on a Computer, and prints where it is there. */
export async function put(file: string, flags: ComputerFlags): Promise<void> {
  await check(file);
  const landed = await atComputer(flags, async (agent, computer, signal) => {
    let progress = "";
    const what = `putting ${plain(file)} on ${plain(computer)}`;
    return await waitingFor(
      () => `${progress}${what} (Ctrl-C cancels)`,
      agent.putFile(computer, file, {
        signal,
        onProgress: ({ sent, total }) =>
          progress = `${megabytes(sent)}/${megabytes(total)} MB  `,
      }),
    );
  });
  if (flags.json) printJson(landed);
  else print(plain(landed.path));
}

/** Checks before anything is connected that there is something to put. */
async function check(file: string): Promise<void> {
  const found = await stat(file).catch((error) => unreadable(file, error));
  if (!found.isFile()) throw new UsageError(`${file} is not a file`);
  if (found.size === 0) {
    throw new UsageError(`${file} is empty; there is nothing to put`);
  }
}

function unreadable(source: string, error: NodeJS.ErrnoException): never {
  const isMissing = error.code === "ENOENT";
  const why = isMissing ? "there is no such file" : error.message;
  throw new UsageError(`Cannot read ${source}: ${why}`);
}

const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(1);

/**
 * Converts the `NAME=VALUE` pairs of a command line to the arguments of a tool.
 *
 * Strings, and values without a type in the schema, are taken as written; all others are JSON.
 *
 * @param schema the tool's `params_schema`; absent when the tool is not listed
 * @returns also problems, one sentence each
 */
export function readArguments(
  pairs: readonly (readonly [name: string, value: string])[],
  schema: Readonly<Record<string, unknown>> = {},
): { params: Record<string, unknown>; problems: readonly string[] } {
  const params: Record<string, unknown> = {};
  const problems: string[] = [];
  const properties = asRecord(schema.properties);
  for (const [name, value] of pairs) {
    if (Object.hasOwn(params, name)) {
      problems.push(`argument "${name}" is given twice; write a list as JSON`);
    }
    const types = typesOf(properties[name], schema, 0);
    const read = types.size === 0 || types.has("string")
      ? readText(value, types)
      : readJson(value);
    if (read === undefined || !fits(read.value, types)) {
      const expected = [...types].map((type) => NAMES[type] ?? type);
      const given = JSON.stringify(value);
      problems.push(
        `argument "${name}" is ${given}, expected ${expected.join(" or ")}`,
      );
    } else params[name] = read.value;
  }
  return { params, problems };
}

/** Collects the allowed JSON types, through `$ref`, `anyOf` and the like; empty: any. */
function typesOf(
  property: unknown,
  schema: Readonly<Record<string, unknown>>,
  depth: number,
): Set<string> {
  const { type, enum: values, const: value, $ref, anyOf, oneOf, allOf } =
    asRecord(property);
  if (depth > 8) return new Set();
  if (typeof $ref === "string") {
    return typesOf(lookUp($ref, schema), schema, depth + 1);
  }
  if (typeof type === "string") return new Set([type]);
  if (Array.isArray(type)) return new Set(type.map(String));
  if (value !== undefined) return new Set([jsonType(value)]);
  if (Array.isArray(values)) return new Set(values.map(jsonType));
  for (const choices of [anyOf, oneOf, allOf]) {
    if (!Array.isArray(choices)) continue;
    const sets = choices.map((choice) => typesOf(choice, schema, depth + 1));
    return new Set(sets.flatMap((set) => [...set]));
  }
  return new Set();
}

/** Resolves a reference such as `#/$defs/Size` inside the schema. */
function lookUp(
  reference: string,
  schema: Readonly<Record<string, unknown>>,
): unknown {
  let found: unknown = schema;
  for (const key of reference.replace(/^#\/?/, "").split("/")) {
    found = asRecord(found)[key.replaceAll("~1", "/").replaceAll("~0", "~")];
  }
  return found;
}

/** Reads text, or `null` where the schema allows it. */
const readText = (
  value: string,
  types: ReadonlySet<string>,
): { value: unknown } =>
  value === "null" && types.has("null") ? { value: null } : { value };

function readJson(value: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(value) };
  } catch {
    return undefined;
  }
}

function fits(value: unknown, types: ReadonlySet<string>): boolean {
  const type = jsonType(value);
  return types.size === 0 || types.has(type) ||
    type === "integer" && types.has("number");
}

function jsonType(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value !== "number") return typeof value;
  return Number.isInteger(value) ? "integer" : "number";
}

const NAMES: Readonly<Record<string, string>> = {
  integer: "a whole number",
  number: "a number",
  boolean: "true or false",
  array: "a JSON list",
  object: "a JSON object",
};

const asRecord = (value: unknown): Record<string, unknown> =>
  isRecord(value) ? value : {};

/**
 * Describes where a text stops being JSON, if the error of the parser has the position.
 *
 * This goes by the wording of V8, whose errors have no field for the position.
 */
export function describePlace(json: string, error: unknown): string {
  const [end, position] = /Unexpected end|position (\d+)/.exec(String(error)) ??
    [];
  if (end === undefined) return "";
  if (position === undefined) return ": it ends too early";
  const before = json.slice(0, Number(position)).split("\n");
  const column = (before.at(-1)?.length ?? 0) + 1;
  return `: see line ${before.length}, column ${column}`;
}
