import { isDeepStrictEqual } from "node:util";
import type {
  BaseMCPServerConfig,
  MCPServerConfig,
} from "../../protocol/mod.ts";
import { baseServerConfigSchema } from "../../protocol/payloads/config_file.ts";
import { ENGLISH } from "../../protocol/schema.ts";
import { placeholderIds } from "../util/inputs.ts";
import { isRecord } from "../util/values.ts";
import { explainIssues } from "./issue_text.ts";
import type { ConfigProblem } from "./problem.ts";

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
  const problems = base.success
    ? []
    : explainIssues([], base.error.issues, entry);
  if (server === undefined) problems.push(FOR_PROGRAMS);
  else if (!isServer(server)) {
    problems.push({
      path: ["server"],
      text:
        "expected an MCP server of @modelcontextprotocol/sdk (an McpServer or a Server), which only a program can pass",
    });
  } else if (base.success) {
    const config = { ...base.data, type: "in-process" as const, server };
    return { config, problems };
  }
  return { problems };
}

const isServer = (value: unknown): value is InProcessServer =>
  isRecord(value) && typeof value.connect === "function";

/** Compares two configurations; MCP servers in this process are compared by identity. */
export function sameServerConfig(
  a: ServerConfig | undefined,
  b: ServerConfig,
): boolean {
  if (a?.type !== "in-process" || b.type !== "in-process") {
    return isDeepStrictEqual(a, b);
  }
  const { server: before, ...rest } = a;
  const { server: after, ...others } = b;
  return before === after && isDeepStrictEqual(rest, others);
}

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
 * written, so that another value does not make it another server (0.4 §3.1).
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
