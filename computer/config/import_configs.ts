/**
 * How `import` makes one configuration of those of other programs: where they are, and how clashing
 * names, ids and tools stay distinct.
 *
 * @module
 */
import type process from "node:process";
import { basename, posix, win32 } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { bundleIdOf, type ComputerConfig, mapTexts } from "./config.ts";
import { redactConfig } from "./redact.ts";
import {
  environmentId,
  environmentVariable,
  inputVariables,
  splitPlaceholders,
} from "../util/inputs.ts";
import {
  isSecretName,
  oauthOf,
  REDACTED,
  redactValue,
  replaceSecrets,
  urlCredentials,
} from "../util/secrets.ts";
import {
  type MCPServerConfig,
  type MCPServerInput,
  parseMCPServerConfig,
} from "../../protocol/mod.ts";

/** A file in which a program keeps its MCP servers. */
export interface KnownFile {
  /** The program's name, for display. */
  readonly program: string;
  /** Appended to names that clash. */
  readonly suffix: string;
  /** Its path; there may be no such file. */
  readonly file: string;
}

/**
 * Lists where Claude Code, Claude Desktop, Codex, Cursor, VS Code and Windsurf keep MCP servers; the
 * project's files first.
 *
 * @param machine the machine whose files are looked for: a value of `process.platform`, the user's home
 * directory, the current directory, which may be a project, and the environment
 */
export function knownFiles(
  { env, platform, home, directory }:
    & Pick<typeof process, "env">
    & Readonly<Record<"platform" | "home" | "directory", string>>,
): KnownFile[] {
  const { join } = platform === "win32" ? win32 : posix;
  const settings = platform === "darwin"
    ? join(home, "Library", "Application Support")
    : platform === "win32"
    ? env.APPDATA || join(home, "AppData", "Roaming")
    : env.XDG_CONFIG_HOME || join(home, ".config");
  const files: [program: string, suffix: string, ...path: string[]][] = [
    ["VS Code (this project)", "vscode", directory, ".vscode/mcp.json"],
    ["Cursor (this project)", "cursor", directory, ".cursor/mcp.json"],
    ["Claude Code (this project)", "claude-code", directory, ".mcp.json"],
    ["Claude Code", "claude-code", home, ".claude.json"],
    ["Claude Desktop", "claude", settings, "Claude/claude_desktop_config.json"],
    ["Codex", "codex", env.CODEX_HOME || join(home, ".codex"), "config.toml"],
    ["Cursor", "cursor", home, ".cursor/mcp.json"],
    ["VS Code", "vscode", settings, "Code/User/mcp.json"],
    ["Windsurf", "windsurf", home, ".codeium/windsurf/mcp_config.json"],
  ];
  const paths = files.map(([, , ...path]) => join(...path));
  return files.map(([program, suffix], i) => ({
    program,
    suffix,
    file: paths[i] ?? "",
  })).filter(({ file }, i) => paths.indexOf(file) === i); // the project may be the home directory
}

/** A configuration to merge. */
export interface ForeignConfig {
  /** Appended to names that another configuration also uses. */
  readonly suffix: string;
  /** The configuration. */
  readonly config: ComputerConfig<MCPServerConfig>;
}

/**
 * Merges configurations. Equal entries are kept once; different ones with the same name get the
 * configuration's suffix. Inputs for the same environment variable get a number if their defaults
 * differ: with a suffix, they would no longer find their variable.
 */
export function mergeConfigs(configs: readonly ForeignConfig[]) {
  const inputs = new Map<string, MCPServerInput>();
  const servers = new Map<string, MCPServerConfig>();
  const names = configs.map(({ suffix, config }) => {
    const ids = new Map(config.inputs.map((input) => {
      const { id } = input;
      const variable = environmentVariable(id);
      const make = (id: string) => ({ ...input, id });
      return [
        id,
        variable === undefined
          ? place(inputs, suffixed(id, suffix), make)
          : place(inputs, numbered(variable), make, hasDefault),
      ];
    }));
    return new Map(config.servers.map((server) => {
      const own = rename(server, ids);
      const { name } = server;
      const make = (name: string) => ({ ...own, name });
      return [name, place(servers, suffixed(name, suffix), make)];
    }));
  });
  return {
    config: { inputs: [...inputs.values()], servers: [...servers.values()] },
    /** For each configuration, the new names of its MCP servers by their old names. */
    names,
  };
}

/** The name of an item at an attempt, from 0 on, to find one that is free. */
type NameAt = (attempt: number) => string;

const suffixed = (name: string, suffix: string): NameAt => (attempt) =>
  [name, `${name}-${suffix}`][attempt] ?? `${name}-${suffix}-${attempt}`;

const numbered = (variable: string): NameAt => (attempt) =>
  environmentId(variable, attempt + 1);

/** Stores an item under the first name that is free or holds the same item; returns the name. */
function place<T>(
  taken: Map<string, T>,
  nameAt: NameAt,
  make: (name: string) => T,
  isSame: (holder: T, item: T) => boolean = isDeepStrictEqual,
): string {
  for (let attempt = 0;; attempt++) {
    const name = nameAt(attempt);
    const item = make(name);
    const holder = taken.get(name);
    if (holder !== undefined && !isSame(holder, item)) continue;
    taken.set(name, holder ?? item);
    return name;
  }
}

/** Whether an input has the default of another one, which may have none. */
const hasDefault = (holder: MCPServerInput, item: MCPServerInput): boolean =>
  item.type === "command" || (item.default ?? null) === null ||
  holder.type !== "command" && holder.default === item.default;

function rename<T extends MCPServerConfig>(
  server: T,
  ids: ReadonlyMap<string, string>,
): T {
  const renamed = mapTexts(
    server.server_parameters,
    (text) =>
      splitPlaceholders(text).map((part) =>
        part.kind === "text"
          ? part.text
          : `\${input:${ids.get(part.id) ?? part.id}}`
      ).join(""),
  );
  return { ...server, server_parameters: renamed as T["server_parameters"] };
}

/** Programs that run another program, named in their arguments. */
const RUNNERS =
  /^(npx|bunx|uvx|pipx|uv|pnpm|yarn|npm|bun|deno|node|python[\d.]*|ruby|java|docker|podman)$/i;
/** Subcommands of runners, before the program's name. */
const RUNNER_SUBCOMMANDS = /^(run|exec|dlx|tool|x)$/;
/** Options of runners that are followed by their value. */
const OPTIONS_WITH_VALUE =
  /^(-e|--env|--env-file|-v|--volume|--mount|-p|--publish|--name|--network|-w|--workdir|-u|--user|--with|--from|--python|--directory|--project|--package|--config)$/;

/** Sets `tool_prefix: "auto"` for MCP servers that run the same program, since their tools' names clash. */
export function prefixSamePrograms(
  servers: readonly MCPServerConfig[],
): { servers: MCPServerConfig[]; prefixed: string[] } {
  const programs = Map.groupBy(
    servers.filter(({ disabled }) => !disabled),
    programOf,
  );
  programs.delete(undefined);
  const prefixed = [...programs.values()].filter((group) => group.length > 1)
    .flat().filter(({ tool_prefix }) => (tool_prefix ?? null) === null)
    .map(({ name }) => name);
  return {
    prefixed,
    servers: servers.map((server) =>
      prefixed.includes(server.name)
        ? { ...server, tool_prefix: "auto" }
        : server
    ),
  };
}

/** Returns a text that is equal for MCP servers with the same tools; undefined if that is unknown. */
export function programOf(
  { type, server_parameters }: MCPServerConfig,
): string | undefined {
  if (type !== "stdio") return server_parameters.url.replace(/[?#][^]*$/, "");
  const { command, args } = server_parameters;
  const program = basename(command).replace(/\.(exe|cmd|bat)$/i, "");
  if (/^(sh|bash|zsh|cmd|powershell|pwsh)$/i.test(program)) return undefined;
  if (!RUNNERS.test(program)) return command;
  const named = args.find((arg, i) =>
    !arg.startsWith("-") && !RUNNER_SUBCOMMANDS.test(arg) &&
    !OPTIONS_WITH_VALUE.test(args[i - 1] ?? "")
  );
  // Without the version: other versions have mostly the same tools.
  return named?.replace(/(?<=.)@[^@/]*$/, "");
}

/** Gives a `bundle_id` to each MCP server that another one before it would keep from starting. */
export function distinctIds(
  servers: readonly MCPServerConfig[],
): { servers: MCPServerConfig[]; identified: string[] } {
  const ids = servers.map(bundleIdOf);
  const all = new Set(ids);
  const identified: string[] = [];
  const distinct = servers.map((server, i) => {
    const id = bundleIdOf(server);
    if (ids.indexOf(id) === i) return server;
    let number = 2;
    while (all.has(`${id}-${number}`)) number++;
    const bundle_id = `${id}-${number}`;
    all.add(bundle_id);
    identified.push(server.name);
    return { ...server, bundle_id };
  });
  return { servers: distinct, identified };
}

/** Converts a configuration to the form that people write: without default values. */
export function toOwnFormat(
  { inputs, servers }: ComputerConfig<MCPServerConfig>,
): Record<string, unknown> {
  const entries = servers.map((server) => [server.name, sparse(server)]);
  return {
    ...(inputs.length > 0 && { inputs }),
    servers: Object.fromEntries(entries),
  };
}

function sparse(
  { name: _, type, server_parameters, ...rest }: MCPServerConfig,
): Record<string, unknown> {
  const needed = "url" in server_parameters
    ? { url: server_parameters.url }
    : { command: server_parameters.command };
  const least = { name: "any", type, server_parameters: needed };
  const defaults = parseMCPServerConfig(least);
  return {
    type,
    server_parameters: {
      ...needed,
      ...differing({ ...server_parameters }, { ...defaults.server_parameters }),
    },
    ...differing({ ...rest }, { ...defaults }),
  };
}

const differing = (
  value: Record<string, unknown>,
  defaults: Record<string, unknown>,
): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(value).filter(([key, item]) =>
      !isDeepStrictEqual(item, defaults[key])
    ),
  );

/**
 * Replaces secrets in the clear by inputs: one for each value, wherever it is used, in variables,
 * headers, arguments, URLs and clients of sign-ins. The kind of credentials in a header stays, such as
 * `Bearer`.
 */
export function askSecrets(
  { inputs, servers }: ComputerConfig<MCPServerConfig>,
): ComputerConfig<MCPServerConfig> {
  const secrets = new SecretInputs(inputs);
  const replaced = servers.map((server) => {
    const ask = (text: string, name: string) => {
      const [scheme = ""] = /^(basic|bearer|token)\s+/i.exec(text) ?? [];
      const secret = text.slice(scheme.length);
      const isLiteral = splitPlaceholders(secret)
        .every(({ kind }) => kind === "text");
      return isLiteral
        ? `${scheme}\${input:${secrets.idOf(secret, server.name, name)}}`
        : text;
    };
    const asked = mapTexts(
      server.server_parameters,
      (text, [field, name = ""]) =>
        NAMED_FIELDS.includes(`${field}`) && isSecret(`${name}`, text)
          ? ask(text, `${name}`)
          : text,
    );
    const server_parameters = {
      ...Object(asked),
      ...replaceSecrets(server.server_parameters, ask),
    };
    return { ...server, server_parameters } as MCPServerConfig;
  });
  return { inputs: [...inputs, ...secrets.inputs.values()], servers: replaced };
}

/** Fields of an MCP server whose values have names. */
const NAMED_FIELDS = ["env", "headers", "oauth"];

const isSecret = (name: string, text: string): boolean =>
  text !== "" &&
  (isSecretName(name) || urlCredentials({ [name]: text }).length > 0);

/** The inputs that replace secrets. */
class SecretInputs {
  /** Variables of the environment that belong to an input. */
  readonly #taken: Set<string>;
  /** By the secret. */
  readonly inputs = new Map<string, MCPServerInput>();

  constructor(inputs: readonly MCPServerInput[]) {
    this.#taken = new Set(inputs.flatMap(({ id }) => inputVariables(id)));
  }

  /** Returns the id of the input for a secret, which is defined the first time. */
  idOf(secret: string, server: string, name: string): string {
    const known = this.inputs.get(secret);
    if (known !== undefined) return known.id;
    const id = this.#freeId(server, name);
    inputVariables(id).forEach((variable) => this.#taken.add(variable));
    const description = `${name} of the MCP server ${server}`;
    this.inputs.set(secret, {
      type: "promptString",
      id,
      description,
      password: true,
    });
    return id;
  }

  /** Returns an id whose variables of the environment no other input has. */
  #freeId(server: string, name: string): string {
    const candidate = (number: number) =>
      number === 0
        ? name
        : `${server}-${name}${number === 1 ? "" : `-${number}`}`;
    for (let number = 0;; number++) {
      const id = candidate(number).replaceAll(/[^\w.-]/g, "_");
      const variables = inputVariables(id);
      if (variables.every((one) => !this.#taken.has(one))) return id;
    }
  }
}

/** Lists the paths of literal values that are redacted for Agents, such as `env.GITHUB_TOKEN` (protocol §7). */
export function hiddenValues(server: MCPServerConfig): string[] {
  const { server_parameters } = server;
  const shown = redactConfig([server], []).servers[server.name];
  const { client_secret } = oauthOf(server) ?? {};
  return [
    ...places(shown?.server_parameters, server_parameters, []),
    ...places(redactValue(client_secret ?? ""), client_secret, [
      "oauth",
      "client_secret",
    ]),
  ];
}

function places(
  shown: unknown,
  value: unknown,
  path: readonly string[],
): string[] {
  if (typeof shown === "string") {
    const isHidden = shown.includes(REDACTED) && !isScheme(`${value}`);
    return isHidden ? [path.join(".")] : [];
  }
  return Object.entries(Object(shown)).flatMap(([key, item]) =>
    places(item, Object(value)[key], [...path, key])
  );
}

/** Matches the literal text before the placeholder in `Bearer ${input:token}`, also after a header's name. */
const SCHEME = /^([\w-]+:\s*)?(basic|bearer|token|api-?key)\s+$/i;

/** Returns whether the only literal text of a value is how HTTP names the kind of credentials. */
function isScheme(value: string): boolean {
  const [first, second, ...rest] = splitPlaceholders(value);
  return first?.kind === "text" && SCHEME.test(first.text) &&
    second?.kind === "placeholder" && rest.length === 0;
}
