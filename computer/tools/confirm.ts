import { ErrorCode } from "../../protocol/mod.ts";
import type { EffectiveToolMeta } from "../host/tool_meta.ts";

/** A tool call that waits for a person's word. */
export interface ConfirmRequest {
  /** The calling Agent. */
  readonly agent: string;
  /** The MCP server that has the tool. */
  readonly server: string;
  /** The tool's original name. */
  readonly tool: string;
  /** The name that it was called by: its alias, or the original name. */
  readonly name: string;
  /** The arguments. */
  readonly params: Record<string, unknown>;
}

/** `always` stands for all calls of the tool, from any Agent, until its MCP server is replaced or the Computer ends. */
export type ConfirmAnswer = "once" | "always" | "no";

/**
 * Asks whether a tool may run (spec §7.3).
 *
 * A throw counts as "no". Several calls may be asked about at once.
 *
 * @param signal withdraws the question: the call was cancelled, timed out, or was settled otherwise
 */
export type Confirm = (
  request: ConfirmRequest,
  signal: AbortSignal,
) => ConfirmAnswer | Promise<ConfirmAnswer>;

/** A call that does not run. */
export interface ConfirmRefusal {
  /** Says which kind this is. */
  readonly kind: "refuse";
  /** 4005. */
  readonly code: number;
  /** For people and models. */
  readonly text: string;
}

/** What stands between a call and its tool. */
export type ConfirmDecision =
  | { readonly kind: "run" }
  | { readonly kind: "ask" }
  | ConfirmRefusal;

/**
 * Decides whether a call needs a person's word (spec §7.3).
 *
 * @param meta of the tool
 * @param settled whether somebody said "always" before
 * @param canAsk whether there is anybody to ask
 */
export function decideConfirmation(
  { auto_apply }: Pick<EffectiveToolMeta, "auto_apply">,
  settled: boolean,
  canAsk: boolean,
  { name, server }: Pick<ConfirmRequest, "name" | "server">,
): ConfirmDecision {
  if (auto_apply === true || settled) return { kind: "run" };
  if (canAsk) return { kind: "ask" };
  return {
    kind: "refuse",
    code: ErrorCode.TOOL_REQUIRES_CONFIRMATION,
    text:
      `Tool "${name}" of MCP server "${server}" requires confirmation, and nobody at the Computer can give it; ` +
      "set auto_apply to true for it in tool_meta, or start the Computer with --yes or on a terminal",
  };
}

/** What an Agent is told when a person said no. */
export const refusedByPerson = (
  { name, server }: Pick<ConfirmRequest, "name" | "server">,
): ConfirmRefusal => ({
  kind: "refuse",
  code: ErrorCode.TOOL_REQUIRES_CONFIRMATION,
  text:
    `The person at the Computer refused the call of tool "${name}" of MCP server "${server}"; do not repeat it unchanged`,
});
