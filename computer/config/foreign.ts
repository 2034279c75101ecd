/**
 * Reads the formats of other programs: Claude Desktop, Claude Code, Cursor, Windsurf and VS Code.
 *
 * Each of their MCP servers is converted to our own format, with the variables that those programs
 * know; nothing is validated here, but problems name the fields as they are in the file.
 *
 * @module
 */
import { mapTexts } from "./config.ts";
import {
  type ConfigPath,
  type ConfigProblem,
  misspelledGuards,
} from "./problem.ts";
import { ENVIRONMENT_ID } from "../util/inputs.ts";
import { isRecord } from "../util/values.ts";
import type { MCPServerPromptStringInput } from "../../protocol/mod.ts";

/** An MCP server of another program's configuration, converted to our own format. */
interface ForeignDraft {
  /** Without the name; not validated. */
  readonly entry: Record<string, unknown>;
  /** Its `server_parameters` with their variables. */
  readonly raw: Record<string, unknown>;
  /** Maps the path of a field of `entry` to its path in the other format. */
  readonly pathOf: (field: ConfigPath) => ConfigPath;
  /** The environment variables that it uses, as inputs. */
  readonly inputs: readonly MCPServerPromptStringInput[];
  /** What could not be converted; paths are relative to the server. */
  readonly problems: readonly ConfigProblem[];
}

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

/** Types of MCP servers by their names in other formats. */
const TYPES: ReadonlyMap<unknown, "stdio" | "streamable" | "sse"> = new Map([
  ["stdio", "stdio"],
  ["sse", "sse"],
  ["http", "streamable"],
  ["streamable", "streamable"],
  ["streamable-http", "streamable"],
  ["streamableHttp", "streamable"],
]);

/** Checks whether an entry has its parameters next to its type, as all formats except ours do. */
export const isForeign = (entry: unknown): boolean =>
  isRecord(entry) && !("server_parameters" in entry) &&
  ["command", ...URL_FIELDS].some((field) => field in entry);

/**
 * Converts one MCP server of `mcpServers`, or of VS Code's `servers`, to our own format.
 *
 * A URL without a type is Streamable HTTP unless its path ends in `/sse`. Tools that run without
 * confirmation (`alwaysAllow`, `autoApprove`) get `auto_apply`; disabled tools become forbidden
 * ones. `bundle_id`, `disabled`, `tool_meta`, `default_tool_meta`, `forbidden_tools`,
 * `tool_prefix`, `inherit_env` and `vrl` are kept. Fields that only concern the other program are dropped, unless
 * they look like a misspelled field that restricts something.
 */
export function draftForeign(
  entry: unknown,
  field: "servers" | "mcpServers",
  context: ForeignContext,
): ForeignDraft {
  const source = isRecord(entry) ? entry : {};
  const problems = misspelledGuards(source, GUARD_FIELDS);
  const urlField = URL_FIELDS.find((name) => name in source);
  const found: FoundVariables = { inputs: [], unknown: [] };
  const variables = { ...context, bare: field === "mcpServers" };
  const expand = (name: string, value = source[name]): unknown =>
    expandVariables(value, variables, found, [name]);
  const type = typeOf(source, urlField, problems);
  if ("envFile" in source) {
    const text = "envFile is not supported; move the variables to env";
    problems.push({ path: ["envFile"], text });
  }
  const parametersWith = (read: typeof expand) =>
    present(
      type === "stdio"
        ? {
          command: read("command"),
          args: read("args"),
          env: read("env", readEnv(source.env)),
          inherit_env: source.inherit_env,
          cwd: read("cwd"),
        }
        : { url: urlField && read(urlField), headers: read("headers") },
    );
  const server_parameters = parametersWith(expand);
  // In other formats an unknown variable may be meant for a shell; in VS Code's it cannot.
  const unknown = field === "servers" ? found.unknown : [];
  problems.push(...unknown.map(({ path, variable }) => ({
    path,
    text:
      `${variable} is not supported here; write its value, or use \${env:NAME} or \${input:ID}`,
  })));
  return {
    entry: {
      type,
      server_parameters,
      ...present({
        bundle_id: source.bundle_id,
        disabled: source.disabled,
        tool_prefix: source.tool_prefix,
        vrl: source.vrl,
      }),
      ...approvals(source, problems),
      forbidden_tools: FORBIDDEN_FIELDS.flatMap((name) =>
        names(source, name, problems)
      ),
    },
    raw: parametersWith((name, value = source[name]) => value),
    pathOf: (path) => pathIn(path, urlField),
    inputs: found.inputs,
    problems,
  };
}

function typeOf(
  source: Record<string, unknown>,
  urlField: string | undefined,
  problems: ConfigProblem[],
): "stdio" | "streamable" | "sse" {
  const { type } = source;
  if (type !== undefined) {
    const known = TYPES.get(type);
    if (known) return known;
    const text = 'expected "stdio", "http" or "sse"';
    problems.push({ path: ["type"], text });
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
  return present({
    tool_meta: tools.length === 0
      ? source.tool_meta
      : { ...meta, ...Object.fromEntries(tools) },
    default_tool_meta: approved.includes("*")
      ? {
        ...isRecord(default_tool_meta) && default_tool_meta,
        auto_apply: true,
      }
      : default_tool_meta,
  });
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

function pathIn(path: ConfigPath, urlField: string | undefined): ConfigPath {
  const [first, second, ...rest] = path;
  if (first !== "server_parameters") return path;
  if (second === undefined) return [];
  return [second === "url" ? urlField ?? second : second, ...rest];
}

const present = (record: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(record).filter(([, value]) => value !== undefined),
  );

/** The values of variables in other programs' configurations. */
export interface ForeignContext {
  /** Value of `${workspaceFolder}`: the folder that the file belongs to. */
  readonly workspaceFolder: string;
  /** Value of `${userHome}`. */
  readonly userHome: string;
  /** Value of `${pathSeparator}`. */
  readonly pathSeparator: string;
}

/** Collects what is found while variables are replaced. */
interface FoundVariables {
  /** Environment variables as inputs: their values are read when a server starts. */
  readonly inputs: MCPServerPromptStringInput[];
  /** Unsupported variables, including `${` and `}`. */
  readonly unknown: { readonly path: ConfigPath; readonly variable: string }[];
}

const VARIABLE = /\$\{([^}]*)\}/g;

/** What variables stand for, and whether `${NAME}` is one too. */
type VariableContext = ForeignContext & { readonly bare: boolean };

/** `${TOKEN}` and `${TOKEN:-default}` of Claude Code; lower-case names are left to the shell. */
const BARE_NAME = /^([A-Z_][A-Z0-9_]*)(?::-([^]*))?$/;

/**
 * Replaces the variables of VS Code, Cursor and Claude Code in every string of a value.
 *
 * `${env:NAME}` becomes the placeholder `${input:env:NAME}`, so that the value stays out of the
 * configuration, and a missing variable affects only one server.
 *
 * @param found receives what is found
 * @param path of the value
 */
const expandVariables = (
  value: unknown,
  context: VariableContext,
  found: FoundVariables,
  path: ConfigPath,
): unknown =>
  mapTexts(
    value,
    (text, path) =>
      text.replaceAll(VARIABLE, (variable, name: string) => {
        const expanded = expandVariable(name, context, found);
        if (expanded === undefined) found.unknown.push({ path, variable });
        return expanded ?? variable;
      }),
    path,
  );

function expandVariable(
  name: string,
  context: VariableContext,
  { inputs }: FoundVariables,
): string | undefined {
  if (name.startsWith("input:")) return `\${${name}}`;
  const [, bareName, fallback] = context.bare ? BARE_NAME.exec(name) ?? [] : [];
  const variable = name.startsWith("env:") ? name.slice(4) : bareName;
  if (variable === undefined) {
    const { workspaceFolder, userHome, pathSeparator } = context;
    const folders = workspaceFolder.split(/[\\/]/);
    return new Map([
      ["workspaceFolder", workspaceFolder],
      ["workspaceRoot", workspaceFolder],
      [
        "workspaceFolderBasename",
        folders.findLast((part) => part !== "") ?? "",
      ],
      ["userHome", userHome],
      ["pathSeparator", pathSeparator],
      ["/", pathSeparator],
    ]).get(name);
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
