/**
 * A tool call, from the request to the result that its caller gets.
 *
 * {@linkcode callTool} sends it, under the tool's other name where the Computer has none of the given one,
 * answers questions of the MCP server by repeating the call, cancels it when it times out or is aborted,
 * and puts content back that the Computer left out for its size.
 *
 * @module
 */
import { toBase64 } from "./bytes.ts";
import { fetchWhole } from "./blobs.ts";
import { CALL_TOOL_NAMES, type CallToolOptions } from "./options.ts";
import { inputFields } from "./queries.ts";
import { type Requests, wireTimeout } from "./requests.ts";
import { ConnectionError, reasonOf } from "../client/errors.ts";
import {
  type CallToolResult,
  cancelledResult,
  type ElicitParams,
  type ElicitResult,
  type ElicitUrlParams,
  ErrorCode,
  GET_TOOLS_EVENT,
  resultMeta,
  type SMCPTool,
  timeoutResult,
  TOOL_CALL_EVENT,
  type ToolCallReq,
  type ToolProgress,
  type Wait,
  withResultMeta,
} from "../protocol/mod.ts";
import { isIdentifier, isRecord } from "../protocol/names.ts";
import { nameToCall } from "../protocol/payloads/tools.ts";
import { CallTime, confirmSeconds } from "../shared/time/call_time.ts";
import { checkNames } from "../shared/checks.ts";

/** The default timeout of a tool call. */
const TOOL_TIMEOUT_MS = 60_000;

/** How long a person may take to confirm one, by default. */
const CONFIRMATION_TIMEOUT_MS = 300_000;

type Call = Pick<ToolCallReq, "computer" | "tool_name" | "params">;

/** How calls are sent, and where the other name of a tool is looked up. */
export interface CallOffice {
  readonly requests: Requests;
  /** The tools that are known by now, by Computer; absent where only the given name is called. */
  readonly tools?: ReadonlyMap<string, readonly SMCPTool[]>;
}

/** Calls a tool, answers its questions, and fetches what its result lacks (protocol §8.7). */
export async function callTool(
  office: CallOffice,
  call: Call,
  options: CallToolOptions,
): Promise<CallToolResult> {
  if ("offline" in Object(options)) {
    throw new TypeError(
      "Cannot use the option offline for one call: give it to new SmcpAgent()",
    );
  }
  checkNames(options, CALL_TOOL_NAMES, "callTool()");
  const { signal, onElicit, onElicitUrl, blobs = "restore" } = options;
  const result = onElicit || onElicitUrl
    ? await callAnswering(office, call, options)
    : await callOnce(office, call, options);
  if (blobs === "keep") return result;
  const { requests } = office;
  return restoreResult(result, { requests, computer: call.computer }, signal);
}

/** Calls a tool, and answers its questions (an extension of this package). */
async function callAnswering(
  office: CallOffice,
  call: Call,
  options: CallToolOptions,
): Promise<CallToolResult> {
  const { onElicit, onElicitUrl } = options;
  const accepts = [
    ...onElicit ? ["form" as const] : [],
    ...onElicitUrl ? ["url" as const] : [],
  ];
  let { input = {}, reqId = crypto.randomUUID() } = options;
  for (;;) {
    const result = await callOnce(office, call, {
      ...options,
      input: { ...input, accepts },
      reqId,
    });
    const { resultType, inputRequests, requestState: state } = result;
    if (resultType !== "input_required" || typeof state !== "string") {
      return result;
    }
    const questions = inputRequests as Record<
      string,
      { params: ElicitParams | ElicitUrlParams }
    >;
    const responses: Record<string, ElicitResult> = {};
    try {
      for (const [key, { params }] of Object.entries(questions)) {
        const answer = params.mode === "url"
          ? await onElicitUrl?.(params)
          : await onElicit?.(params);
        responses[key] = answer ?? { action: "cancel" };
        options.signal?.throwIfAborted();
      }
    } catch (error) {
      office.requests.cancel(reqId);
      throw error;
    }
    input = { responses, state };
    reqId = crypto.randomUUID();
  }
}

/**
 * Calls a tool, under its other name if the Computer has none of the given one; a call that times out or is
 * aborted here is cancelled at the Computer (protocol §7).
 *
 * @param restMs how much of its timeout is left, if not all
 */
async function callOnce(
  { requests, tools }: CallOffice,
  given: Call,
  options: CallToolOptions,
  restMs?: number,
): Promise<CallToolResult> {
  const { reqId = crypto.randomUUID() } = options;
  const { signal, onProgress, input, meta } = options;
  const { computer, tool_name } = given;
  // The parts of a call with questions must name the same tool.
  const call = input && tools
    ? { ...given, tool_name: nameToCall(tools.get(computer) ?? [], tool_name) }
    : given;
  const clock = new CallClock(computer, options, restMs);
  let result: CallToolResult;
  const unfollow = requests.follow(reqId, (progress) => {
    clock.note(progress);
    return onProgress?.(progress);
  });
  try {
    result = await requests.ask(TOOL_CALL_EVENT, {
      ...call,
      ...clock.fields,
      progress: onProgress ? true : "waiting",
      ...(input && inputFields(input)),
      ...(meta && { _meta: meta }),
    }, {
      timeoutMs: clock.wholeMs,
      signal,
      reqId,
      onSent: (restart) => clock.restart = restart,
    });
  } catch (error) {
    if (error instanceof ConnectionError && error.code === "timeout") {
      requests.cancel(reqId, "timeout");
      return clock.timeoutResult();
    }
    if (signal?.aborted) requests.cancel(reqId);
    throw error;
  } finally {
    unfollow();
  }
  if (!result.isError || !tools) return result;
  const { error_code } = resultMeta(result);
  if (error_code !== ErrorCode.TOOL_NOT_FOUND) return result; // only then nothing has run
  const leftMs = () => clock.leftMs;
  const refused = { call, options, reqId, result, leftMs };
  return await callOtherName({ requests, tools }, refused);
}

/** How long the Computer's own timeout result is waited for, which may have the reason. */
const TIMEOUT_GRACE_MS = 500;

/** Nothing for a time that the Computer, which counts whole seconds, has rounded up. */
const graceMs = (limitMs: number): number =>
  limitMs % 1000 === 0 ? TIMEOUT_GRACE_MS : 0;

/** The timeout of a call, which stands still while the call waits for confirmation. */
class CallClock {
  /** The timeout as the Computer gets it. */
  readonly fields: Pick<ToolCallReq, "timeout" | "confirmation_timeout">;
  /** Gives the request, once it is sent, so many milliseconds from then on. */
  restart: ((timeoutMs: number) => void) | undefined;
  readonly #computer: string;
  readonly #timeoutMs: number;
  readonly #time: CallTime;
  #wait: Wait | undefined;

  /** @param restMs how much of the timeout is left, if not all */
  constructor(computer: string, options: CallToolOptions, restMs?: number) {
    const { timeoutMs = TOOL_TIMEOUT_MS } = options;
    const { confirmationTimeoutMs = CONFIRMATION_TIMEOUT_MS } = options;
    const runMs = restMs ?? timeoutMs;
    const timeout = wireTimeout(runMs);
    const confirmation_timeout = confirmSeconds(
      wireTimeout(confirmationTimeoutMs, "confirmationTimeoutMs", 0),
      timeout,
    );
    this.fields = {
      timeout: timeout + confirmation_timeout,
      ...(confirmation_timeout > 0 && { confirmation_timeout }),
    };
    this.#computer = computer;
    this.#timeoutMs = timeoutMs;
    const confirmMs = Math.min(
      confirmationTimeoutMs,
      confirmation_timeout * 1000,
    );
    this.#time = new CallTime({ runMs, confirmMs });
  }

  /** What is left of the time that passes now. */
  get leftMs(): number {
    return this.#time.leftMs;
  }

  /** As {@linkcode dueMs} at the beginning. */
  get wholeMs(): number {
    const { limitMs } = this.#time;
    return limitMs + graceMs(limitMs);
  }

  /** Milliseconds until the call has timed out, without an answer of the Computer. */
  get dueMs(): number {
    return Math.max(1, this.leftMs + graceMs(this.#time.limitMs));
  }

  /** Takes note of what the call waits for. */
  note({ waiting }: ToolProgress): void {
    if (waiting === undefined) return;
    this.#wait = waiting ? { waiting, computer: this.#computer } : undefined;
    this.#time.confirms(waiting === "confirmation");
    this.restart?.(this.dueMs);
  }

  /** The result of the call when its time is over. */
  timeoutResult(): CallToolResult {
    const { isConfirming, limitMs } = this.#time;
    const overMs = isConfirming ? limitMs : this.#timeoutMs;
    return timeoutResult(overMs / 1000, this.#wait);
  }
}

/** A call whose Computer has no tool of its name. */
interface RefusedCall {
  readonly call: Call;
  readonly options: CallToolOptions;
  readonly reqId: string;
  /** The answer to it. */
  readonly result: CallToolResult;
  /** Returns how much of its time is left. */
  readonly leftMs: () => number;
}

/**
 * Returns the `req_id` of a call that is repeated under the tool's other name. It follows from the first one:
 * a Computer keeps the answer to each, so that a repeated call does not run twice either.
 */
export const repeatedId = (reqId: string): string => `${reqId}~`;

/** Repeats a call under the name that the tool has in the version of its Computer, if it has one. */
async function callOtherName(
  { requests, tools }: Required<CallOffice>,
  { call, options, reqId, result, leftMs }: RefusedCall,
): Promise<CallToolResult> {
  const { computer, tool_name } = call;
  const { signal } = options;
  const again = repeatedId(reqId);
  if (!isIdentifier(again)) return result;
  let isCancelled = false;
  const end = requests.onCancel(reqId, () => {
    isCancelled = true;
    requests.cancel(again);
  });
  try {
    let listed = tools.get(computer);
    // A list with the refused name is from before the refusal.
    if (listed?.some(({ name }) => name === tool_name) ?? true) {
      listed = await requests.ask(GET_TOOLS_EVENT, { computer }, {
        signal,
        timeoutMs: leftMs(),
      }).then((answer) => answer.tools, () => []);
    }
    signal?.throwIfAborted();
    const name = nameToCall(listed ?? [], tool_name);
    const restMs = leftMs();
    if (isCancelled) return cancelledResult();
    if (restMs <= 0 || name === tool_name) return result;
    const named = { ...call, tool_name: name };
    const repeated = { ...options, reqId: again };
    return await callOnce({ requests }, named, repeated, restMs);
  } finally {
    end();
  }
}

/** Most bytes that are put back into one result; Computers of all SDKs refuse larger content. */
const MAX_RESTORED_BYTES = 100 * 2 ** 20;

/** The keys that a Computer adds to content that it left out (protocol §8.7). */
const HANDLE_KEY = "a2c_blob_handle";
const SIZE_KEY = "a2c_total_size";
const DIGEST_KEY = "a2c_sha256";

/** Content that a Computer left out of a result. */
interface LeftOut {
  readonly handle: string;
  /** SHA-256 as lower-case digits. */
  readonly expected: string | undefined;
  /** For people: its type and size. */
  readonly described: string;
}

type Block = CallToolResult["content"][number];

/**
 * Puts the binary content back into a result that its Computer left out (protocol §8.7).
 *
 * An empty image must not pass for the image: what cannot be fetched is replaced with a text that
 * has the reason, and the result becomes an error that counts it in `a2c_missing_blobs`.
 *
 * @throws the reason of the signal
 */
async function restoreResult(
  result: CallToolResult,
  place: { readonly requests: Requests; readonly computer: string },
  signal: AbortSignal | undefined,
): Promise<CallToolResult> {
  if (!result.content.some(leftOutOf)) return result;
  const content: Block[] = [];
  let missing = 0;
  for (const block of result.content) {
    const leftOut = leftOutOf(block);
    if (!leftOut) {
      content.push(block);
      continue;
    }
    try {
      const from = { ...place, ...leftOut };
      const bytes = await fetchWhole(from, MAX_RESTORED_BYTES, signal);
      content.push(filled(block, toBase64(bytes)));
    } catch (error) {
      signal?.throwIfAborted();
      missing++;
      const text =
        `The tool ran, but this part of its result is missing (${leftOut.described}): ${
          reasonOf(error)
        }`;
      content.push({ type: "text", text });
    }
  }
  if (missing === 0) return { ...result, content };
  const { error_code = ErrorCode.TOOL_EXECUTION_FAILED } = resultMeta(result);
  return withResultMeta({ ...result, content, isError: true }, {
    error_code,
    a2c_missing_blobs: missing,
  });
}

type Fields = Readonly<Record<string, unknown>>;

/** Returns what a Computer left out of a block, if it did. */
function leftOutOf(block: Block): LeftOut | undefined {
  const inner: Fields = {
    ...(block.type === "resource" ? block.resource : block),
  };
  if ((inner.data ?? "") !== "" || (inner.blob ?? "") !== "") return undefined;
  const { [HANDLE_KEY]: handle, [SIZE_KEY]: size, [DIGEST_KEY]: digest } = {
    ...Object(inner.meta),
    ...Object(inner._meta),
    ...Object(block.meta),
    ...Object(block._meta),
  } as Fields;
  if (typeof handle !== "string") return undefined;
  const described = [
    block.type,
    ...(typeof inner.mimeType === "string" ? [inner.mimeType] : []),
    ...(Number.isSafeInteger(size) ? [`${size} bytes`] : []),
  ].join(", ");
  return {
    handle,
    expected: typeof digest === "string" ? digest.toLowerCase() : undefined,
    described,
  };
}

/** Returns the block as an inline result would have had it. */
function filled(block: Block, base64: string): Block {
  const outer = withoutKeys(block);
  return outer.type === "resource"
    ? { ...outer, resource: { ...withoutKeys(outer.resource), blob: base64 } }
    : { ...outer, data: base64 } as Block;
}

/** Removes the keys of the handle, and metadata that is empty then. */
function withoutKeys<T extends object>(fields: T): T {
  const cleaned: [string, unknown][] = Object.entries(fields)
    .flatMap(([name, value]) => {
      if (!/^_?meta$/.test(name) || !isRecord(value)) return [[name, value]];
      const { [HANDLE_KEY]: _, [SIZE_KEY]: __, [DIGEST_KEY]: ___, ...rest } =
        value;
      return Object.keys(rest).length === 0 ? [] : [[name, rest]];
    });
  return Object.fromEntries(cleaned) as T;
}
