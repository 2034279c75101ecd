import { hideSecrets } from "../util/hide_secrets.ts";
import { reasonOf } from "../util/values.ts";
import { NotReadyError } from "./not_ready.ts";
import { ServerEndedError } from "./mcp/server_ended.ts";
import { AuthorizationError } from "./oauth/authorization_error.ts";

/**
 * Why an MCP server does not run, where that is known:
 *
 * - `ended`: its process ended
 * - `not_ready`: it did not start in its time
 * - `not_executable`: its program may not be executed
 * - `unreachable`: nobody answers at its address
 * - `refused`: it wants an authorization
 * - `not_found`: it answers, but not at this path
 */
export type ServerFailure =
  | "ended"
  | "not_ready"
  | "not_executable"
  | "unreachable"
  | "refused"
  | "not_found";

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
export function failureOf(error: unknown): ServerFailure | undefined {
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
    const code = "code" in cause ? cause.code : undefined;
    const known = BY_CODE[String(code)];
    if (known !== undefined) return known;
    // All that fetch tells in Deno, and what the SDK makes of it for SSE: the event without a status.
    isFetchFailure ||= cause instanceof TypeError ||
      "event" in cause && code === undefined;
  }
  return isFetchFailure ? "unreachable" : undefined;
}

/** Why an MCP server does not run: for people, and as a code. */
export interface ServerEnd {
  readonly error?: string;
  readonly failure?: ServerFailure;
}

/** Describes the error that an MCP server does not run for. */
export function endOf(error: unknown): ServerEnd {
  const failure = failureOf(error);
  return { error: reasonOf(error), ...(failure && { failure }) };
}

/** Leaves the secrets out, those too that were not known then. */
export const hidden = ({ error, ...rest }: ServerEnd): ServerEnd => ({
  ...rest,
  ...(error !== undefined && { error: hideSecrets(error) }),
});

/** The refusal of an MCP server that wants an authorization. */
export const refusalIn = (error: unknown): AuthorizationError | undefined =>
  error instanceof AuthorizationError ? error : undefined;
