/**
 * Calls that begin past the MCP SDK.
 *
 * Most results are certainly as the SDK would send them, and need nothing of it. Of the others, such as
 * questions to the client and errors, the SDK's handler makes an answer: it gets the call that has begun,
 * in place of beginning another one.
 *
 * @module
 */
import type * as Mcp from "@modelcontextprotocol/server";
import type { SmcpAgent } from "../../agent/mod.ts";
import { toAuthInfo } from "../caller.ts";
import type { Asked } from "./call.ts";
import { acceptedBy, type CallQuestions, questionIn } from "./questions.ts";
import type { ServerParts } from "./server_parts.ts";
import { Turn } from "./turn.ts";
import { isRecord } from "../../protocol/names.ts";
import { onAbort } from "../../shared/async.ts";

/** How a client has introduced itself. */
export type Introduction = Pick<CallingClient, "info" | "capabilities">;

/** The client of a call. */
export interface CallingClient {
  /** Who it is authenticated as. */
  readonly principal: string | undefined;
  /** The Agent by which it calls. */
  readonly agent: SmcpAgent;
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
  readonly #abort = new AbortController();
  /** Cancels the call with its client's request, while its question waits. */
  #held = () => {};
  #notify: Notify;
  readonly #taken = Promise.withResolvers<Notify>();

  /**
   * @param client who calls
   * @param request its metadata, and what notifies its client
   * @param begin begins it
   */
  constructor(
    client: CallingClient,
    { _meta, notify }: Asked["request"],
    parts: Pick<ServerParts, "queue" | "options" | "view">,
    begin: (asked: Asked) => Promise<Result>,
  ) {
    const { agent, principal, info, capabilities } = client;
    const turn = new Turn({ getClientVersion: () => info }, {
      mcpReq: this.#abort,
      http: toAuthInfo(principal),
    }, parts);
    const accepts = acceptedBy(capabilities);
    const questions = accepts &&
      { input: { accepts }, toQuestion: this.#keepQuestion };
    this.#notify = notify;
    const request = {
      ...(_meta && { _meta }),
      notify: (...notified: Notified) => this.#notify(...notified),
    };
    const { links } = parts.view;
    this.result = begin({ request, turn, agent, questions, links });
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

  /** Cancels it. */
  cancel(why: string): void {
    this.#abort.abort(new Error(why));
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
