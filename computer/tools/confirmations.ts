import { onAbort } from "../../shared/async.ts";
import type { BaseMCPServerConfig } from "../../protocol/mod.ts";
import type { CallWaits } from "./call_waits.ts";
import { reasonOf } from "../util/values.ts";
import {
  type Confirm,
  type ConfirmAnswer,
  type ConfirmRefusal,
  type ConfirmRequest,
  decideConfirmation,
  refusedByUser,
} from "./confirm.ts";
import { log } from "../util/log.ts";
import { effectiveToolMeta } from "../host/tool_meta.ts";

/** The call that a decision is about, as far as it goes on meanwhile. */
export interface DecidedCall {
  /** Withdraws the question; the decision is meaningless then. */
  readonly signal: AbortSignal;
  /** Reports that it waits. */
  readonly waits: CallWaits;
  /** The name of this Computer, for people. */
  readonly place: string;
}

/** A question to the user that is not answered yet. */
interface Question {
  readonly config: BaseMCPServerConfig;
  readonly tool: string;
  /** Allows the call and withdraws the question. */
  readonly allow: () => void;
}

/** Asks for user confirmation of tool calls and remembers "always" answers. */
export class Confirmations {
  readonly #confirm: Confirm | undefined;
  /** Allowed tools by the configuration of their server: a replaced one may be another program. */
  readonly #always = new WeakMap<BaseMCPServerConfig, Set<string>>();
  readonly #open = new Set<Question>();

  /** @param confirm asks the user; without it, calls that need confirmation are refused */
  constructor(confirm?: Confirm) {
    this.#confirm = confirm;
  }

  /**
   * Decides on one call, asking the user if necessary; resolves to `run` or `refuse`.
   *
   * An "always" also answers all open questions about the same tool.
   *
   * @param config of the MCP server
   */
  async decide(
    request: ConfirmRequest,
    config: BaseMCPServerConfig,
    { signal, waits, place }: DecidedCall,
  ): Promise<{ readonly kind: "run" } | ConfirmRefusal> {
    const { tool } = request;
    const decision = decideConfirmation(
      effectiveToolMeta(config, tool),
      this.#always.get(config)?.has(tool) ?? false,
      this.#confirm !== undefined,
      request,
    );
    if (decision.kind !== "ask") return decision;
    const answer = await waits.during(
      "confirmation",
      () => this.#ask(request, config, signal),
    );
    switch (answer) {
      case "always":
        this.#allowAlways(config, tool);
        return { kind: "run" };
      case "once":
        return { kind: "run" };
      default:
        return refusedByUser(request, place);
    }
  }

  #allowAlways(config: BaseMCPServerConfig, tool: string): void {
    const tools = this.#always.get(config) ?? new Set();
    this.#always.set(config, tools.add(tool));
    for (const question of [...this.#open]) {
      if (question.config === config && question.tool === tool) {
        question.allow();
      }
    }
  }

  async #ask(
    request: ConfirmRequest,
    config: BaseMCPServerConfig,
    signal: AbortSignal,
  ): Promise<ConfirmAnswer> {
    const withdrawn = new AbortController();
    const settled = Promise.withResolvers<ConfirmAnswer>();
    const end = (answer: ConfirmAnswer) => {
      settled.resolve(answer);
      withdrawn.abort();
    };
    const question: Question = {
      config,
      tool: request.tool,
      allow: () => end("once"),
    };
    const off = onAbort(signal, () => end("no"));
    this.#open.add(question);
    try {
      return await Promise.race([
        settled.promise,
        this.#answer(request, withdrawn.signal),
      ]);
    } finally {
      this.#open.delete(question);
      off();
    }
  }

  async #answer(
    request: ConfirmRequest,
    signal: AbortSignal,
  ): Promise<ConfirmAnswer> {
    try {
      return await this.#confirm?.(request, signal) ?? "no";
    } catch (error) {
      log.warn("Cannot ask whether {tool} may run: {reason}", {
        tool: request.name,
        reason: reasonOf(error),
      });
      return "no";
    }
  }
}
