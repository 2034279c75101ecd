/**
 * The state of an MCP server: how users and the rules about tools see it, and why it does not run.
 *
 * @module
 */
import type { ServerConfig } from "../config/config.ts";
import type { McpTool } from "./mcp/mcp_connection.ts";
import { ServerEndedError } from "./mcp/errors.ts";
import { LeadsBackError } from "./mcp/own_offices.ts";
import { AuthorizationError } from "./oauth/authorized_fetch.ts";
import { reasonOf } from "../util/values.ts";

/**
 * The state of a hosted MCP server.
 *
 * - `starting`: has not run yet since it was started manually, or with the Computer
 * - `running`: its tools are offered
 * - `restarting`: ran, was lost, and is being restarted, with any number of attempts
 * - `failed`: failed to start; retried at `nextAttempt`, or only manually when there is none
 * - `stopped`: stopped manually
 * - `disabled`: never started, by its configuration
 */
export type ServerState =
  | "starting"
  | "running"
  | "restarting"
  | "failed"
  | "stopped"
  | "disabled";

/** The status of one MCP server of a Computer. */
export interface ServerStatus {
  /** Its name in the configuration, for people. */
  readonly name: string;
  /** Its `bundle_id`; equal to the name unless that has other characters or it is configured. */
  readonly bundleId: string;
  /** The type of its configuration. */
  readonly type: ServerConfig["type"];
  /** The current state. */
  readonly state: ServerState;
  /** The number of tools in its last list. */
  readonly tools: number;
  /** The number of automatic restarts since its last manual start. */
  readonly restarts: number;
  /** Why it is not running, or why the last attempt failed; may quote diagnostics, so never sent to an Agent. */
  readonly error?: string;
  /** The kind of failure, where it is known. */
  readonly failure?: ServerFailure;
  /** When the next automatic start is, if there is one. */
  readonly nextAttempt?: Date;
  /** Problems of its configuration and tools, one sentence each. */
  readonly problems: readonly string[];
}

/** The state of an MCP server as the rules about tools need it. */
export interface ServerView
  extends Pick<ServerStatus, "name" | "bundleId" | "state"> {
  /** How the office names it: by its name, and since 0.3 by its `bundle_id`. */
  readonly address: string;
  /** Whether the names of its tools begin with its `bundle_id`, as they do since 0.3. */
  readonly bundleIds: boolean;
  /** The configuration; since its first start without placeholders, but in its `server_parameters`. */
  readonly config: ServerConfig;
  /** The tools in its last list; empty before its first start. */
  readonly tools: readonly McpTool[];
  /** When the next automatic start is, if there is one. */
  readonly nextAttempt?: Date | undefined;
  /** The error of the last attempt, if the server denied the Computer access. */
  readonly refusal?: AuthorizationError | undefined;
}

/** Describes the state of an MCP server and its next start: `is restarting; …` (protocol §6). */
export const describeState = (
  { state, nextAttempt }: Pick<ServerView, "state" | "nextAttempt">,
): string =>
  nextAttempt
    ? `is ${state}; the next attempt to start it is at ${nextAttempt.toISOString()}`
    : `is ${state}`;

/**
 * Why an MCP server does not run, where that is known:
 *
 * - `ended`: its process ended
 * - `not_ready`: it did not start in its time
 * - `not_executable`: its program may not be executed
 * - `unreachable`: its address does not answer
 * - `refused`: it needs an authorization
 * - `not_found`: it answers, but not at this path
 * - `leads_back`: it leads to an office that the Computer is in, to which it would offer itself
 */
export type ServerFailure =
  | "ended"
  | "not_ready"
  | "not_executable"
  | "unreachable"
  | "refused"
  | "not_found"
  | "leads_back";

/** By the code of the operating system, or by the HTTP status, which the MCP SDK gives as a code. */
const BY_CODE: Readonly<Record<string, ServerFailure>> = {
  EACCES: "not_executable",
  EPERM: "not_executable",
  ECONNREFUSED: "unreachable",
  ECONNRESET: "unreachable",
  EAI_AGAIN: "unreachable",
  EHOSTUNREACH: "unreachable",
  ENOTFOUND: "unreachable",
  ETIMEDOUT: "unreachable",
  401: "refused",
  403: "refused",
  404: "not_found",
};

/** Classifies the error that an MCP server does not run for, by its class and code and those of its causes. */
export function classifyFailure(error: unknown): ServerFailure | undefined {
  let isFetchFailure = false;
  const seen = new Set<unknown>();
  for (
    let cause = error;
    cause instanceof Error && !seen.has(cause);
    cause = cause.cause
  ) {
    seen.add(cause);
    if (cause instanceof NotReadyError) return "not_ready";
    if (cause instanceof ServerEndedError) return "ended";
    if (cause instanceof AuthorizationError) return "refused";
    if (cause instanceof LeadsBackError) return "leads_back";
    const code = "code" in cause ? cause.code : undefined;
    const known = BY_CODE[String(code)];
    if (known !== undefined) return known;
    // All that fetch reports in Deno, and what the SDK makes of it for SSE: the event without a status.
    isFetchFailure ||= cause instanceof TypeError ||
      "event" in cause && code === undefined;
  }
  return isFetchFailure ? "unreachable" : undefined;
}

/** Why an MCP server does not run: for people, and as a code. */
export type ServerEnd = Pick<ServerStatus, "error" | "failure">;

/** Describes the error that an MCP server does not run for. */
export function describeEnd(error: unknown): ServerEnd {
  const failure = classifyFailure(error);
  return { error: reasonOf(error), ...(failure && { failure }) };
}

/** An MCP server took too long to start. */
export class NotReadyError extends Error {
  /** Always `"NotReadyError"`. */
  override readonly name = "NotReadyError";

  /** Creates an error from the limit, in milliseconds. */
  constructor(config: ServerConfig, limitMs: number) {
    super(describe(config, limitMs));
  }
}

/** A child process often waits for the network, which it reaches with variables of its environment. */
function describe(config: ServerConfig, ms: number): string {
  const late = `it was not ready within ${ms / 1000} s`;
  if (config.type !== "stdio") return late;
  const lacking = config.server_parameters.inherit_env === false
    ? ', even of the variables for certificate authorities and proxies ("inherit_env" is false)'
    : "";
  return `${late} (its environment is reduced${lacking}: set the variables that it needs in its "env")`;
}
