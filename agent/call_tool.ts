/**
 * A tool call, from the request to the result that its caller gets.
 *
 * {@linkcode callTool} sends it, answers questions of the MCP server by repeating the call, cancels it
 * when it times out or is aborted, and puts content back that the Computer left out for its size.
 *
 * @module
 */
import { isRecord } from "../protocol/names.ts";
import { toBase64 } from "./bytes.ts";
import { fetchWhole } from "./blobs.ts";
import { CALL_TOOL_NAMES, type CallToolOptions } from "./options.ts";
import { inputFields } from "./queries.ts";
import { type Requests, wireTimeout } from "./requests.ts";
import { ConnectionError, reasonOf } from "../client/errors.ts";
import {
  type CallToolResult,
  type ElicitParams,
  type ElicitResult,
  ErrorCode,
  resultMeta,
  timeoutResult,
  TOOL_CALL_EVENT,
  type ToolCallReq,
  type Wait,
  withResultMeta,
} from "../protocol/mod.ts";
import { checkNames } from "../shared/checks.ts";

/** The default timeout of a tool call. */
const TOOL_TIMEOUT_MS = 60_000;

type Call = Pick<ToolCallReq, "computer" | "tool_name" | "params">;

/** Calls a tool, answers its questions, and fetches what its result lacks (0.4 §7.3). */
export async function callTool(
  requests: Requests,
  call: Call,
  options: CallToolOptions,
): Promise<CallToolResult> {
  if ("offline" in options) {
    throw new TypeError(
      'Cannot use the option offline for one call: it is for all, as new SmcpAgent({ offline: "wait" })',
    );
  }
  checkNames(options, CALL_TOOL_NAMES, "callTool()");
  const { signal, onElicit, blobs = "restore" } = options;
  const result = onElicit
    ? await callAnswering(requests, call, options, onElicit)
    : await callOnce(requests, call, options);
  if (blobs === "keep") return result;
  return restoreResult(result, { requests, computer: call.computer }, signal);
}

/** Calls a tool, and answers its questions (an extension of this package). */
async function callAnswering(
  requests: Requests,
  call: Call,
  options: CallToolOptions,
  onElicit: NonNullable<CallToolOptions["onElicit"]>,
): Promise<CallToolResult> {
  let { input = {}, reqId = crypto.randomUUID() } = options;
  for (;;) {
    const result = await callOnce(requests, call, { ...options, input, reqId });
    const { resultType, inputRequests, requestState: state } = result;
    if (resultType !== "input_required" || typeof state !== "string") {
      return result;
    }
    const questions = inputRequests as Record<string, { params: ElicitParams }>;
    const responses: Record<string, ElicitResult> = {};
    try {
      for (const [key, { params }] of Object.entries(questions)) {
        responses[key] = await onElicit(params);
        options.signal?.throwIfAborted();
      }
    } catch (error) {
      requests.cancel(reqId);
      throw error;
    }
    input = { responses, state };
    reqId = crypto.randomUUID();
  }
}

/** How long the Computer's own timeout result is waited for, which may say why nothing came. */
const TIMEOUT_GRACE_MS = 500;

/** Calls a tool; a call that times out or is aborted here is cancelled at the Computer (spec §7). */
async function callOnce(
  requests: Requests,
  call: Call,
  options: CallToolOptions,
): Promise<CallToolResult> {
  const { timeoutMs = TOOL_TIMEOUT_MS, reqId = crypto.randomUUID() } = options;
  const { signal, onProgress, input, meta } = options;
  const { computer } = call;
  const timeout = wireTimeout(timeoutMs);
  // A Computer counts whole seconds.
  const graceMs = timeout * 1000 > timeoutMs ? 0 : TIMEOUT_GRACE_MS;
  let wait: Wait | undefined;
  const unfollow = requests.follow(reqId, (progress) => {
    const { waiting } = progress;
    if (waiting !== undefined) {
      wait = waiting ? { waiting, computer } : undefined;
    }
    return onProgress?.(progress);
  });
  try {
    return await requests.ask(TOOL_CALL_EVENT, {
      ...call,
      timeout,
      progress: onProgress ? true : "waiting",
      ...(input && inputFields(input)),
      ...(meta && { _meta: meta }),
    }, { timeoutMs: timeoutMs + graceMs, signal, reqId });
  } catch (error) {
    if (error instanceof ConnectionError && error.code === "timeout") {
      requests.cancel(reqId, "timeout");
      return timeoutResult(timeoutMs / 1000, wait);
    }
    if (signal?.aborted) requests.cancel(reqId);
    throw error;
  } finally {
    unfollow();
  }
}

/** Most bytes that are put back into one result; Computers of all SDKs refuse larger content. */
const MAX_RESTORED_BYTES = 100 * 2 ** 20;

/** The keys that a Computer adds to content that it left out (0.4 §7.3). */
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
 * Puts the binary content back into a result that its Computer left out (0.4 §7.3).
 *
 * An empty image must not pass for the image: what cannot be fetched is replaced with a text that
 * says why, and the result becomes an error that counts it in `a2c_missing_blobs`.
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
