import { ErrorCode, waitedMeta } from "../../protocol/mod.ts";
import type { EffectiveToolMeta } from "../host/tool_meta.ts";

/** A tool call that needs user confirmation. */
export interface ConfirmRequest {
  /** The calling Agent; `operator` where an operator of the Server calls. */
  readonly agent: string;
  /** The operator, where one calls. */
  readonly operator?: string;
  /** The name of the MCP server that has the tool. */
  readonly server: string;
  /** What identifies that server, where it is not the name; another one may have that, too. */
  readonly bundleId?: string;
  /** The tool's original name. */
  readonly tool: string;
  /** The name that the Agent used: its alias, or the original name. */
  readonly name: string;
  /** The arguments. */
  readonly params: Record<string, unknown>;
}

/** `always` allows all calls of the tool, by any Agent, until its MCP server is replaced or the Computer closes. */
export type ConfirmAnswer = "once" | "always" | "no";

/**
 * Asks whether a tool may run (spec §7.3).
 *
 * An error counts as "no". Several questions may be open at once.
 *
 * @param signal withdraws the question: the call was cancelled, timed out, or decided by another answer
 */
export type Confirm = (
  request: ConfirmRequest,
  signal: AbortSignal,
) => ConfirmAnswer | Promise<ConfirmAnswer>;

/** The refusal of a call. */
export interface ConfirmRefusal {
  /** Discriminates the union. */
  readonly kind: "refuse";
  /** 4005. */
  readonly code: number;
  /** The reason, for users and models. */
  readonly text: string;
  /** Metadata of the result, for programs. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** Whether a call may run, must be confirmed by the user, or is refused. */
export type ConfirmDecision =
  | { readonly kind: "run" }
  | { readonly kind: "ask" }
  | ConfirmRefusal;

/**
 * Decides whether a call needs user confirmation (spec §7.3).
 *
 * @param meta of the tool
 * @param alwaysAllowed whether the user answered "always" before
 * @param canAsk whether there is a user to ask
 */
export function decideConfirmation(
  { auto_apply }: Pick<EffectiveToolMeta, "auto_apply">,
  alwaysAllowed: boolean,
  canAsk: boolean,
  { name, server }: Pick<ConfirmRequest, "name" | "server">,
): ConfirmDecision {
  if (auto_apply === true || alwaysAllowed) return { kind: "run" };
  if (canAsk) return { kind: "ask" };
  return {
    kind: "refuse",
    code: ErrorCode.TOOL_REQUIRES_CONFIRMATION,
    text:
      `Tool "${name}" of MCP server "${server}" requires confirmation, and nobody at the Computer can give it; ` +
      "set auto_apply to true for it in tool_meta, or start the Computer with --yes or on a terminal",
  };
}

/**
 * Creates the refusal of a call that the user declined.
 *
 * @param computer its name
 */
export const refusedByUser = (
  { name, server }: Pick<ConfirmRequest, "name" | "server">,
  computer: string,
): ConfirmRefusal => ({
  kind: "refuse",
  code: ErrorCode.TOOL_REQUIRES_CONFIRMATION,
  text:
    `The person at ${computer} refused the call of tool "${name}" of MCP server "${server}"; do not repeat it unchanged`,
  fields: waitedMeta("confirmation"),
});
