import type {
  CallToolResult as McpResult,
  InputRequiredResult,
  ServerContext,
} from "@modelcontextprotocol/server";
import type { SmcpAgent } from "../../agent/mod.ts";
import { ErrorCode } from "../../protocol/mod.ts";
import { onAbort } from "../../shared/async.ts";
import type { CallQueue } from "./call_queue.ts";
import type { Found, ToolAddress } from "../tools/catalogue.ts";
import type { Admitted, McpCall, ResolvedOptions } from "../options.ts";
import type { CallQuestions } from "./questions.ts";
import { ProgressReporter } from "./progress.ts";
import { failure, failureOf, toMcpResult } from "../tools/result.ts";

/** What a call needs beside its tool. */
export interface CallParts {
  /** The turns of all calls of the seat. */
  readonly queue: CallQueue;
  /** How long it may take, and how often it tells that it lives. */
  readonly options: Pick<
    ResolvedOptions,
    "admit" | "callTimeoutMs" | "heartbeatMs"
  >;
  /** The request, as the MCP SDK hands it over. */
  readonly request: ServerContext["mcpReq"];
  /** Cancels the call, as does the signal of the request. */
  readonly signal: AbortSignal;
  /** Who calls. */
  readonly caller: Caller;
  /** Lets the MCP server ask the client, if it can be asked. */
  readonly questions: CallQuestions | undefined;
}

/** Who calls, as far as is known. */
export interface Caller {
  /** Whom the HTTP request was of. */
  readonly principal: string | undefined;
  /** What the client calls itself. */
  readonly client: McpCall["client"] | undefined;
}

/**
 * Calls a tool of a Computer. What fails on the way is a result too, for the model to read; when the
 * client cancels the call, so does the Agent.
 */
export async function callOffice(
  agent: SmcpAgent,
  { computer, tool }: ToolAddress,
  args: Record<string, unknown>,
  { queue, options, request, signal, caller, questions }: CallParts,
): Promise<McpResult | InputRequiredResult> {
  const reporter = reporterOf(request, computer, options.heartbeatMs);
  let ended: Admitted = undefined;
  try {
    const timeoutMs = options.callTimeoutMs;
    const reqId = crypto.randomUUID();
    ended = await options.admit?.({ reqId, computer, tool, ...known(caller) });
    const result = await queue.run(
      () =>
        agent.callTool(computer, tool, args, {
          timeoutMs,
          reqId,
          signal,
          ...(questions && { input: questions.input }),
          ...(reporter && {
            onProgress: (progress) => reporter.report(progress),
          }),
        }),
      signal,
    );
    const question = await questions?.toQuestion(result);
    if (!question) return toMcpResult(result);
    // The Computer waits: who goes away before the answer ends the call there too.
    if (questions?.isHeld) onAbort(signal, () => agent.cancel(reqId));
    return question;
  } catch (error) {
    return failureOf(error);
  } finally {
    reporter?.end();
    ended?.();
  }
}

const known = (
  { principal, client }: Caller,
): Pick<McpCall, "principal" | "client"> => ({
  ...(principal !== undefined && { principal }),
  ...(client && { client: { name: client.name, version: client.version } }),
});

/** The answer to a call of a tool that is known, and not there now. */
export function awayResult(
  { computer, tool, since, hasLeft }: Extract<Found, { kind: "away" }>,
): McpResult {
  const time = since.toISOString().replace("T", " ").replace(/\..*/, " UTC");
  return hasLeft
    ? failure(
      ErrorCode.NOT_FOUND,
      `${computer} is away since ${time}; its tools come back when it does`,
    )
    : failure(
      ErrorCode.TOOL_NOT_FOUND,
      `${computer} has no tool ${tool} since ${time}; list the tools again`,
    );
}

/** Tells the client that its call runs, if it asked for that. */
function reporterOf(
  { _meta, notify }: ServerContext["mcpReq"],
  computer: string,
  everyMs: number,
): ProgressReporter | undefined {
  const progressToken = _meta?.progressToken;
  if (progressToken === undefined) return undefined;
  return new ProgressReporter({
    computer,
    everyMs,
    send: (progress) => {
      notify({
        method: "notifications/progress",
        params: { ...progress, progressToken },
      }).catch(() => {
        // The client is gone; its request ends by itself.
      });
    },
  });
}
