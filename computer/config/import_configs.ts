import { basename, posix, win32 } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { bundleIdOf, type ComputerConfig } from "./config.ts";
import { redactConfig } from "./redact.ts";
import { ENVIRONMENT_ID, splitPlaceholders } from "../util/inputs.ts";
import { REDACTED } from "../util/secrets.ts";
import { isRecord } from "../util/values.ts";
import {
  type MCPServerConfig,
  type MCPServerInput,
  parseMCPServerConfig,
} from "../../protocol/mod.ts";

/** The machine whose files are looked for. */
export interface Machine {
  /** A value of `process.platform`. */
  readonly platform: string;
  /** The user's home directory. */
  readonly home: string;
  /** The current directory, which may be a project. */
  readonly directory: string;
  /** The environment. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** A file in which a program keeps its MCP servers. */
export interface KnownFile {
  /** The program's name, for display. */
  readonly program: string;
  /** Appended to names that clash. */
  readonly suffix: string;
  /** Its path; there may be no such file. */
  readonly file: string;
}

/** Lists where Claude Desktop, Cursor, VS Code and Windsurf keep MCP servers; the project's files first. */
export function knownFiles(
  { platform, home, directory, env }: Machine,
): KnownFile[] {
  const { join } = platform === "win32" ? win32 : posix;
  const settings = settingsDirectory(platform, home, env, join);
  const files: [program: string, suffix: string, file: string][] = [
    ["VS Code (this project)", "vscode", join(directory, ".vscode/mcp.json")],
    ["Cursor (this project)", "cursor", join(directory, ".cursor/mcp.json")],
    [
      "Claude Desktop",
      "claude",
      join(settings, "Claude", "claude_desktop_config.json"),
    ],
    ["Cursor", "cursor", join(home, ".cursor", "mcp.json")],
    ["VS Code", "vscode", join(settings, "Code", "User", "mcp.json")],
    [
      "Windsurf",
      "windsurf",
      join(home, ".codeium", "windsurf", "mcp_config.json"),
    ],
  ];
  return files.filter(([, , file], i) =>
    files.findIndex(([, , other]) => other === file) === i // the project may be the home directory
  ).map(([program, suffix, file]) => ({ program, suffix, file }));
}

function settingsDirectory(
  platform: string,
  home: string,
  env: Machine["env"],
  join: (...parts: string[]) => string,
): string {
  switch (platform) {
    case "darwin":
      return join(home, "Library", "Application Support");
    case "win32":
      return env.APPDATA || join(home, "AppData", "Roaming");
    default:
      return env.XDG_CONFIG_HOME || join(home, ".config");
  }
}

/** A configuration to merge. */
export interface ForeignConfig {
  /** Appended to names that another configuration also uses. */
  readonly suffix: string;
  /** The configuration. */
  readonly config: ComputerConfig<MCPServerConfig>;
}

/** The result of a merge. */
export interface MergedConfig {
  /** The merged configuration. */
  readonly config: ComputerConfig<MCPServerConfig>;
  /** For each configuration, the new names of its MCP servers by their old names. */
  readonly names: readonly ReadonlyMap<string, string>[];
}

/**
 * Merges configurations. Equal entries are kept once; different ones with the same name get the
 * configuration's suffix. Of inputs for the same environment variable the first wins: renamed, it
 * would no longer find its variable.
 */
export function mergeConfigs(
  configs: readonly ForeignConfig[],
): MergedConfig {
  const inputs = new Map<string, MCPServerInput>();
  const servers = new Map<string, MCPServerConfig>();
  const names = configs.map(({ suffix, config }) => {
    const ids = new Map(config.inputs.map((input) => {
      if (input.id.startsWith(ENVIRONMENT_ID) && inputs.has(input.id)) {
        return [input.id, input.id];
      }
      const id = place(inputs, input.id, suffix, (id) => ({ ...input, id }));
      return [input.id, id];
    }));
    return new Map(config.servers.map((server) => {
      const own = renamePlaceholders(server, ids);
      const name = place(
        servers,
        server.name,
        suffix,
        (name) => ({ ...own, name }),
      );
      return [server.name, name];
    }));
  });
  return {
    config: { inputs: [...inputs.values()], servers: [...servers.values()] },
    names,
  };
}

/** Stores an item under the first name that is free or holds an equal item; returns the name. */
function place<T>(
  taken: Map<string, T>,
  name: string,
  suffix: string,
  make: (name: string) => T,
): string {
  for (let attempt = 0;; attempt++) {
    const wanted = attempt === 0
      ? name
      : attempt === 1
      ? `${name}-${suffix}`
      : `${name}-${suffix}-${attempt}`;
    const item = make(wanted);
    const holder = taken.get(wanted);
    if (holder !== undefined && !isDeepStrictEqual(holder, item)) continue;
    taken.set(wanted, item);
    return wanted;
  }
}

function renamePlaceholders<T extends MCPServerConfig>(
  server: T,
  ids: ReadonlyMap<string, string>,
): T {
  const server_parameters = rename(server.server_parameters, ids);
  return { ...server, server_parameters };
}

function rename<T>(value: T, ids: ReadonlyMap<string, string>): T;
function rename(value: unknown, ids: ReadonlyMap<string, string>): unknown {
  if (typeof value === "string") {
    return splitPlaceholders(value).map((part) =>
      part.kind === "text"
        ? part.text
        : `\${input:${ids.get(part.id) ?? part.id}}`
    ).join("");
  }
  if (Array.isArray(value)) return value.map((item) => rename(item, ids));
  return isRecord(value)
    ? Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, rename(item, ids)]),
    )
    : value;
}

/** Programs that run another program, named in their arguments. */
const RUNNERS =
  /^(npx|bunx|uvx|pipx|uv|pnpm|yarn|npm|bun|deno|node|python[\d.]*|ruby|java|docker|podman)$/i;
/** Subcommands of runners, before the program's name. */
const RUNNER_SUBCOMMANDS: ReadonlySet<string> = new Set([
  "run",
  "exec",
  "dlx",
  "tool",
  "x",
]);
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
  const prefixed = [...programs].flatMap(([program, group]) =>
    program === undefined || group.length < 2 ? [] : group
  ).filter(({ tool_prefix }) => (tool_prefix ?? null) === null)
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
    !arg.startsWith("-") && !RUNNER_SUBCOMMANDS.has(arg) &&
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
  const taken = new Set<string>();
  const identified: string[] = [];
  const distinct = servers.map((server, i) => {
    const id = ids[i] ?? "";
    if (!taken.has(id)) {
      taken.add(id);
      return server;
    }
    const bundle_id = firstFree(id, new Set([...ids, ...taken]));
    taken.add(bundle_id);
    identified.push(server.name);
    return { ...server, bundle_id };
  });
  return { servers: distinct, identified };
}

function firstFree(id: string, taken: ReadonlySet<string>): string {
  for (let i = 2;; i++) {
    if (!taken.has(`${id}-${i}`)) return `${id}-${i}`;
  }
}

/** Converts a configuration to the form that people write: without default values. */
export function toOwnFormat(
  { inputs, servers }: ComputerConfig<MCPServerConfig>,
): Record<string, unknown> {
  return {
    ...(inputs.length > 0 && { inputs }),
    servers: Object.fromEntries(
      servers.map((server) => [server.name, sparse(server)]),
    ),
  };
}

function sparse(
  { name: _, type, server_parameters, ...rest }: MCPServerConfig,
): Record<string, unknown> {
  const needed = "url" in server_parameters
    ? { url: server_parameters.url }
    : { command: server_parameters.command };
  const defaults = parseMCPServerConfig({
    name: "any",
    type,
    server_parameters: needed,
  });
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

/** Lists the paths of literal values that are redacted for Agents, such as `env.GITHUB_TOKEN` (spec §7). */
export function hiddenValues(server: MCPServerConfig): string[] {
  const shown = redactConfig([server], []).servers[server.name];
  return places(shown?.server_parameters, server.server_parameters, []);
}

function places(
  shown: unknown,
  value: unknown,
  path: readonly string[],
): string[] {
  if (typeof shown === "string") {
    return shown.includes(REDACTED) && !isScheme(`${value}`)
      ? [path.join(".")]
      : [];
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
