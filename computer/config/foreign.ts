/**
 * Reads the formats of other programs: Claude Desktop, Claude Code, Cursor, Windsurf and VS Code.
 *
 * Each of their MCP servers is converted to our own format, with the variables that those programs
 * know; nothing is validated here, but problems name the fields as they are in the file.
 *
 * @module
 */
import { mapTexts } from "./config.ts";
import { type ConfigPath, type ConfigProblem, unknownIn } from "./problem.ts";
import { ENVIRONMENT_ID } from "../util/inputs.ts";
import { isRecord } from "../../protocol/names.ts";
import { present } from "../../shared/checks.ts";
import type { MCPServerPromptStringInput } from "../../protocol/mod.ts";

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
 * @returns the entry without the name, not validated; `raw`, its `server_parameters` with their
 * variables; the environment variables that it uses, as inputs; what could not be converted, with
 * paths relative to the server; and what maps the path of a field to that in the other format
 */
export function draftForeign(
  entry: unknown,
  field: "servers" | "mcpServers" | "mcp_servers",
  context: ForeignContext,
) {
  const source = isRecord(entry) ? entry : {};
  const problems = unknownIn(source, GUARD_FIELDS, "foreign");
  const urlField = URL_FIELDS.find((name) => name in source);
  const client = clientOf(source);
  const pathOf = (path: ConfigPath) => pathIn(path, urlField, client);
  const type = typeOf(source, urlField, problems);
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
  const inputs: MCPServerPromptStringInput[] = [];
  const bare = field !== "servers";
  const server_parameters = mapTexts(
    raw,
    (text, path) => {
      if (path[0] === "inherit_env") return text; // the schema refuses any text
      return text.replaceAll(VARIABLE, (variable, name: string) => {
        const expanded = expandVariable(name, bare, context, inputs);
        // In other formats an unknown variable may be meant for a shell; in VS Code's it cannot.
        if (expanded === undefined && !bare) {
          problems.push({
            path: pathOf(["server_parameters", ...path]),
            text:
              `${variable} is not supported here; write its value, or use \${env:NAME} or \${input:ID}`,
          });
        }
        return expanded ?? variable;
      });
    },
  );
  const { bundle_id, disabled, tool_prefix, vrl } = source;
  return {
    entry: present({
      type,
      server_parameters,
      bundle_id,
      disabled,
      tool_prefix,
      vrl,
      ...approvals(source, problems),
      forbidden_tools: FORBIDDEN_FIELDS.flatMap((name) =>
        names(source, name, problems)
      ),
    }),
    raw,
    pathOf,
    inputs,
    problems,
  };
}

function typeOf(
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
function clientOf(source: Record<string, unknown>): ForeignClient | undefined {
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

function pathIn(
  path: ConfigPath,
  urlField: string | undefined,
  client: ForeignClient | undefined,
): ConfigPath {
  const [first, second, ...rest] = path;
  if (first !== "server_parameters") return path;
  if (second === undefined) return [];
  if (second === "oauth" && client) {
    const [field, ...inner] = rest;
    return [...client.places[`${field}`] ?? [], ...inner];
  }
  return [second === "url" ? urlField ?? second : second, ...rest];
}

/** The values of variables in other programs' configurations. */
export interface ForeignContext {
  /** Value of `${workspaceFolder}`: the folder that the file belongs to; undefined: it is asked for. */
  readonly workspaceFolder: string | undefined;
  /** Value of `${userHome}`. */
  readonly userHome: string;
  /** Value of `${pathSeparator}`. */
  readonly pathSeparator: string;
}

/** The variables of VS Code, Cursor and Claude Code. */
const VARIABLE = /\$\{([^}]*)\}/g;

/** The variables of a workspace, and what each is, for people. */
const WORKSPACE: Readonly<Record<string, string>> = {
  workspaceFolder: "The path of the project's folder",
  workspaceRoot: "The path of the project's folder",
  workspaceFolderBasename: "The name of the project's folder",
};

/** `${TOKEN}` and `${TOKEN:-default}` of Claude Code; lower-case names are left to the shell. */
const BARE_NAME = /^([A-Z_][A-Z0-9_]*)(?::-([^]*))?$/;

/**
 * Replaces a variable; `undefined` for an unknown one.
 *
 * `${env:NAME}` becomes the placeholder `${input:env:NAME}`, so that the value stays out of the
 * configuration, and a missing variable affects only one server.
 *
 * @param bare whether `${NAME}` is a variable of the environment, too
 * @param inputs receives the variables of the environment
 */
function expandVariable(
  name: string,
  bare: boolean,
  context: ForeignContext,
  inputs: MCPServerPromptStringInput[],
): string | undefined {
  if (name.startsWith("input:")) return `\${${name}}`;
  const [, bareName, fallback] = bare ? BARE_NAME.exec(name) ?? [] : [];
  const variable = name.startsWith("env:") ? name.slice(4) : bareName;
  if (variable === undefined) {
    const { workspaceFolder, pathSeparator } = context;
    if (workspaceFolder === undefined && Object.hasOwn(WORKSPACE, name)) {
      const id = name === "workspaceRoot" ? "workspaceFolder" : name;
      const description = WORKSPACE[id] ?? "";
      inputs.push({ type: "promptString", id, description });
      return `\${input:${id}}`;
    }
    const folders = workspaceFolder?.split(/[\\/]/) ?? [];
    const known: Readonly<Record<string, string | undefined>> = {
      ...context,
      workspaceRoot: workspaceFolder,
      workspaceFolderBasename: folders.findLast(Boolean) ?? "",
      "/": pathSeparator,
    };
    return Object.hasOwn(known, name) ? known[name] : undefined;
  }
  const id = `${ENVIRONMENT_ID}${variable}`;
  inputs.push({
    type: "promptString",
    id,
    description: `The environment variable ${variable}`,
    password: true,
    ...(fallback !== undefined && { default: fallback }),
  });
  return `\${input:${id}}`;
}

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
