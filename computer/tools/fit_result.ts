import {
  type CallToolResult,
  ErrorCode,
  toolErrorResult,
} from "../../protocol/mod.ts";
import type { BlobStore } from "../blobs/blob_store.ts";
import { moveOut } from "../blobs/move_out.ts";
import { whyTooLarge } from "../../client/message_limits.ts";
import { reasonOf } from "../util/values.ts";
import {
  limitResult,
  type MeasuredResult,
  measureResult,
} from "./answer_limits.ts";

/** Servers that take less are treated as those of other SDKs, which announce 1 MB. */
const SMALL_PAYLOAD_BYTES = 2_000_000;
const SMALL_BUDGET_BYTES = 32 * 2 ** 10;
/** Smaller content is not worth a request of its own; its handle has a fifth of this. */
const LEAST_BUDGET_BYTES = 2 ** 10;

/** Where the content goes that does not fit into a result, and how much fits. */
export interface ResultFitting {
  /** Keeps the content until the Agent fetches it; absent where Agents cannot. */
  readonly store: BlobStore | undefined;
  /** The Server's limit for messages in bytes, if known. */
  readonly maxPayload: number | undefined;
}

/**
 * Makes a result fit into a message of the Server: large binary content moves to the store, and the
 * Agent fetches it from there (0.4 §7.3). What is too large even then, such as a text, becomes an error.
 */
export async function fitResult(
  result: CallToolResult,
  { store, maxPayload }: ResultFitting,
): Promise<MeasuredResult> {
  if (store === undefined || maxPayload === undefined) {
    return limitResult(measureResult(result), maxPayload);
  }
  let fitted = result;
  let measured: MeasuredResult | undefined;
  for (const budget of budgetsFor(maxPayload)) {
    const before = fitted;
    try {
      fitted = await moveOut(before, store, budget);
    } catch (error) {
      return measureResult(notKept(reasonOf(error)));
    }
    if (measured === undefined || fitted !== before) {
      measured = measureResult(fitted);
    }
    if (fits(measured, maxPayload)) return measured;
  }
  return limitResult(measured ?? measureResult(fitted), maxPayload);
}

/** Returns the sizes up to which content stays in a result; the next is tried while it does not fit. */
const budgetsFor = (maxPayload: number): number[] =>
  maxPayload < SMALL_PAYLOAD_BYTES
    ? [SMALL_BUDGET_BYTES, LEAST_BUDGET_BYTES]
    : [Math.floor(maxPayload / 4), SMALL_BUDGET_BYTES, LEAST_BUDGET_BYTES];

const fits = ({ bytes }: MeasuredResult, maxPayload: number): boolean =>
  whyTooLarge(bytes, maxPayload) === undefined;

const notKept = (why: string): CallToolResult =>
  toolErrorResult(
    ErrorCode.TOOL_EXECUTION_FAILED,
    `The tool ran, but its result cannot be sent: ${why}`,
  );
