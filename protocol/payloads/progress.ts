import * as z from "../validation/schema.ts";
import { computerCallShape } from "../validation/identifiers.ts";
import { type Parser, parser } from "../validation/parser.ts";
import type { AgentCallData } from "./tools.ts";

/** The most characters of {@linkcode ToolProgress.message}; a Computer cuts longer ones. */
export const MAX_PROGRESS_MESSAGE_LENGTH = 1000;

/**
 * The person at the Computer that a call waits for: one who confirms it, or one who answers a question of
 * its MCP server.
 */
export type Waiting = "confirmation" | "answer";

/** How far a running tool call has come, as its MCP server counts it. */
export interface ToolProgress {
  /** Increases with each report of a call that has no `waiting`. */
  progress: number;
  /** What `progress` will be at the end, if known. */
  total?: number;
  /** For people; at most 1,000 characters. */
  message?: string;
  /**
   * Only where this changes: what the call waits for from now on, or `null` when it waits for nobody any
   * more. Also reported to Agents that ask for nothing else.
   */
  waiting?: Waiting | null;
}

/** Says what a call waits for, such as `waits for confirmation at laptop`. */
export const waitingText = (waiting: Waiting, computer: string): string =>
  `waits for ${
    waiting === "confirmation" ? "confirmation" : "an answer"
  } at ${computer}`;

/** Tells the Agent of a call how far it is (spec §7). */
export interface ToolCallProgress extends AgentCallData, ToolProgress {
  /** Name of the Computer that runs the tool. */
  computer: string;
}

const toWaiting = (value: unknown): Waiting | null =>
  value === "confirmation" || value === "answer" ? value : null;

/** @internal */
export const toolCallProgressSchema = z.looseObject({
  ...computerCallShape,
  progress: z.number(),
  total: z.exactOptional(z.number()),
  message: z.exactOptional(
    // By code point, as zod's own check, which bundles would have for this alone.
    z.string().check(z.refine(
      (text) => [...text].length <= MAX_PROGRESS_MESSAGE_LENGTH,
      `Too big: expected string to have <=${MAX_PROGRESS_MESSAGE_LENGTH} characters`,
    )),
  ),
  // What later versions wait for counts as nothing.
  waiting: z.exactOptional(z.pipe(z.unknown(), z.transform(toWaiting))),
}) satisfies z.ZodMiniType<ToolCallProgress>;

/** Parses a {@linkcode ToolCallProgress}. */
export const parseToolCallProgress: Parser<ToolCallProgress> = parser(
  toolCallProgressSchema,
);
