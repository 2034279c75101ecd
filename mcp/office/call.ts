/**
 * One call of a tool, from an MCP client to a Computer.
 *
 * A failure is a result that the model can read. While the call runs, a client that
 * asked for progress gets signs of life, between which the tool's own numbers stay as they are.
 *
 * @module
 */
import type * as Mcp from "@modelcontextprotocol/server";
import { officePathOf } from "../../agent/office_path.ts";
import { agentAt, type OfficeAgent } from "../office_agent.ts";
import type { CallQuestions } from "./questions.ts";
import type { Turn } from "./turn.ts";
import type { RunningCall } from "../tasks/running_call.ts";
import type { ResolvedOptions } from "../options.ts";
import type { Links } from "../resources/links.ts";
import type { Found, ToolAddress } from "../tools/catalogue.ts";
import { failure, toFailure, toMcpResult } from "../tools/result.ts";
import {
  type CallToolResult,
  ErrorCode,
  type ToolProgress,
} from "../../protocol/mod.ts";
import {
  isRequestMeta,
  MAX_META_BYTES,
  MAX_OFFICES_OF_CALL,
  passedFromClient,
  readOffices,
  type RequestMeta,
  writeOffices,
} from "../../protocol/payloads/request_meta.ts";
import { waitingText } from "../../protocol/payloads/tools.ts";
import { onAbort } from "../../shared/async.ts";
import { weighing } from "../../shared/json/values.ts";
import { inSlices } from "../../shared/pace.ts";

/** One call of a client. */
export interface Asked {
  /** What the MCP SDK hands over of the request: its metadata, and what notifies its client. */
  readonly request: Pick<Mcp.ServerContext["mcpReq"], "_meta" | "notify">;
  /** Its turn. */
  readonly turn: Turn;
  /** The Agent, where the view has given it for this request already. */
  readonly agent?: OfficeAgent | undefined;
  /** Lets the MCP server ask the client, if it can be asked. */
  readonly questions: CallQuestions | undefined;
  /** Shows what its result refers to. */
  readonly links: Links;
  /** What becomes a task when the call waits, if the client supports that. */
  readonly running?: RunningCall | undefined;
}

/**
 * Calls a tool of a Computer. A failure is a result too, for the model to read; when the
 * client cancels the call, so does the Agent.
 */
export async function callOffice(
  agent: OfficeAgent,
  address: ToolAddress,
  args: Record<string, unknown>,
  { request, turn, questions, links, running, options }: Asked & {
    readonly options: Pick<ResolvedOptions, "callTimeoutMs" | "heartbeatMs">;
  },
): Promise<Mcp.CallToolResult | Mcp.InputRequiredResult> {
  const { computer, tool } = address;
  const { _meta } = request;
  const passed = readOffices(_meta);
  if (passed.length >= MAX_OFFICES_OF_CALL) {
    return passedTooMany(passed, agent.office);
  }
  const { id: own = [] } = officePathOf(agentAt(agent, computer));
  const meta: RequestMeta = {
    ...(_meta && passedFromClient(_meta)),
    ...writeOffices(passed.concat(own))._meta,
  };
  if (!isRequestMeta(meta)) return tooMuchMeta();
  const reporter = reporterFor(request, computer, options.heartbeatMs);
  try {
    return await turn.run({ computer, tool }, async ({ signal, reqId }) => {
      const result = await agent.callTool(computer, tool, args, {
        timeoutMs: options.callTimeoutMs,
        // The client, or the URL that it was given, limits the whole call: its task and turn last as long.
        confirmationTimeoutMs: 0,
        reqId,
        signal,
        meta,
        ...(questions && { input: questions.input }),
        ...((reporter || running) && {
          onProgress: (progress: ToolProgress) => {
            running?.report(progress, computer);
            reporter?.report(progress);
          },
        }),
      });
      // The Computer waits: a client that is gone before the answer ends the call there too.
      const held = () => onAbort(signal, () => agent.cancel(reqId));
      return await questions?.toQuestion(result, held) ??
        await tooMuch(result, address) ??
        toMcpResult(result, (block) => links.show(block, address));
    });
  } catch (error) {
    return toFailure(error);
  } finally {
    reporter?.end();
  }
}

/** Makes what reports the progress of a call to its client, if that has asked for it. */
function reporterFor(
  { _meta, notify }: Asked["request"],
  computer: string,
  everyMs: number,
): ProgressReporter | undefined {
  const progressToken = _meta?.progressToken;
  if (progressToken === undefined) return undefined;
  return new ProgressReporter(computer, everyMs, (progress) => {
    const params = { ...progress, progressToken };
    notify({ method: "notifications/progress", params }).catch(() => {
      // The client is gone; its request ends by itself.
    });
  });
}

/** The failure of a call that has passed so many offices that it probably never arrives. */
const passedTooMany = (
  passed: readonly string[],
  office = "",
): Mcp.CallToolResult =>
  failure(
    ErrorCode.TOOL_EXECUTION_FAILED,
    `The office ${
      JSON.stringify(office)
    } does not pass the call on: it has passed ${passed.length} offices, and at most ${MAX_OFFICES_OF_CALL} are allowed (${
      passed.join(", ")
    }). An MCP server of a Computer probably leads back to an office that the Computer is in; remove it there`,
  );

const tooMuchMeta = (): Mcp.CallToolResult =>
  failure(
    ErrorCode.BAD_REQUEST,
    `_meta of the call is too large: at most ${MAX_META_BYTES} bytes as JSON go with it to the MCP server; the tool has not run. Send less in _meta`,
  );

/** The most of a result that is passed on: models and programs ask for less at once. */
const MAX_BLOCKS = 5_000;
const MAX_VALUES = 200_000;

/** Fails a result that would take too long to pass on; `undefined` for any other. */
async function tooMuch(
  result: CallToolResult,
  { computer, tool }: ToolAddress,
): Promise<Mcp.CallToolResult | undefined> {
  const isLong = result.content.length > MAX_BLOCKS;
  if (!isLong) {
    const { values } = await inSlices(weighing(result, MAX_VALUES));
    if (values <= MAX_VALUES) return undefined;
  }
  const most = isLong
    ? `${MAX_BLOCKS} content blocks`
    : `${MAX_VALUES} values in lists and objects`;
  return failure(
    "too_large",
    `The result of ${tool} on ${computer} has more than ${most}; the tool has run. Ask it for less at once, or for one text`,
  );
}

/** The answer to a call of a tool that is known, and not there now. */
export function awayResult(
  { computer, tool, since, hasLeft }: Extract<Found, { kind: "away" }>,
): Mcp.CallToolResult {
  const time = since.toISOString().replace("T", " ").replace(/\..*/, " UTC");
  return hasLeft
    ? failure(
      ErrorCode.NOT_FOUND,
      `${computer} is away since ${time}; its tools return when it reconnects`,
    )
    : failure(
      ErrorCode.TOOL_NOT_FOUND,
      `${computer} has no tool ${tool} since ${time}; list the tools again`,
    );
}

/** The progress of a running call. */
export type Progress = Omit<
  Mcp.ProgressNotificationParams,
  "progressToken" | "_meta"
>;

/** So little that it is less than any step of a tool that counts. */
const BEAT = 1e-6;

/**
 * Notifies a client that its call still runs, and of its progress where that is known.
 *
 * Progress must only ever increase (MCP): a sign of life adds next to nothing, so that the numbers of
 * the tool stay as they are; those that do not increase are left out.
 */
export class ProgressReporter {
  readonly #computer: string;
  readonly #everyMs: number;
  readonly #send: (progress: Progress) => void;
  readonly #began = performance.now();
  #last: number | undefined;
  #waiting: ToolProgress["waiting"];
  #timer: ReturnType<typeof setInterval>;

  /**
   * @param computer where the call runs
   * @param everyMs milliseconds between two signs of life
   */
  constructor(
    computer: string,
    everyMs: number,
    send: (progress: Progress) => void,
  ) {
    this.#computer = computer;
    this.#everyMs = everyMs;
    this.#send = send;
    this.#timer = setInterval(this.#beat, everyMs);
  }

  /** Passes on what the tool itself reports, and that it waits for a person. */
  report({ waiting, ...progress }: ToolProgress): void {
    if (waiting !== undefined) {
      this.#waiting = waiting;
      this.#beat();
    } else if (progress.progress > (this.#last ?? -Infinity)) {
      this.#last = progress.progress;
      this.#send(progress);
    } else return;
    clearInterval(this.#timer);
    this.#timer = setInterval(this.#beat, this.#everyMs);
  }

  /** Reports nothing more. */
  end(): void {
    clearInterval(this.#timer);
  }

  readonly #beat = (): void => {
    const before = this.#last ?? 0;
    const progress = before + Math.max(BEAT, Math.abs(before) * 2 ** -50);
    this.#last = progress;
    const passed = Math.round((performance.now() - this.#began) / 1000);
    const message = this.#waiting
      ? `${waitingText(this.#waiting, this.#computer)}, ${passed} s`
      : `running for ${passed} s on ${this.#computer}`;
    this.#send({ progress, message });
  };
}
