/**
 * The results of calls. The table of calls makes each run once (protocol §7): equal requests share one
 * execution, and the last results are kept within limits. Before it is kept, a result is fitted into a
 * message of the Server (protocol §8.7, §9): large binary content moves to the store, and what is too
 * large even then becomes an error.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { whyTooDeep, whyTooLarge } from "../../client/message_limits.ts";
import { RESULT_KIND, writeHandle } from "../blobs/blobs.ts";
import type { BlobStore } from "../blobs/store.ts";
import { isBase64, reasonOf } from "../util/values.ts";
import {
  type AgentCallData,
  type CallToolResult,
  ErrorCode,
  ProtocolError,
  type ToolCallCancel,
  type ToolCallReq,
  toolErrorResult,
} from "../../protocol/mod.ts";
import { writtenOf } from "../../shared/json/written.ts";

// ------------------------------------------------------------------ each call runs once (protocol §7)

/** Why a running call is aborted: it was cancelled, for what reason, or the Computer left the office. */
export type AbortReason =
  | "cancelled"
  | "left"
  | NonNullable<ToolCallCancel["reason"]>;

/** One execution, shared by any number of equal requests. */
interface Execution {
  readonly fingerprint: string;
  readonly result: Promise<MeasuredResult>;
  readonly abort: AbortController;
}

/** A result that is kept: as JSON, since a garbage collector copies one text, or none, faster than what is in it. */
interface KeptResult {
  readonly fingerprint: string;
  readonly json: string | Uint8Array;
  /** What it counts; 0 for the error in place of one that was too large. */
  readonly bytes: number;
}

/** How many results are kept, and how many bytes they have as JSON in all. */
const MAX_RESULTS = 1_000;
const MAX_BYTES = 16 * 2 ** 20;

/**
 * Keeps the running and ended tool calls of one office by Agent and `req_id`, which makes calls
 * idempotent (protocol §7). Over a limit, the oldest results are shrunk or dropped first.
 *
 * Must be cleared when the Computer leaves the office.
 */
export class CallTable {
  readonly #running = new Map<string, Execution>();
  readonly #ended = new Map<string, KeptResult>();
  /** The keys of those that are not shrunk, as far as they are known: it follows the table, so that none is looked at twice. */
  #whole: MapIterator<string> | undefined;
  /** Of the results that are kept. */
  #bytes = 0;

  /** Number of running calls. */
  get running(): number {
    return this.#running.size;
  }

  /**
   * Executes a call once: an equal request shares the execution or gets the stored result.
   *
   * @param execute gets a signal whose reason is an {@linkcode AbortReason}; must not reject on abort
   * @throws {ProtocolError} 400 when the `req_id` was used for another tool or other params
   */
  async run(
    request: ToolCallReq,
    execute: (signal: AbortSignal) => Promise<MeasuredResult>,
  ): Promise<MeasuredResult> {
    const key = callKey(request);
    const fingerprint = callFingerprint(request);
    const running = this.#running.get(key);
    const ended = running ? undefined : this.#ended.get(key);
    const known = running ?? ended;
    if (known && known.fingerprint !== fingerprint) {
      const id = JSON.stringify(request.req_id);
      throw new ProtocolError(
        ErrorCode.BAD_REQUEST,
        `Cannot run call ${id}: this req_id was used for another tool or other params; use a new one for each call`,
      );
    }
    if (running) return await running.result;
    if (ended) return measureResult(parseKept(ended.json));
    const abort = new AbortController();
    const call = { fingerprint, abort, result: execute(abort.signal) };
    this.#running.set(key, call);
    try {
      const measured = await call.result;
      // Else it was forgotten meanwhile.
      if (this.#running.get(key) === call) {
        this.#keep(key, fingerprint, measured);
      }
      return measured;
    } finally {
      if (this.#running.get(key) === call) this.#running.delete(key);
    }
  }

  /** Aborts a running call; unknown and ended calls are ignored (protocol §7). */
  cancel(call: ToolCallCancel): void {
    const { reason } = call;
    const why: AbortReason = reason === "timeout" || reason === "operator"
      ? reason
      : "cancelled"; // a Server passes on any other value
    this.#running.get(callKey(call))?.abort.abort(why);
  }

  /** Aborts all running calls and forgets all results. */
  clear(): void {
    const calls = [...this.#running.values()];
    this.#running.clear();
    this.#ended.clear();
    this.#whole = undefined;
    this.#bytes = 0;
    for (const { abort } of calls) abort.abort("left" satisfies AbortReason);
  }

  /** Keeps a result; one that is too large is replaced with an error, so that its tool does not run again. */
  #keep(
    key: string,
    fingerprint: string,
    { json, bytes }: MeasuredResult,
  ): void {
    this.#ended.set(key, { fingerprint, json, bytes });
    this.#bytes += bytes;
    if (bytes > MAX_BYTES) this.#shrink(key);
    while (this.#bytes > MAX_BYTES) this.#shrinkOldest();
    for (const oldest of this.#ended.keys()) {
      if (this.#ended.size <= MAX_RESULTS) break;
      this.#bytes -= this.#ended.get(oldest)?.bytes ?? 0;
      this.#ended.delete(oldest);
    }
  }

  #shrinkOldest(): void {
    const { done, value } = (this.#whole ??= this.#ended.keys()).next();
    if (done) this.#whole = undefined;
    else this.#shrink(value);
  }

  #shrink(key: string): void {
    const { fingerprint, bytes = 0 } = this.#ended.get(key) ?? {};
    if (fingerprint === undefined || bytes === 0) return;
    this.#bytes -= bytes;
    const error = failed(
      `The tool ran, and is not run again for the same req_id; its result of ${bytes} bytes was too large to keep`,
    );
    this.#ended.set(key, {
      fingerprint,
      json: JSON.stringify(error),
      bytes: 0,
    });
  }
}

const callKey = ({ agent, req_id }: AgentCallData): string =>
  JSON.stringify([agent, req_id]);

/** A text up to this length is used unhashed: hashing it would take longer than everything else. */
const MAX_UNHASHED_CHARACTERS = 512;

/**
 * Computes a short text that is equal for calls of the same tool with equal params; the order of
 * keys does not matter (protocol §7).
 */
export function callFingerprint(
  { tool_name, params, request_state, input_responses }:
    & Pick<ToolCallReq, "tool_name" | "params">
    & Partial<Pick<ToolCallReq, "request_state" | "input_responses">>,
): string {
  const answers = request_state === undefined
    ? []
    : [request_state, sorted(input_responses)];
  // It starts with a bracket; no hash does.
  const text = JSON.stringify([tool_name, sorted(params), ...answers]);
  return text.length <= MAX_UNHASHED_CHARACTERS
    ? text
    : createHash("sha256").update(text).digest("base64");
}

/** Returns an equal value with the keys of all objects sorted. */
function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0)
      .map(([key, item]) => [key, sorted(item)]),
  );
}

// ------------------------------------------------------------------ what fits into a message (protocol §8.7, §9)

/** Servers that take less are treated as those of other SDKs, which announce 1 MB. */
const SMALL_PAYLOAD_BYTES = 2_000_000;
const SMALL_BUDGET_BYTES = 32 * 2 ** 10;
/**
 * What is tried next where all content together is too large. Smaller content is not worth a request
 * of its own: its handle has a fifth of the last one.
 */
const FURTHER_BUDGETS = [SMALL_BUDGET_BYTES, 2 ** 10];

/**
 * Makes a result fit into a message of the Server: large binary content moves to the store, and the
 * Agent fetches it from there (protocol §8.7). What is too large even then, such as a text, becomes an error.
 *
 * @param store keeps the content until the Agent fetches it
 * @param maxPayload the Server's limit for messages in bytes; without it, nothing is too large
 */
export async function fitResult(
  result: CallToolResult,
  store: BlobStore,
  maxPayload: number | undefined,
): Promise<MeasuredResult> {
  if (maxPayload === undefined) return measureResult(result);
  const first = maxPayload < SMALL_PAYLOAD_BYTES
    ? SMALL_BUDGET_BYTES
    : Math.floor(maxPayload / 4);
  try {
    let fitted = await moveOut(result, store, first);
    let measured = measureResult(fitted, maxPayload);
    for (const budget of FURTHER_BUDGETS) {
      if (!whyTooLarge(measured.bytes, maxPayload)) return measured;
      fitted = await moveOut(fitted, store, budget);
      measured = measureResult(fitted);
    }
    return limitResult(measured, maxPayload);
  } catch (error) {
    return measureResult(unsendable(reasonOf(error)));
  }
}

/** Maximum bytes of one piece of content: more than other SDKs take. */
const MAX_CONTENT_BYTES = 100 * 2 ** 20;

type Block = CallToolResult["content"][number];

/**
 * Moves binary content that is larger than a budget out of a result, into the store; handles take its
 * place (protocol §8.7).
 *
 * @param budget in bytes; smaller content stays
 * @returns the same result where nothing was moved
 * @throws {Error} content is over a limit, or could not be kept
 */
export async function moveOut(
  result: CallToolResult,
  store: BlobStore,
  budget: number,
): Promise<CallToolResult> {
  const isLarge = (block: Block) => decodedSize(base64Content(block)) > budget;
  if (!result.content.some(isLarge)) return result;
  const content: Block[] = [];
  for (const block of result.content) {
    const base64 = base64Content(block);
    const isMoved = isLarge(block) && isBase64(base64);
    content.push(isMoved ? await replace(block, base64, store) : block);
  }
  return { ...result, content };
}

/** Returns the binary content of a block, as base64; empty if it has none. */
function base64Content(block: Block): string {
  if (block.type === "image" || block.type === "audio") return block.data;
  if (block.type !== "resource") return "";
  const { blob } = block.resource;
  return typeof blob === "string" ? blob : "";
}

async function replace(
  block: Block,
  base64: string,
  store: BlobStore,
): Promise<Block> {
  const size = decodedSize(base64);
  const most = Math.min(MAX_CONTENT_BYTES, store.maxBytes);
  if (size > most) {
    throw new Error(
      `content of type ${block.type} has ${size} bytes, and at most ${most} can be fetched`,
    );
  }
  const bytes = decode(base64, size);
  const content = block.type === "resource" ? block.resource : block;
  const mimeType = "mimeType" in content ? content.mimeType : undefined;
  const sha256 = await store.add(bytes, mimeType ?? "application/octet-stream");
  const _meta = {
    ...block._meta,
    a2c_blob_handle: writeHandle({ kind: RESULT_KIND, sha256 }),
    a2c_total_size: bytes.length,
    a2c_sha256: sha256,
  };
  return block.type === "resource"
    ? { ...block, resource: { ...block.resource, blob: "" }, _meta }
    : { ...block, data: "", _meta } as Block;
}

/** Characters that are decoded at a time, since the runtime copies them first; a multiple of 4. */
const SLICE_CHARACTERS = 4 * 2 ** 20;

function decode(base64: string, size: number): Buffer {
  const bytes = Buffer.alloc(size);
  let at = 0;
  for (let from = 0; from < base64.length; from += SLICE_CHARACTERS) {
    const slice = base64.slice(from, from + SLICE_CHARACTERS);
    at += bytes.write(slice, at, "base64");
  }
  return bytes;
}

/** Returns the number of bytes behind base64. */
const decodedSize = (base64: string): number =>
  base64.length / 4 * 3 -
  (base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0);

/** A result and its size. */
export interface MeasuredResult {
  /** The result for the Agent. */
  readonly result: CallToolResult;
  /** The same as JSON, as text or in UTF-8. */
  readonly json: string | Uint8Array;
  /** Its size as JSON in bytes: measured once, since a large result takes long. */
  readonly bytes: number;
}

/** How many times as long a value may become that is written anew: `1e20` has 21 digits then. */
const MAX_GROWTH = 6;

/**
 * Measures a result; one that is nested too deeply is replaced with an error (protocol §9).
 *
 * @param maxPayload the Server's limit for messages in bytes: one that is far below it is measured by the text
 *   that its MCP server has written
 */
export function measureResult(
  result: CallToolResult,
  maxPayload = Infinity,
): MeasuredResult {
  const why = whyTooDeep(result);
  const sendable = why === undefined ? result : unsendable(why);
  const written = writtenOf(sendable);
  if (written && written.length * MAX_GROWTH < maxPayload) {
    return { result: sendable, json: written, bytes: written.length };
  }
  const json = JSON.stringify(sendable);
  // Counting bytes takes a fifth of the time of encoding them.
  const bytes = Buffer.byteLength(json);
  // A copy has no text that could be sent in its place: that must not be longer than what was measured.
  const isLonger = written !== undefined && written.length > bytes;
  return { result: isLonger ? { ...sendable } : sendable, json, bytes };
}

const decoder = new TextDecoder();

/** Parses a result that was kept. */
const parseKept = (json: string | Uint8Array): CallToolResult =>
  JSON.parse(typeof json === "string" ? json : decoder.decode(json));

/** Replaces a result that is too large for the Server with an error (protocol §9). */
export function limitResult(
  measured: MeasuredResult,
  maxPayload: number | undefined,
): MeasuredResult {
  if (maxPayload === undefined) return measured;
  const why = whyTooLarge(measured.bytes, maxPayload);
  return why === undefined ? measured : measureResult(unsendable(why));
}

const unsendable = (why: string): CallToolResult =>
  failed(`The tool ran, but its result cannot be sent: ${why}`);

/** Creates the result of a call that failed at this Computer. */
export const failed = (text: string): CallToolResult =>
  toolErrorResult(ErrorCode.TOOL_EXECUTION_FAILED, text);
