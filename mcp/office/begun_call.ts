/**
 * Calls that begin past the MCP SDK.
 *
 * Most results are certainly as the SDK would send them, and need nothing of it. Of the others, such as
 * questions to the client and errors, and of calls that become tasks, the SDK's handler makes an answer: it
 * gets the call that has begun, in place of beginning another one.
 *
 * @module
 */
import type * as Mcp from "@modelcontextprotocol/server";
import { type McpCaller, toAuthInfo } from "../caller.ts";
import type { OfficeAgent } from "../office_agent.ts";
import type { Asked } from "./call.ts";
import { acceptedBy, type CallQuestions, questionIn } from "./questions.ts";
import type { ServerParts } from "./server_parts.ts";
import { Turn } from "./turn.ts";
import type { RunningCall } from "../tasks/running_call.ts";
import { isRecord } from "../../protocol/names.ts";
import { onAbort } from "../../shared/async.ts";

/** How a client has introduced itself. */
export type Introduction = Pick<CallingClient, "info" | "capabilities">;

/** The client of a call. */
export interface CallingClient {
  /** Who it is authenticated as. */
  readonly caller: McpCaller;
  /** The Agent by which it calls. */
  readonly agent: OfficeAgent;
  /** Its program. */
  readonly info: Mcp.Implementation | undefined;
  readonly capabilities: Mcp.ClientCapabilities | undefined;
}

type Result = Mcp.CallToolResult | Mcp.InputRequiredResult;

/** Sends a notification to the client of a call. */
export type Notify = Asked["request"]["notify"];
type Notified = Parameters<Notify>;

/** A call of a client, before it is known which way its result goes. */
export class BegunCall {
  /** Settles with the call; a question in it is the Computer's own. */
  readonly result: Promise<Result>;
  /** What becomes a task when the call waits, if its client supports that. */
  readonly running: RunningCall | undefined;
  readonly #abort = new AbortController();
  /** Cancels the call with its client's request, while its question waits. */
  #held = () => {};
  #notify: Notify;
  readonly #taken = Promise.withResolvers<Notify>();

  /**
   * @param client who calls
   * @param request its metadata, what notifies its client, and what may become a task
   * @param begin begins it
   */
  constructor(
    client: CallingClient,
    { _meta, notify, running }: Asked["request"] & Pick<Asked, "running">,
    parts: Pick<ServerParts, "queue" | "options" | "view">,
    begin: (asked: Asked) => Promise<Result>,
  ) {
    const { agent, caller, info, capabilities } = client;
    const turn = new Turn({ getClientVersion: () => info }, {
      mcpReq: this.#abort,
      http: toAuthInfo(caller),
    }, parts);
    const accepts = acceptedBy(capabilities);
    const questions = accepts &&
      { input: { accepts }, toQuestion: this.#keepQuestion };
    this.#notify = notify;
    this.running = running;
    const request = {
      ...(_meta && { _meta }),
      notify: (...notified: Notified) => this.#notify(...notified),
    };
    const { links } = parts.view;
    this.result = begin({ request, turn, agent, questions, links, running });
    const ended = () => running?.end();
    if (running) this.result.then(ended, ended);
  }

  /** Resolves with its result; with `undefined` where it has none, or has become a task. */
  get outcome(): Promise<Result | undefined> {
    const { running, result } = this;
    const first = running
      ? Promise.race([result, running.answered.then(() => undefined)])
      : result;
    return first.catch(() => undefined);
  }

  /** Resolves with what notifies the client, once it goes on as a request of the MCP SDK. */
  get taken(): Promise<Notify> {
    return this.#taken.promise;
  }

  /** Why it was cancelled, if it was. */
  get whyCancelled(): string | undefined {
    const { aborted, reason } = this.#abort.signal;
    return aborted ? reason.message : undefined;
  }

  /** Cancels it with its request; a task runs on without that. */
  cancel(why: string): void {
    if (!this.running?.isTask) this.#abort.abort(new Error(why));
  }

  /**
   * Goes on as a request of the MCP SDK.
   *
   * @param signal cancels it from now on
   * @param notify notifies its client from now on
   * @param questions seals what it asks the client
   */
  async goOn(
    signal: AbortSignal,
    notify: Notify,
    questions: CallQuestions | undefined,
  ): Promise<Result> {
    this.#notify = notify;
    this.#taken.resolve(notify);
    onAbort(signal, () => this.#abort.abort(signal.reason));
    const result = await this.result;
    return await questions?.toQuestion(result, this.#held) ?? result;
  }

  readonly #keepQuestion: CallQuestions["toQuestion"] = (result, held) => {
    this.#held = held;
    return Promise.resolve(questionIn(result));
  };
}

/** By the request that the MCP SDK hands to its handler. */
const begunCalls = new WeakMap<Request, BegunCall>();

/** Lets the MCP SDK's handler of a request go on with a call. */
export const handOver = (request: Request, call: BegunCall): void =>
  void begunCalls.set(request, call);

/** Returns what may become a task of the call that the handler of a request goes on with. */
export const runningBegun = (
  { http }: Pick<Mcp.ServerContext, "http">,
): RunningCall | undefined => http?.req && begunCalls.get(http.req)?.running;

/** Returns, once, the call that the handler of a request goes on with. */
export function takeBegun(request: Request | undefined): BegunCall | undefined {
  if (request === undefined) return undefined;
  const call = begunCalls.get(request);
  begunCalls.delete(request);
  return call;
}

/**
 * Returns whether a result is certainly valid, and sent as it is: the MCP SDK checks and changes no other.
 *
 * @param schema of the tool's structured results, as clients see it
 */
export function isPlainResult(
  result: Result,
  schema: Mcp.Tool["outputSchema"],
): result is Mcp.CallToolResult {
  const { content, isError, structuredContent, _meta, ...more } = result;
  return Array.isArray(content) && content.every(isPlainBlock) &&
    (isError === undefined || typeof isError === "boolean") &&
    isPlainStructure(structuredContent, schema) && isPlainMeta(_meta) &&
    Object.keys(more).length === 0;
}

/** Whether it is an object, which is no object of a list for clients before 2026 either. */
const isPlainStructure = (
  value: unknown,
  schema: Mcp.Tool["outputSchema"],
): boolean =>
  value === undefined ||
  isRecord(value) && !Object.hasOwn(value, "__proto__") &&
    (schema === undefined || schema.type === "object");

/** Whether nothing in metadata is the MCP SDK's own. */
const isPlainMeta = (meta: unknown): boolean =>
  meta === undefined ||
  isRecord(meta) &&
    Object.keys(meta).every((key) =>
      key !== "progressToken" && key !== "__proto__" &&
      !key.startsWith("io.modelcontextprotocol/")
    );

/** The fields of content that needs no further check, all of them texts. */
const PLAIN_BLOCKS: Readonly<Record<string, readonly string[]>> = {
  text: ["text"],
  image: ["data", "mimeType"],
  audio: ["data", "mimeType"],
};

function isPlainBlock(block: Mcp.ContentBlock): boolean {
  const { type, _meta, ...fields }: Record<string, unknown> = { ...block };
  const isMeta = _meta === undefined ||
    isRecord(_meta) && !Object.hasOwn(_meta, "__proto__");
  const names = Object.hasOwn(PLAIN_BLOCKS, `${type}`)
    ? PLAIN_BLOCKS[`${type}`]
    : undefined;
  return names !== undefined && isMeta &&
    Object.keys(fields).length === names.length &&
    names.every((name) => typeof fields[name] === "string");
}
