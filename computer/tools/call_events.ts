import type { CallToolResult } from "../../protocol/mod.ts";

/** A tool call that an Agent made. */
export interface ToolCallStarted {
  /** The calling Agent. */
  readonly agent: string;
  /** Unique among the Agent's calls. */
  readonly req_id: string;
  /** The name that the tool was called by. */
  readonly tool: string;
}

/** A tool call that was answered. */
export interface ToolCallEnded extends ToolCallStarted {
  /** How long it took. */
  readonly milliseconds: number;
  /** What was answered, failures of the tool included; absent when the request itself was refused. */
  readonly result?: CallToolResult;
}
