import type { MCPServerConfig } from "../../protocol/mod.ts";
import { reasonOf } from "../util/values.ts";
import {
  type Confirm,
  type ConfirmAnswer,
  type ConfirmRefusal,
  type ConfirmRequest,
  decideConfirmation,
  refusedByPerson,
} from "./confirm.ts";
import { log } from "../util/log.ts";
import { effectiveToolMeta } from "../host/tool_meta.ts";

/** A question that waits for its answer. */
interface Question {
  readonly config: MCPServerConfig;
  readonly tool: string;
  /** Answers it in the person's place, and takes it back from them. */
  readonly settle: () => void;
}

/** The person's word on tool calls: whom to ask, and for which tools it was given for good. */
export class Confirmations {
  readonly #confirm: Confirm | undefined;
  /** Tools by the configuration of their server: one that is replaced may be another program. */
  readonly #always = new WeakMap<MCPServerConfig, Set<string>>();
  readonly #open = new Set<Question>();

  /** @param confirm asks a person; without it, calls that need their word are refused */
  constructor(confirm?: Confirm) {
    this.#confirm = confirm;
  }

  /**
   * Gets the word on one call; resolves to `run` or `refuse`.
   *
   * An "always" answers all questions about the same tool that are open at that moment.
   *
   * @param config of the MCP server
   * @param signal withdraws the question; what comes of it does not matter then
   */
  async settle(
    request: ConfirmRequest,
    config: MCPServerConfig,
    signal: AbortSignal,
  ): Promise<{ readonly kind: "run" } | ConfirmRefusal> {
    const { tool } = request;
    const decision = decideConfirmation(
      effectiveToolMeta(config, tool),
      this.#always.get(config)?.has(tool) ?? false,
      this.#confirm !== undefined,
      request,
    );
    if (decision.kind !== "ask") return decision;
    switch (await this.#ask(request, config, signal)) {
      case "always":
        this.#settleAll(config, tool);
        return { kind: "run" };
      case "once":
        return { kind: "run" };
      default:
        return refusedByPerson(request);
    }
  }

  #settleAll(config: MCPServerConfig, tool: string): void {
    const tools = this.#always.get(config) ?? new Set();
    this.#always.set(config, tools.add(tool));
    for (const question of [...this.#open]) {
      if (question.config === config && question.tool === tool) {
        question.settle();
      }
    }
  }

  async #ask(
    request: ConfirmRequest,
    config: MCPServerConfig,
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
      settle: () => end("once"),
    };
    const onAbort = () => end("no");
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    this.#open.add(question);
    try {
      return await Promise.race([
        settled.promise,
        this.#answer(request, withdrawn.signal),
      ]);
    } finally {
      this.#open.delete(question);
      signal.removeEventListener("abort", onAbort);
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
