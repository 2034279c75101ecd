/**
 * One call of a tool, from an MCP client to a Computer.
 *
 * Whatever fails on the way is a result that the model can read. While the call runs, a client that
 * asked for progress gets signs of life, between which the tool's own numbers stay as they are.
 *
 * @module
 */
import type {
  CallToolResult as McpResult,
  InputRequiredResult,
  ProgressNotificationParams,
  ServerContext,
} from "@modelcontextprotocol/server";
import type { SmcpAgent } from "../../agent/mod.ts";
import type { CallQuestions } from "./questions.ts";
import type { Turn } from "./turn.ts";
import type { ResolvedOptions } from "../options.ts";
import type { Found, ToolAddress } from "../tools/catalogue.ts";
import { failure, failureOf, toMcpResult } from "../tools/result.ts";
import { ErrorCode, type ToolProgress } from "../../protocol/mod.ts";
import { waitingText } from "../../protocol/payloads/tools.ts";
import { onAbort } from "../../shared/async.ts";

/** One call of a client. */
export interface Asked {
  /** The request, as the MCP SDK hands it over. */
  readonly request: ServerContext["mcpReq"];
  /** Its turn. */
  readonly turn: Turn;
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
  { request, turn, questions, options }: Asked & {
    readonly options: Pick<ResolvedOptions, "callTimeoutMs" | "heartbeatMs">;
  },
): Promise<McpResult | InputRequiredResult> {
  const reporter = reporterOf(request, computer, options.heartbeatMs);
  try {
    return await turn.run({ computer, tool }, async ({ signal, reqId }) => {
      const result = await agent.callTool(computer, tool, args, {
        timeoutMs: options.callTimeoutMs,
        reqId,
        signal,
        ...(questions && { input: questions.input }),
        ...(reporter && {
          onProgress: (progress) => reporter.report(progress),
        }),
      });
      // The Computer waits: who goes away before the answer ends the call there too.
      const held = () => onAbort(signal, () => agent.cancel(reqId));
      return await questions?.toQuestion(result, held) ?? toMcpResult(result);
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

/** What is said of a running call. */
export type Progress = Omit<
  ProgressNotificationParams,
  "progressToken" | "_meta"
>;

/** What a reporter tells, and how often. */
interface ReporterOptions {
  /** Where the call runs. */
  readonly computer: string;
  /** Milliseconds between two signs of life. */
  readonly everyMs: number;
  /** Sends it to the client. */
  readonly send: (progress: Progress) => void;
}

/** So little that it is less than any step of a tool that counts. */
const BEAT = 1e-6;

/**
 * Tells a client that its call still runs, and how far it has come where that is known.
 *
 * Progress must only ever increase (MCP): a sign of life adds next to nothing, so that the numbers of
 * the tool stay as they are; those that do not increase are left out.
 */
export class ProgressReporter {
  readonly #options: ReporterOptions;
  readonly #began = performance.now();
  #timer: ReturnType<typeof setInterval>;
  #last: number | undefined;
  #waiting: ToolProgress["waiting"];

  /** Begins to tell; {@linkcode end} must follow. */
  constructor(options: ReporterOptions) {
    this.#options = options;
    this.#timer = this.#beating();
  }

  /** Passes on what the tool itself reports, and that it waits for a person. */
  report({ waiting, ...progress }: ToolProgress): void {
    if (waiting !== undefined) {
      this.#waiting = waiting;
      this.#beat();
    } else if (progress.progress > (this.#last ?? -Infinity)) {
      this.#last = progress.progress;
      this.#options.send(progress);
    } else return;
    clearInterval(this.#timer);
    this.#timer = this.#beating();
  }

  /** Tells nothing more. */
  end(): void {
    clearInterval(this.#timer);
  }

  #beating(): ReturnType<typeof setInterval> {
    return setInterval(() => this.#beat(), this.#options.everyMs);
  }

  #beat(): void {
    const { computer, send } = this.#options;
    this.#last = justAbove(this.#last ?? 0);
    const passed = Math.round((performance.now() - this.#began) / 1000);
    const message = this.#waiting
      ? `${waitingText(this.#waiting, computer)}, ${passed} s`
      : `running for ${passed} s on ${computer}`;
    send({ progress: this.#last, message });
  }
}

const justAbove = (value: number): number =>
  value + Math.max(BEAT, Math.abs(value) * 2 ** -50);
