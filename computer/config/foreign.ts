/**
 * Reads the formats of other programs: Claude Desktop, Claude Code, Cursor, Windsurf and VS Code.
 *
 * Each of their MCP servers is converted to our own format, with the variables that those programs
 * know; nothing is validated here, but problems name the fields as they are in the file.
 *
 * @module
 */
import {
  type ConfigPath,
  type ConfigProblem,
  type SourceMap,
  sourcePath,
  unknownIn,
} from "./problem.ts";
import { replaceVariables, type VariableInputs } from "./variable_inputs.ts";
import { isRecord } from "../../protocol/names.ts";
import { present } from "../../shared/checks.ts";

const URL_FIELDS = ["url", "serverUrl", "httpUrl"];
const APPROVED_FIELDS = ["alwaysAllow", "autoApprove"];
const FORBIDDEN_FIELDS = ["forbidden_tools", "disabledTools", "excludeTools"];

/** Fields that restrict something, so that a misspelled one is an error; other unknown fields are ignored. */
const GUARD_FIELDS = [
  ...FORBIDDEN_FIELDS,
  "disabled",
  "tool_meta",
  "default_tool_meta",
  "inherit_env",
  "bundle_id",
];

/** The fields that have the type of an MCP server; the first that is there counts. */
const TYPE_FIELDS = ["type", "transport", "transportType"];

/** Types of MCP servers by their names in other formats, in lower case without `-` and `_`. */
const TYPES: ReadonlyMap<string, "stdio" | "streamable" | "sse"> = new Map([
  ["stdio", "stdio"],
  ["sse", "sse"],
  ["http", "streamable"],
  ["streamable", "streamable"],
  ["streamablehttp", "streamable"],
]);

/** Checks whether an entry has its parameters next to its type, as all formats except ours do. */
export const isForeign = (entry: unknown): boolean =>
  isRecord(entry) && !("server_parameters" in entry) &&
  ["command", ...URL_FIELDS].some((field) => field in entry);

/**
 * Converts one MCP server of `mcpServers`, or of VS Code's `servers`, to our own format.
 *
 * A URL without a type is Streamable HTTP unless its path ends in `/sse`; `transport` and
 * `transportType` are read like `type`. Tools that run without
 * confirmation (`alwaysAllow`, `autoApprove`) get `auto_apply`; disabled tools become forbidden
 * ones, and the client of a sign-in (`oauth`, Cursor's `auth`) is that of ours. `bundle_id`, `disabled`, `tool_meta`, `default_tool_meta`, `forbidden_tools`,
 * `tool_prefix`, `inherit_env` and `vrl` are kept. Fields that only concern the other program are dropped, unless
 * they look like a misspelled field that restricts something.
 *
 * @param variables receives the variables that it uses
 */
export function draftForeign(
  entry: unknown,
  field: "servers" | "mcpServers" | "mcp_servers",
  variables: VariableInputs,
) {
  const source = isRecord(entry) ? entry : {};
  const problems = unknownIn(source, GUARD_FIELDS, "foreign");
  const urlField = URL_FIELDS.find((name) => name in source);
  const client = readClient(source);
  const type = readType(source, urlField, problems);
  if ("envFile" in source) {
    const text = "envFile is not supported; move the variables to env";
    problems.push({ path: ["envFile"], text });
  }
  const { command, args, env, inherit_env, cwd, headers } = source;
  const raw = present(
    type === "stdio"
      ? { command, args, env: readEnv(env), inherit_env, cwd }
      : { url: urlField && source[urlField], headers, oauth: client?.oauth },
  );
  const isVsCode = field === "servers";
  const { value, unknown } = replaceVariables(raw, variables, !isVsCode);
  const sources = parameterSources(urlField, client);
  // In other formats an unknown variable may be meant for a shell; in VS Code's it cannot.
  for (const { path, variable } of isVsCode ? unknown : []) {
    problems.push({
      path: sourcePath(sources, ["server_parameters", ...path]),
      text:
        `${variable} is not supported here; write its value, or use \${env:NAME} or \${input:ID}`,
    });
  }
  const { bundle_id, disabled, tool_prefix, vrl } = source;
  const forbidden_tools = FORBIDDEN_FIELDS.flatMap((name) =>
    names(source, name, problems)
  );
  return {
    /** The MCP server in our own format without its name, not validated. */
    entry: present({
      type,
      server_parameters: value,
      bundle_id,
      disabled,
      tool_prefix,
      vrl,
      ...approvals(source, problems),
      forbidden_tools,
    }),
    /** Its `server_parameters` with the variables of the other format. */
    raw,
    /** The places of the fields of `entry` in the other format. */
    sources,
    /** Problems of the conversion, with paths below the server. */
    problems,
  };
}

function readType(
  source: Record<string, unknown>,
  urlField: string | undefined,
  problems: ConfigProblem[],
): "stdio" | "streamable" | "sse" {
  const field = TYPE_FIELDS.find((name) => (source[name] ?? null) !== null);
  if (field !== undefined) {
    const word = `${source[field]}`.toLowerCase().replaceAll(/[-_]/g, "");
    const known = TYPES.get(word);
    if (known) return known;
    const text = 'expected "stdio", "http" or "sse"';
    problems.push({ path: [field], text });
  }
  if (urlField === undefined || "command" in source) return "stdio";
  return /\/sse\/?([?#]|$)/.test(`${source[urlField]}`) ? "sse" : "streamable";
}

/** Normalizes numbers, and null for a variable that is to be unset, which VS Code allows. */
function readEnv(env: unknown): unknown {
  if (!isRecord(env)) return env;
  const set = Object.entries(env).filter(([, value]) => value !== null);
  return Object.fromEntries(set.map(
    ([name, value]) => [name, typeof value === "number" ? `${value}` : value],
  ));
}

function approvals(
  source: Record<string, unknown>,
  problems: ConfigProblem[],
): Record<string, unknown> {
  const meta = isRecord(source.tool_meta) ? source.tool_meta : {};
  const { default_tool_meta } = source;
  const approved = APPROVED_FIELDS.flatMap((name) =>
    source[name] === true ? ["*"] : names(source, name, problems)
  );
  const tools = approved.filter((tool) => tool !== "*").map((tool) => {
    const own = meta[tool];
    return [tool, { auto_apply: true, ...isRecord(own) && own }];
  });
  return {
    tool_meta: tools.length === 0
      ? source.tool_meta
      : { ...meta, ...Object.fromEntries(tools) },
    default_tool_meta: approved.includes("*")
      ? {
        ...isRecord(default_tool_meta) && default_tool_meta,
        auto_apply: true,
      }
      : default_tool_meta,
  };
}

function names(
  source: Record<string, unknown>,
  field: string,
  problems: ConfigProblem[],
): string[] {
  const value = source[field];
  if (value === undefined || value === null || value === false) return [];
  if (Array.isArray(value) && value.every((item) => typeof item === "string")) {
    return value;
  }
  problems.push({ path: [field], text: "expected a list of tool names" });
  return [];
}

/** Where files of other programs have the client of a sign-in, and how they spell its fields. */
const CLIENT_FIELDS: readonly [place: string, field: string, ours: string][] = [
  // Claude Code, Gemini CLI, VS Code
  ["oauth", "clientId", "client_id"],
  ["oauth", "clientSecret", "client_secret"],
  ["oauth", "callbackPort", "callback_port"],
  ["oauth", "scopes", "scopes"],
  // Cursor
  ["auth", "CLIENT_ID", "client_id"],
  ["auth", "CLIENT_SECRET", "client_secret"],
  ["auth", "scopes", "scopes"],
];

/** The client of a sign-in in our own format. */
interface ForeignClient {
  readonly oauth: Readonly<Record<string, unknown>>;
  /** The place of each of its fields in the file. */
  readonly places: Readonly<Record<string, ConfigPath>>;
}

/** Reads the client as which another program signs in; undefined where it registers one. */
function readClient(
  source: Record<string, unknown>,
): ForeignClient | undefined {
  const oauth: Record<string, unknown> = {};
  const places: Record<string, ConfigPath> = {};
  for (const [place, field, ours] of CLIENT_FIELDS) {
    const value = isRecord(source[place]) ? source[place][field] : undefined;
    if (value === undefined || value === null || value === "") continue;
    // Claude Code has one text.
    oauth[ours] = ours === "scopes" && typeof value === "string"
      ? value.split(" ").filter(Boolean)
      : value;
    places[ours] = [place, field];
  }
  return Object.keys(oauth).length === 0 ? undefined : { oauth, places };
}

/** Lists the places of the fields of `server_parameters` in another format, which has them beside the type. */
const parameterSources = (
  urlField: string | undefined,
  client: ForeignClient | undefined,
): SourceMap => [
  [["server_parameters"], []],
  ...(urlField === undefined
    ? []
    : [[["server_parameters", "url"], [urlField]] as const]),
  ...(client ? [[["server_parameters", "oauth"], []] as const] : []),
  ...Object.entries(client?.places ?? {}).map(([field, place]) =>
    [["server_parameters", "oauth", field], place] as const
  ),
];

/**
 * Converts VS Code's inputs to our own format.
 *
 * An input of type `command` runs a command of the editor, which is not available here; its value
 * comes from the user, `--input` or the environment instead.
 */
export const draftVsCodeInputs = (inputs: unknown): unknown =>
  Array.isArray(inputs) ? inputs.map(draftInput) : inputs;

function draftInput(input: unknown): unknown {
  if (!isRecord(input)) return input;
  const { id, type, command, options } = input;
  const described = { description: `${id}`, ...input };
  if (type === "command") {
    return {
      type: "promptString",
      id,
      description: `The result of VS Code's command ${command}`,
      password: true,
    };
  }
  return type === "pickString" && Array.isArray(options)
    ? { ...described, options: options.map(optionValue) }
    : described;
}

/** Returns the value of an option, which may be an object with a label. */
const optionValue = (option: unknown): unknown =>
  isRecord(option) && "value" in option ? option.value : option;
