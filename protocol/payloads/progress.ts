import * as z from "../validation/schema.ts";
import { computerCallShape } from "../validation/identifiers.ts";
import { type Parser, parser } from "../validation/parser.ts";
import type { AgentCallData } from "./tools.ts";

/** The most characters of {@linkcode ToolProgress.message}; a Computer cuts longer ones. */
export const MAX_PROGRESS_MESSAGE_LENGTH = 1000;

/** How far a running tool call has come, as its MCP server counts it. */
export interface ToolProgress {
  /** Increases with each report of a call. */
  progress: number;
  /** What `progress` will be at the end, if known. */
  total?: number;
  /** For people; at most 1,000 characters. */
  message?: string;
}

/** Tells the Agent of a call how far it is (spec §7). */
export interface ToolCallProgress extends AgentCallData, ToolProgress {
  /** Name of the Computer that runs the tool. */
  computer: string;
}

/** @internal */
export const toolCallProgressSchema = z.looseObject({
  ...computerCallShape,
  progress: z.number(),
  total: z.exactOptional(z.number()),
  message: z.exactOptional(
    z.string().check(z.maxLength(MAX_PROGRESS_MESSAGE_LENGTH)),
  ),
}) satisfies z.ZodMiniType<ToolCallProgress>;

/** Parses a {@linkcode ToolCallProgress}. */
export const parseToolCallProgress: Parser<ToolCallProgress> = parser(
  toolCallProgressSchema,
);
