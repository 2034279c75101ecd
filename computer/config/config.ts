/**
 * The configuration of a Computer: its MCP servers and the definitions of their inputs.
 *
 * A server is identified by its `bundle_id`, which is derived where none is written; two
 * configurations are compared by it. How they are read is in `parse_config.ts`.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import {
  type ConfigPath,
  type ConfigProblem,
  explainIssues,
} from "./problem.ts";
import type { Rule } from "../rules/rules.ts";
import { placeholderIds } from "../util/inputs.ts";
import { isRecord } from "../../protocol/names.ts";
import type {
  BaseMCPServerConfig,
  MCPServerConfig,
  MCPServerInput,
} from "../../protocol/mod.ts";
import { baseServerConfigSchema } from "../../protocol/payloads/config_file.ts";
import { ENGLISH } from "../../protocol/schema.ts";
import { nameOnly } from "../../protocol/validation.ts";

/**
 * An MCP server in this process: an `McpServer` or a `Server` of `@modelcontextprotocol/sdk`.
 *
 * It must not be connected already: an instance supports one transport at a time.
 */
export interface InProcessServer {
  /**
   * Connects to a transport.
   *
   * @param transport a `Transport` of the MCP SDK
   */
  connect(transport: object): Promise<void>;
}

/** The configuration of an MCP server in this process; for programs only. */
export interface InProcessServerConfig extends BaseMCPServerConfig {
  /** Discriminates the union. */
  type: "in-process";
  /** The MCP server. */
  server: InProcessServer;
}

/** The configuration of an MCP server: of a type of the protocol, or in this process. */
export type ServerConfig = MCPServerConfig | InProcessServerConfig;

/** The problem of such a configuration in a file, or without a `server`. */
export const FOR_PROGRAMS: ConfigProblem = {
  path: ["type"],
  text:
    '"in-process" is only for programs, which pass the MCP server itself as "server"; in a file, use "stdio", "streamable" (or "http") or "sse"',
};

/** Checks whether an entry is an MCP server in this process. */
export const isInProcess = (
  entry: unknown,
): entry is Record<string, unknown> & { type: "in-process" } =>
  isRecord(entry) && entry.type === "in-process";

/** Parses an entry of type `in-process`, with the problems of its fields. */
export function readInProcess(
  { server, ...entry }: Record<string, unknown>,
): { config?: InProcessServerConfig; problems: ConfigProblem[] } {
  const base = baseServerConfigSchema.safeParse(entry, ENGLISH);
  const problems = explainIssues(base.error?.issues ?? [], entry);
  if (server === undefined) problems.push(FOR_PROGRAMS);
  else if (!isServer(server)) {
    problems.push({
      path: ["server"],
      text:
        "expected an MCP server of @modelcontextprotocol/sdk (an McpServer or a Server), which only a program can pass",
    });
  } else if (base.success) {
    return { config: { ...base.data, type: "in-process", server }, problems };
  }
  return { problems };
}

const isServer = (value: unknown): value is InProcessServer =>
  isRecord(value) && typeof value.connect === "function";

/** Compares two configurations; MCP servers in this process are compared by identity. */
export const sameServerConfig = (
  a: ServerConfig | undefined,
  b: ServerConfig,
): boolean =>
  a?.type === "in-process" && b.type === "in-process"
    ? a.server === b.server &&
      isDeepStrictEqual({ ...a, server: null }, { ...b, server: null })
    : isDeepStrictEqual(a, b);

/** The fields that Agents see, or that shape what Agents see. */
export const SEEN_FIELDS: readonly string[] = [
  "forbidden_tools",
  "tool_meta",
  "default_tool_meta",
  "tool_prefix",
  "vrl",
];

/**
 * The fields whose strings may have placeholders. The name and the `bundle_id` are as they are
 * written, so that another value does not make it another server (protocol §13).
 */
export const FILLED_FIELDS: readonly string[] = [
  "server_parameters",
  ...SEEN_FIELDS,
];

/** Lists the ids of inputs in a configuration. */
export const serverPlaceholders = (config: ServerConfig): string[] =>
  placeholderIds(pick(config, FILLED_FIELDS));

/** Returns a configuration with what Agents see of `filled`, and its own parameters. */
export const seenConfig = (
  config: ServerConfig,
  filled: ServerConfig,
): ServerConfig => ({
  ...config,
  ...pick<BaseMCPServerConfig>(filled, SEEN_FIELDS),
});

const pick = <T extends object>(
  value: T,
  keys: readonly string[],
): Partial<T> =>
  Object.fromEntries(
    Object.entries(value).filter(([key]) => keys.includes(key)),
  ) as Partial<T>;

/**
 * The configuration of an MCP server as users write it: fields with defaults are optional, which
 * leaves the `command` or the `url` (protocol §4), and in programs the `server` of `in-process`.
 */
export type ServerSettings =
  | {
    [C in MCPServerConfig as C["type"]]:
      & Partial<Omit<C, "type" | "server_parameters">>
      & {
        type: C["type"];
        server_parameters:
          & Partial<C["server_parameters"]>
          & Pick<
            C["server_parameters"],
            Extract<keyof C["server_parameters"], "command" | "url">
          >;
      };
  }[MCPServerConfig["type"]]
  | Partial<InProcessServerConfig>
    & Pick<InProcessServerConfig, "type" | "server">;

/** The configuration of a Computer. */
export interface ComputerConfig<S extends ServerConfig = ServerConfig> {
  /** The definitions of the placeholders. */
  readonly inputs: readonly MCPServerInput[];
  /** In the order of the file; no name is there twice with one `bundle_id`. */
  readonly servers: readonly S[];
  /** Rules about tool calls, in their order; without them those of before stay. */
  readonly rules?: readonly Rule[];
}

/** The difference between two configurations; servers in none of the lists are unchanged. */
export interface ConfigChanges {
  /** New servers. */
  readonly add: readonly ServerConfig[];
  /** Changed servers, with their new configuration. */
  readonly update: readonly ServerConfig[];
  /** Names of removed servers. */
  readonly remove: readonly string[];
}

/**
 * Compares two configurations, in which no `bundle_id` is there twice.
 *
 * Servers are the same by their `bundle_id`, so that a new name alone replaces one in its place. A
 * server has changed if its own configuration differs, or the definition of an input that it
 * uses, since the value may differ then. The order of keys and of servers is ignored.
 */
export function diffConfigs(
  before: ComputerConfig,
  after: ComputerConfig,
): ConfigChanges & { readonly gone: readonly ServerConfig[] } {
  const old = new Map(before.servers.map((one) => [bundleIdOf(one), one]));
  const kept = new Set(after.servers.map(bundleIdOf));
  const gone = before.servers.filter((server) => !kept.has(bundleIdOf(server)));
  const input = ({ inputs }: ComputerConfig, id: string) =>
    inputs.find((input) => input.id === id);
  const differs = (server: ServerConfig) =>
    !sameServerConfig(old.get(bundleIdOf(server)), server) ||
    serverPlaceholders(server).some((id) =>
      !isDeepStrictEqual(input(before, id), input(after, id))
    );
  return {
    add: after.servers.filter((server) => !old.has(bundleIdOf(server))),
    update: after.servers.filter((server) =>
      old.has(bundleIdOf(server)) && differs(server)
    ),
    remove: gone.map(({ name }) => name),
    gone,
  };
}

/** Texts by key; other simple values count as they are written in JSON. */
type Texts = Readonly<Record<string, string | number | boolean>>;

/** Bytes of the digest that stand for a name without any letter that an id may have. */
const DIGEST_BYTES = 8;

/**
 * Returns what identifies an MCP server: its explicit `bundle_id`, or the derived one, byte for byte as
 * every SDK does (protocol §13).
 *
 * From the configuration with its placeholders, so that another secret does not rename its tools.
 */
export const bundleIdOf = (config: ServerConfig): string =>
  config.bundle_id ?? nameOnly(config.name) ??
    `bundle_${addressDigest(config)}`;

function addressDigest(config: ServerConfig): string {
  const hash = createHash("sha256");
  for (const part of addressParts(config)) {
    const bytes = typeof part === "string" ? utf8(part) : new Uint8Array();
    const count = new DataView(new ArrayBuffer(4)); // big endian
    count.setUint32(0, typeof part === "string" ? bytes.length : part);
    hash.update(count).update(bytes);
  }
  return hash.digest().subarray(0, DIGEST_BYTES).toString("hex");
}

/** Lists how a server is reached in texts, and before those of a list or a map, how many there are. */
function addressParts(config: ServerConfig): (string | number)[] {
  const { type, name } = config;
  // Nothing else is known of it; a name is given to one only.
  if (type === "in-process") return [type, name];
  if (type === "stdio") {
    const { command, args, env } = config.server_parameters;
    return [type, command, args.length, ...args, ...sorted(env)];
  }
  const { url, headers } = config.server_parameters;
  return [type, url, ...sorted(headers)];
}

function sorted(texts: Texts | null): (string | number)[] {
  const entries = Object.entries(texts ?? {})
    .sort(([a], [b]) => Buffer.compare(utf8(a), utf8(b)));
  return [
    entries.length,
    ...entries.flatMap(([key, value]) => [key, `${value}`]),
  ];
}

/** UTF-8; half of a surrogate pair, which no other language has, counts as U+FFFD. */
const utf8 = (value: string): Uint8Array => new TextEncoder().encode(value);

/** Replaces each text within a JSON value; `replace` receives its path too. */
export function mapTexts(
  value: unknown,
  replace: (text: string, path: ConfigPath) => unknown,
  path: ConfigPath = [],
): unknown {
  const inside = (item: unknown, key: string | number) =>
    mapTexts(item, replace, [...path, key]);
  if (typeof value === "string") return replace(value, path);
  if (Array.isArray(value)) return value.map(inside);
  return isRecord(value)
    ? Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, inside(item, key)]),
    )
    : value;
}
