import { isDeepStrictEqual } from "node:util";
import type {
  BaseMCPServerConfig,
  MCPServerConfig,
} from "../../protocol/mod.ts";
import { baseServerConfigSchema } from "../../protocol/payloads/config.ts";
import { placeholderIds } from "../util/placeholders.ts";
import { isRecord } from "../util/values.ts";
import { explainIssues } from "./issue_text.ts";
import type { ConfigProblem } from "./problem.ts";

/**
 * An MCP server in this process: an `McpServer` or a `Server` of `@modelcontextprotocol/sdk`.
 *
 * One that is connected elsewhere cannot be hosted: an instance speaks over one transport at a time.
 */
export interface InProcessServer {
  /**
   * Connects it.
   *
   * @param transport a `Transport` of the MCP SDK
   */
  connect(transport: object): Promise<void>;
}

/** How to host an MCP server that runs in this process; for programs only. */
export interface InProcessServerConfig extends BaseMCPServerConfig {
  /** Says which kind this is. */
  type: "in-process";
  /** The MCP server. */
  server: InProcessServer;
}

/** How to host one MCP server: those of the wire, and one in this process. */
export type ServerConfig = MCPServerConfig | InProcessServerConfig;

/** What is wrong with such an MCP server in a file, or without a `server`. */
export const FOR_PROGRAMS: ConfigProblem = {
  path: ["type"],
  text:
    '"in-process" is for programs, which pass the MCP server itself as "server"; a file has "stdio", "streamable" (or "http") or "sse"',
};

/** Tells whether an entry wants an MCP server of this process. */
export const isInProcess = (
  entry: unknown,
): entry is Record<string, unknown> & { type: "in-process" } =>
  isRecord(entry) && entry.type === "in-process";

/** Reads an entry whose type is `in-process`; the problems are those of its fields. */
export function readInProcess(
  { server, ...entry }: Record<string, unknown>,
): { config?: InProcessServerConfig; problems: ConfigProblem[] } {
  const base = baseServerConfigSchema.safeParse(entry);
  const problems = base.success ? [] : explainIssues([], base.error.issues);
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

/** Tells whether two configurations of MCP servers are the same; those in this process are one by one. */
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

/** The inputs whose values an MCP server is started with. */
export const serverPlaceholders = (config: ServerConfig): string[] =>
  config.type === "in-process" ? [] : placeholderIds(config.server_parameters);
