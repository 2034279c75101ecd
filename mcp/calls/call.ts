import type {
  CallToolResult as McpResult,
  InputRequiredResult,
  ServerContext,
} from "@modelcontextprotocol/server";
import type { SmcpAgent } from "../../agent/mod.ts";
import { ErrorCode } from "../../protocol/mod.ts";
import { onAbort } from "../../shared/async.ts";
import type { Found, ToolAddress } from "../tools/catalogue.ts";
import type { ResolvedOptions } from "../options.ts";
import type { CallQuestions } from "./questions.ts";
import { ProgressReporter } from "./progress.ts";
import { inTurn, type TurnParts } from "./turn.ts";
import { failure, failureOf, toMcpResult } from "../tools/result.ts";

/** What a call needs beside its tool. */
export interface CallParts extends TurnParts {
  /** How long it may take, and how often it tells that it lives. */
  readonly options: Pick<
    ResolvedOptions,
    "admit" | "callTimeoutMs" | "heartbeatMs"
  >;
  /** The request, as the MCP SDK hands it over. */
  readonly request: ServerContext["mcpReq"];
  /** Lets the MCP server ask the client, if it can be asked. */
  readonly questions: CallQuestions | undefined;
}

/**
 * Calls a tool of a Computer. What fails on the way is a result too, for the model to read; when the
 * client cancels the call, so does the Agent.
 */
export async function callOffice(
  agent: SmcpAgent,
  { computer, tool }: ToolAddress,
  args: Record<string, unknown>,
  parts: CallParts,
): Promise<McpResult | InputRequiredResult> {
  const { options, request, signal, questions } = parts;
  const reporter = reporterOf(request, computer, options.heartbeatMs);
  try {
    return await inTurn({ computer, tool }, parts, async (reqId) => {
      const result = await agent.callTool(computer, tool, args, {
        timeoutMs: options.callTimeoutMs,
        reqId,
        signal,
        ...(questions && { input: questions.input }),
        ...(reporter && {
          onProgress: (progress) => reporter.report(progress),
        }),
      });
      const question = await questions?.toQuestion(result);
      if (!question) return toMcpResult(result);
      // The Computer waits: who goes away before the answer ends the call there too.
      if (questions?.isHeld) onAbort(signal, () => agent.cancel(reqId));
      return question;
    });
  } catch (error) {
    return failureOf(error);
  } finally {
    reporter?.end();
  }
}

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
