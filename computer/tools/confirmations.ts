/**
 * Confirmation of tool calls by the user (protocol §7): the rule, the questions, and the answers that
 * hold for later calls; and the reports that a call waits for a person, for this or another answer.
 *
 * @module
 */
import {
  type EffectiveToolMeta,
  effectiveToolMeta,
} from "../host/tool_table.ts";
import type { Refusal } from "./call_failure.ts";
import { log } from "../util/log.ts";
import { reasonOf } from "../util/values.ts";
import {
  type BaseMCPServerConfig,
  ErrorCode,
  type Waiting,
} from "../../protocol/mod.ts";
import { waitedMeta } from "../../protocol/payloads/tool_result.ts";
import { onAbort } from "../../shared/async.ts";
import type { CallTime } from "../../shared/call_time.ts";
import type { PermissionList } from "../rules/permissions.ts";
import type { ShownRule } from "../rules/rules.ts";
import {
  type Confirm,
  type Confirmed,
  type ConfirmRequest,
  toConfirmed,
} from "./confirm.ts";

export type {
  Confirm,
  ConfirmAnswer,
  Confirmed,
  ConfirmRequest,
} from "./confirm.ts";

/** A question to the user that is not answered yet. */
interface Question {
  readonly config: BaseMCPServerConfig;
  readonly tool: string;
  /** Allows the call and withdraws the question. */
  readonly allow: () => void;
}

/** Asks for user confirmation of tool calls, and remembers "always" answers. */
export class Confirmations {
  #confirm: Confirm | undefined;
  readonly #place: () => string;
  /** Allowed tools by the configuration of their server: a replaced one may be another program. */
  readonly #always = new WeakMap<BaseMCPServerConfig, Set<string>>();
  readonly #open = new Set<Question>();

  /** The permissions, for people. */
  readonly permissions: PermissionList = {
    list: () => [],
    remove: () => false,
  };

  /** The rules, in the order in which they are applied. */
  get rules(): readonly ShownRule[] {
    return [];
  }

  /**
   * @param confirm asks the user; without it, calls that need confirmation are refused
   * @param place returns the name of this Computer, for people
   */
  constructor(confirm: Confirm | undefined, place: () => string) {
    this.#confirm = confirm;
    this.#place = place;
  }

  /** Asks there where nobody could be asked before. */
  askWith(confirm: Confirm): void {
    this.#confirm ??= confirm;
  }

  /**
   * Decides on one call, asking the user if necessary.
   *
   * An "always" also answers all open questions about the same tool. The call's `signal` withdraws
   * the question, and the decision is meaningless then.
   */
  async decide(
    request: ConfirmRequest,
    config: BaseMCPServerConfig,
    { signal, waits }: { signal: AbortSignal; waits: CallWaits },
  ): Promise<Exclude<ConfirmDecision, { kind: "ask" }>> {
    const { tool, name, server } = request;
    const decision = decideConfirmation(
      effectiveToolMeta(config, tool),
      this.#always.get(config)?.has(tool) ?? false,
      this.#confirm !== undefined,
      request,
    );
    if (decision.kind !== "ask") return decision;
    const ask = () => this.#ask(request, config, signal);
    const { answer } = await waits.during("confirmation", ask);
    if (answer === "always") this.#allow(config, tool);
    if (answer !== "no" && answer !== "mute") return { kind: "run" };
    return {
      kind: "refuse",
      code: ErrorCode.TOOL_REQUIRES_CONFIRMATION,
      text:
        `The person at ${this.#place()} refused the call of tool "${name}" of MCP server "${server}"; do not repeat it unchanged`,
      fields: waitedMeta("confirmation"),
    };
  }

  /** Asks; a program answers at once. */
  #ask(
    request: ConfirmRequest,
    config: BaseMCPServerConfig,
    signal: AbortSignal,
  ): Confirmed | Promise<Confirmed> {
    if (signal.aborted) return { answer: "no" };
    const withdrawn = new AbortController();
    let answer: ReturnType<Confirm>;
    try {
      answer = this.#confirm?.(request, withdrawn.signal) ?? "no";
    } catch (error) {
      answer = Promise.reject(error);
    }
    return answer instanceof Promise
      ? this.#await(answer.then(toConfirmed), {
        request,
        config,
        signal,
        withdrawn,
      })
      : toConfirmed(answer);
  }

  /** Waits for the answer of a person, or to another question about the tool. */
  async #await(
    answer: Promise<Confirmed>,
    { request, config, signal, withdrawn }: {
      readonly request: ConfirmRequest;
      readonly config: BaseMCPServerConfig;
      readonly signal: AbortSignal;
      readonly withdrawn: AbortController;
    },
  ): Promise<Confirmed> {
    const settled = Promise.withResolvers<Confirmed>();
    const end = (confirmed: Confirmed, why: unknown) => {
      settled.resolve(confirmed);
      withdrawn.abort(why);
    };
    const { tool, name } = request;
    const question = {
      config,
      tool,
      allow: () => end({ answer: "once" }, ALLOWED),
    };
    const off = onAbort(signal, () => end({ answer: "no" }, signal.reason));
    this.#open.add(question);
    try {
      return await Promise.race([settled.promise, answer]);
    } catch (error) {
      const properties = { tool: name, reason: reasonOf(error) };
      log.warn("Cannot ask whether {tool} may run: {reason}", properties);
      return { answer: "no" };
    } finally {
      this.#open.delete(question);
      off();
    }
  }

  /** Allows a tool for good, and its open questions. */
  #allow(config: BaseMCPServerConfig, tool: string): void {
    const tools = this.#always.get(config) ?? new Set();
    this.#always.set(config, tools.add(tool));
    for (const question of [...this.#open]) {
      const isSame = question.config === config && question.tool === tool;
      if (isSame) question.allow();
    }
  }
}

const ALLOWED = "allowed by the answer to another question";

/** Whether a call may run, must be confirmed by the user, or is refused. */
type ConfirmDecision =
  | { readonly kind: "run" }
  | { readonly kind: "ask" }
  | { readonly kind: "refuse" } & Refusal;

/**
 * Decides whether a call needs user confirmation (protocol §7).
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
      `Tool "${name}" of MCP server "${server}" requires confirmation, and this Computer cannot ask a person; ` +
      "set auto_apply to true for it in tool_meta, or start the Computer with --yes or on a terminal",
  };
}

// ------------------------------------------------------------------ waiting

/** A program that decides in place of a person takes less: nothing is reported of it. */
const GRACE_MS = 50;

/** Reports that one call waits for a person, and that it goes on. */
export class CallWaits {
  readonly #report: (waiting: Waiting | null) => void;
  readonly #open: Waiting[] = [];
  readonly #time: CallTime;
  #reported: Waiting | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isEnded = false;

  /** @param time of the call, which stands still while a person is asked to confirm it */
  constructor(report: (waiting: Waiting | null) => void, time: CallTime) {
    this.#report = report;
    this.#time = time;
  }

  /** How long an answer after the timeout counts for the same call, repeated; 0 for not at all. */
  lateMs = 0;

  /** The reason why the call waits now. */
  get current(): Waiting | undefined {
    return this.#open[0];
  }

  /** Counts as waiting until the work is done; nothing waits for what is done at once. */
  async during<T>(waiting: Waiting, work: () => T | Promise<T>): Promise<T> {
    const result = work();
    if (!(result instanceof Promise)) return result;
    this.#open.push(waiting);
    this.#changed();
    try {
      return await result;
    } finally {
      this.#open.splice(this.#open.indexOf(waiting), 1);
      this.#changed();
    }
  }

  /** Reports nothing more. */
  end(): void {
    this.#isEnded = true;
    clearTimeout(this.#timer);
  }

  #changed(): void {
    if (this.#isEnded) return;
    const { current } = this;
    this.#time.confirms(current === "confirmation");
    if (current === undefined || current === this.#reported) this.#send();
    else this.#timer ??= setTimeout(() => this.#send(), GRACE_MS);
  }

  #send(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const { current } = this;
    if (current === this.#reported) return;
    this.#reported = current;
    this.#report(current ?? null);
  }
}
