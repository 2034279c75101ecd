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
/**
 * What is tried next where all content together is too large. Smaller content is not worth a request
 * of its own: its handle has a fifth of the last one.
 */
const FURTHER_BUDGETS = [SMALL_BUDGET_BYTES, 2 ** 10];

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
  try {
    let fitted = await moveOut(result, store, budgetFor(maxPayload));
    let measured = measureResult(fitted);
    for (const budget of FURTHER_BUDGETS) {
      if (whyTooLarge(measured.bytes, maxPayload) === undefined) break;
      fitted = await moveOut(fitted, store, budget);
      measured = measureResult(fitted);
    }
    return limitResult(measured, maxPayload);
  } catch (error) {
    return measureResult(notKept(reasonOf(error)));
  }
}

/** Returns the size up to which content stays in a result. */
const budgetFor = (maxPayload: number): number =>
  maxPayload < SMALL_PAYLOAD_BYTES
    ? SMALL_BUDGET_BYTES
    : Math.floor(maxPayload / 4);

const notKept = (why: string): CallToolResult =>
  toolErrorResult(
    ErrorCode.TOOL_EXECUTION_FAILED,
    `The tool ran, but its result cannot be sent: ${why}`,
  );
