import { reasonOf } from "./_values.ts";
import {
  type Confirm,
  type ConfirmAnswer,
  type ConfirmRefusal,
  type ConfirmRequest,
  decideConfirmation,
  refusedByPerson,
} from "./confirm.ts";
import { log } from "./log.ts";
import type { EffectiveToolMeta } from "./tool_meta.ts";

/** A question that waits for its answer. */
interface Question {
  readonly request: ConfirmRequest;
  /** Answers it in the person's place, and takes it back from them. */
  readonly settle: () => void;
}

/** The person's word on tool calls: whom to ask, and for which tools it was given for good. */
export class Confirmations {
  readonly #confirm: Confirm | undefined;
  /** Tools by server. */
  readonly #always = new Map<string, Set<string>>();
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
   * @param signal withdraws the question; what comes of it does not matter then
   */
  async settle(
    request: ConfirmRequest,
    meta: Pick<EffectiveToolMeta, "auto_apply">,
    signal: AbortSignal,
  ): Promise<{ readonly kind: "run" } | ConfirmRefusal> {
    const { server, tool } = request;
    const decision = decideConfirmation(
      meta,
      this.#always.get(server)?.has(tool) ?? false,
      this.#confirm !== undefined,
      request,
    );
    if (decision.kind !== "ask") return decision;
    switch (await this.#ask(request, signal)) {
      case "always":
        this.#settleAll(server, tool);
        return { kind: "run" };
      case "once":
        return { kind: "run" };
      default:
        return refusedByPerson(request);
    }
  }

  /** Forgets what was said about the tools of a server; one that is replaced may be another program. */
  forget(server: string): void {
    this.#always.delete(server);
  }

  #settleAll(server: string, tool: string): void {
    const tools = this.#always.get(server) ?? new Set();
    this.#always.set(server, tools.add(tool));
    for (const { request, settle } of [...this.#open]) {
      if (request.server === server && request.tool === tool) settle();
    }
  }

  async #ask(
    request: ConfirmRequest,
    signal: AbortSignal,
  ): Promise<ConfirmAnswer> {
    const withdrawn = new AbortController();
    const settled = Promise.withResolvers<ConfirmAnswer>();
    const end = (answer: ConfirmAnswer) => {
      settled.resolve(answer);
      withdrawn.abort();
    };
    const question: Question = { request, settle: () => end("once") };
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
