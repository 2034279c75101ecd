import type { ElicitResult } from "../../../protocol/mod.ts";

/** A question that an MCP server asks during a tool call, or while it makes a prompt. */
export interface ElicitRequest {
  /** The MCP server that asks; everything below `message` is its own text. */
  readonly server: string;
  /** What identifies that server, where it is not the name; another one may have that, too. */
  readonly bundleId?: string;
  /** The calling Agent; absent when several calls run there, and any of them may have caused the question. */
  readonly agent?: string;
  /** The operator of the Server who called in place of an Agent; absent as `agent` is. */
  readonly operator?: string;
  /** The name of the tool that the Agent called; absent as `agent` is, and for a prompt. */
  readonly tool?: string;
  /** The question. */
  readonly message: string;
  /** An object schema whose properties are simple values: the fields to fill in. */
  readonly requestedSchema: Record<string, unknown>;
}

/**
 * Answers a question of an MCP server. An error, or values that the schema does not allow, refuse it.
 *
 * Several questions may be open at once.
 *
 * @param signal withdraws the question: its call ended, or the MCP server withdrew it
 */
export type Elicit = (
  request: ElicitRequest,
  signal: AbortSignal,
) => ElicitResult | Promise<ElicitResult>;
