/**
 * Whether a tool call may run (protocol §7): what the rules say of it, what was allowed before, and the
 * question to a person; and the reports that a call waits for a person, for this or another answer.
 *
 * @module
 */
import { effectiveToolMeta } from "../host/tool_table.ts";
import type { ServerView } from "../host/server_status.ts";
import type { ServerConfig } from "../config/config.ts";
import { callerOf, QuestionLimits } from "../rules/limits.ts";
import {
  type AskedCall,
  type PermissionList,
  Permissions,
  type PermissionStore,
  Tickets,
} from "../rules/permissions.ts";
import { whyNot } from "../rules/explain.ts";
import { ruleMismatches } from "../rules/mismatches.ts";
import {
  autoApplyRule,
  DEFAULT_RULE,
  firstMatch,
  type Rule,
  type ShownRule,
  shownRule,
  shownRules,
} from "../rules/rules.ts";
import {
  askedCall,
  hashOf,
  isOpenEnded,
  offered,
  offeredOptions,
} from "./asked_call.ts";
import {
  type CallToConfirm,
  type Confirm,
  type ConfirmAnswer,
  type Confirmed,
  type ConfirmRequest,
  toConfirmed,
} from "./confirm.ts";
import {
  callToConfirm,
  type CallToJudge,
  cannotAsk,
  type ConfirmDecision,
  denied,
  judgedCall,
  namedServer,
  type PendingCall,
  refuse,
  toolPhrase,
  toRun,
} from "./decision.ts";
import type { CallWaits } from "./call_waits.ts";
import { readFileNow } from "./file_now.ts";
import { log } from "../util/log.ts";
import { SteadyClock } from "../util/steady_clock.ts";
import { reasonOf } from "../util/values.ts";
import { waitedMeta } from "../../protocol/payloads/tool_result.ts";
import { LIMITS } from "../../shared/approvals/question.ts";
import { onAbort } from "../../shared/async.ts";
import type { CallClock } from "./call_clock.ts";

export type {
  Confirm,
  ConfirmAnswer,
  Confirmed,
  ConfirmRequest,
} from "./confirm.ts";

/** The circumstances of a decision. */
interface CallContext {
  /** Ends the call; its reason is `timeout` where it has timed out. */
  readonly signal: AbortSignal;
  /** Reports that the call waits. */
  readonly waits: CallWaits;
  /** What is left of the call's time. */
  readonly time: Pick<CallClock, "confirmLeftMs">;
}

/** What a {@linkcode Confirmations} is made of. */
export interface ConfirmationsOptions {
  /** Asks the user; without it, calls that need confirmation are refused. */
  readonly confirm: Confirm | undefined;
  /** Lets calls run in place of a question that need not be asked every time. */
  readonly allowAsked?: ((call: CallToConfirm) => void) | undefined;
  /** Returns the name of this Computer, for people. */
  readonly place: () => string;
  /** The rules of the configuration. */
  readonly rules?: readonly Rule[] | undefined;
  /** Keeps permissions. */
  readonly store?: PermissionStore | undefined;
  /** Returns the configurations of the MCP servers, for showing what they say of tools. */
  readonly servers?: () => readonly ServerConfig[];
  /** Called when permissions changed. */
  readonly changed?: () => void;
  /** Milliseconds since 1970, never less than before; for tests. */
  readonly now?: () => number;
}

const RUN: ConfirmDecision = { kind: "run" };
const RUN_CLOSED: ConfirmDecision = { kind: "run", isClosed: true };

/** The outcome of the rules for a call. */
export interface Judgement {
  /** The rule that decides. */
  readonly rule: ShownRule;
  /** As the configuration has it; absent for `auto_apply`, and where no rule matches. */
  readonly written?: Rule;
}

/** How a question ended: by an answer, of a person or a program, or without one. */
type Outcome =
  | { readonly kind: "answered"; readonly by: "person" | "program" } & {
    readonly confirmed: Confirmed;
  }
  | { readonly kind: "covered" }
  | { readonly kind: "muted" }
  | { readonly kind: "withdrawn" };

/** A question to the user that is not answered yet. */
interface OpenQuestion {
  readonly call: AskedCall;
  /** Returns whether a permission may end it, by the rules of now. */
  readonly isCoverable: () => boolean;
  /** Ends it without an answer of its own. */
  end(kind: "covered" | "muted", why: string): void;
}

/** Decides on tool calls by rules, permissions and limits, and asks the user about the rest. */
export class Confirmations {
  readonly #options: ConfirmationsOptions;
  #confirm: Confirm | undefined;
  readonly #permissions: Permissions;
  readonly #tickets: Tickets;
  readonly #limits: QuestionLimits;
  readonly #now: () => number;
  readonly #open = new Set<OpenQuestion>();
  #rules: readonly Rule[];
  #version: string | undefined;

  constructor(options: ConfirmationsOptions) {
    const { store, rules = [], now = new SteadyClock().now } = options;
    this.#options = options;
    this.#confirm = options.confirm;
    this.#rules = rules;
    this.#now = now;
    this.#permissions = new Permissions(
      store,
      now,
      options.changed ?? (() => {}),
    );
    this.#tickets = new Tickets(now);
    this.#limits = new QuestionLimits(now);
  }

  /** The permissions, for people. */
  get permissions(): PermissionList {
    return this.#permissions;
  }

  /** Reads the permissions that are stored, so that they are listed before the first call. */
  async ready(): Promise<void> {
    await this.#permissions.ready();
  }

  /** The rules, in the order in which they are applied. */
  get rules(): readonly ShownRule[] {
    return shownRules(this.#rules, this.#options.servers?.() ?? []);
  }

  /** Finds rules that match nothing, by names that there are not. */
  problems(views: readonly ServerView[]): string[] {
    if (this.#rules.length === 0) return [];
    return ruleMismatches(this.#rules, views.map(namedServer));
  }

  /** Replaces the rules of the configuration, for calls from now on. */
  configure(rules: readonly Rule[]): void {
    this.#rules = rules;
    this.#version = undefined;
  }

  /** Asks there where no person could be asked before. */
  askWith(confirm: Confirm): void {
    this.#confirm ??= confirm;
  }

  /** Finds the rule that decides on a call. */
  judge(pending: CallToJudge, at = this.#firstMatch(pending)): Judgement {
    const { target: { server, tool } } = pending;
    const written = this.#rules[at];
    if (written) return { rule: shownRule(written, at), written };
    const { auto_apply } = effectiveToolMeta(server.config, tool.name);
    return auto_apply === true
      ? { rule: autoApplyRule(server.config, tool.name) }
      : { rule: DEFAULT_RULE };
  }

  #firstMatch(pending: CallToJudge): number {
    const rules = this.#rules;
    return rules.length === 0 ? -1 : firstMatch(rules, judgedCall(pending));
  }

  /** Lets a call run by rules alone, as most calls do; without the words of {@linkcode judge}. */
  #runs({ target }: CallToJudge, at: number): ConfirmDecision | undefined {
    const rule = this.#rules[at];
    if (rule === undefined) {
      const { server: { config }, tool } = target;
      const { auto_apply } = effectiveToolMeta(config, tool.name);
      return auto_apply === true ? RUN : undefined;
    }
    if (rule.then !== "allow") return undefined;
    return rule.any === true || rule.others === "any" ? RUN : RUN_CLOSED;
  }

  /** Lists the rules of the configuration before the one that decides on a call, and why they do not. */
  passed(
    pending: CallToJudge,
  ): { readonly id: string; readonly why: string }[] {
    const call = judgedCall(pending);
    const at = firstMatch(this.#rules, call);
    return this.#rules.slice(0, at < 0 ? undefined : at).map((rule, i) => ({
      id: `rules.${i}`,
      why: whyNot(rule, call) ?? "",
    }));
  }

  /**
   * Decides on one call, asking the user if necessary.
   *
   * The call's `signal` withdraws the question, and the decision is meaningless then.
   */
  async decide(
    pending: PendingCall,
    context: CallContext,
  ): Promise<ConfirmDecision> {
    const at = this.#firstMatch(pending);
    const byRule = this.#runs(pending, at);
    if (byRule) return byRule;
    const judgement = this.judge(pending, at);
    const { rule, written } = judgement;
    if (rule.then === "deny") return denied(pending, rule, written);
    const { allowAsked } = this.#options;
    if (allowAsked && rule.every !== true) {
      allowAsked(callToConfirm(pending));
      return RUN;
    }
    const call = askedCall(pending, written);
    const reading = this.#permissions.ready();
    if (reading) await reading;
    const isAllowed = rule.every !== true && this.#permissions.use(call);
    if (isAllowed || this.#tickets.take(call)) return toRun(call, true);
    if (!this.#confirm) return refuse(cannotAsk(pending, rule));
    return this.#overLimit(pending, call) ??
      await this.#question(pending, call, judgement, context);
  }

  /** Refuses a call about which no person may be asked now. */
  #overLimit(
    pending: PendingCall,
    call: AskedCall,
  ): ConfirmDecision | undefined {
    const reason = this.#limits.refusal(call);
    if (reason === undefined) return undefined;
    return refuse(
      `The call of ${
        toolPhrase(pending)
      } was refused without asking: ${reason}`,
    );
  }

  /** Asks about a call, and acts on the answer. */
  async #question(
    pending: PendingCall,
    call: AskedCall,
    { rule, written }: Judgement,
    context: CallContext,
  ): Promise<ConfirmDecision> {
    const diff = written?.file && await readFileNow(written.file, call.params);
    if (context.signal.aborted) return this.#refused(pending, {});
    // Others may have been asked meanwhile.
    const refusal = written?.file && this.#overLimit(pending, call);
    if (refusal) return refusal;
    const request = this.#request(pending, call, rule, context);
    const asked = { ...request, ...(diff && { diff }) };
    const outcome = await context.waits.during(
      "confirmation",
      () => this.#ask(asked, call, { pending, signal: context.signal }),
    );
    // Rules may have changed meanwhile, and none is overridden that denies.
    const now = this.judge(pending);
    if (now.rule.then === "deny") return denied(pending, now.rule, now.written);
    switch (outcome.kind) {
      case "covered":
        return toRun(call, true);
      case "muted":
        return refuse(
          `The person at ${this.#options.place()} refuses calls of ${pending.agent} for now; do not repeat them`,
        );
      case "withdrawn":
        return this.#refused(pending, {});
      case "answered":
        return this.#take(asked, call, outcome)
          ? toRun(call, outcome.by === "person")
          : this.#refused(pending, outcome.confirmed);
    }
  }

  /** Describes the question. */
  #request(
    pending: PendingCall,
    call: AskedCall,
    rule: ShownRule,
    { signal, time, waits }: CallContext,
  ): ConfirmRequest {
    const { target: { server, tool }, params } = pending;
    const { id, text, every = false } = rule;
    const request: ConfirmRequest = {
      ...callToConfirm(pending),
      definition: call.definition,
      rule: { id, text },
      every,
      rulesVersion: this.#rulesVersion,
      options: offeredOptions({
        call,
        server: server.name,
        config: server.config,
        isOnly: every || isOpenEnded(tool, params),
        isInMemory: this.#options.store === undefined,
      }),
      leftMs: Math.max(0, time.confirmLeftMs),
      late: (answer) => late(toConfirmed(answer)),
      expectLate: () => waits.lateMs = LIMITS.lateMs,
    };
    const late = this.#lateAnswers(request, call, signal);
    return request;
  }

  /** Takes one answer that comes after the call has timed out. */
  #lateAnswers(
    request: ConfirmRequest,
    call: AskedCall,
    signal: AbortSignal,
  ): (confirmed: Confirmed) => void {
    let untilMs: number | undefined;
    onAbort(signal, () => {
      if (signal.reason !== "timeout") return;
      untilMs = this.#now() + LIMITS.lateMs;
    });
    return (confirmed) => {
      if (untilMs === undefined || this.#now() >= untilMs) return;
      untilMs = undefined;
      const outcome = { kind: "answered", by: "person", confirmed } as const;
      if (!this.#take(request, call, outcome)) return;
      // A permission lets the repeated call run by itself, and no more once it was removed.
      const answer = offered(request.options, confirmed.answer);
      if (answer === "once") this.#tickets.add(call);
    };
  }

  /** Remembers what an answer means for other calls; returns whether it is a yes. */
  #take(
    { options, every }: ConfirmRequest,
    call: AskedCall,
    { confirmed, by }: Outcome & { readonly kind: "answered" },
  ): boolean {
    const answer = offered(options, confirmed.answer);
    switch (answer) {
      case "once":
        return true;
      case "hour":
      case "always": {
        const { covers = "" } = options.find(({ id }) => id === answer) ?? {};
        this.#permissions.grant(call, answer, covers);
        if (!every) this.#endCovered();
        return true;
      }
      case "mute":
        this.#limits.mute(call);
        this.#endMuted(call);
        return false;
      case "no": {
        // A program is not tired by questions.
        const muted = by === "person" && this.#limits.refused(call);
        if (muted) this.#endMuted(call, muted === "all");
        return false;
      }
    }
  }

  /** Allows the open questions that a new permission covers. */
  #endCovered(): void {
    for (const question of [...this.#open]) {
      if (!question.isCoverable() || !this.#permissions.use(question.call)) {
        continue;
      }
      question.end("covered", "allowed by the answer to another question");
    }
  }

  /** Refuses the open questions of a caller that is mute now, or of all; late answers to it count no more. */
  #endMuted(call: AskedCall, isForAll = false): void {
    const isMute = (other: AskedCall) =>
      isForAll || callerOf(other) === callerOf(call);
    this.#tickets.drop(isMute);
    for (const question of [...this.#open]) {
      if (!isMute(question.call)) continue;
      question.end("muted", "refused by the answer to another question");
    }
  }

  /** Asks; a program answers at once. */
  #ask(
    request: ConfirmRequest,
    call: AskedCall,
    { pending, signal }: { pending: PendingCall; signal: AbortSignal },
  ): Outcome | Promise<Outcome> {
    const withdrawn = new AbortController();
    let answer: ReturnType<Confirm>;
    try {
      answer = this.#confirm?.(request, withdrawn.signal) ?? "no";
    } catch (error) {
      answer = Promise.reject(error);
    }
    if (!(answer instanceof Promise)) {
      return {
        kind: "answered",
        by: "program",
        confirmed: toConfirmed(answer),
      };
    }
    const isCoverable = () => {
      const { then, every } = this.judge(pending).rule;
      return then !== "deny" && every !== true;
    };
    const question = { isCoverable, call, signal, withdrawn };
    return this.#await(answer, request.name, question);
  }

  /** Waits for the answer of a person, or one to another question that decides on this one. */
  async #await(
    answer: Promise<ConfirmAnswer | Confirmed>,
    name: string,
    { signal, withdrawn, ...about }:
      & Pick<OpenQuestion, "call" | "isCoverable">
      & {
        readonly signal: AbortSignal;
        readonly withdrawn: AbortController;
      },
  ): Promise<Outcome> {
    const settled = Promise.withResolvers<Outcome>();
    const end = (kind: "covered" | "muted" | "withdrawn", why: unknown) => {
      settled.resolve({ kind });
      withdrawn.abort(why);
    };
    const question = { ...about, end };
    const off = onAbort(signal, () => end("withdrawn", signal.reason));
    this.#open.add(question);
    // Not those that a program answers at once: many calls arrive in one turn of the event loop.
    const close = this.#limits.open(about.call);
    const answered = answer.then((given): Outcome => ({
      kind: "answered",
      by: "person",
      confirmed: toConfirmed(given),
    }));
    try {
      return await Promise.race([settled.promise, answered]);
    } catch (error) {
      const properties = { tool: name, reason: reasonOf(error) };
      log.warn("Cannot ask whether {tool} may run: {reason}", properties);
      return { kind: "answered", by: "program", confirmed: { answer: "no" } };
    } finally {
      this.#open.delete(question);
      close();
      off();
    }
  }

  #refused(
    pending: PendingCall,
    { reason }: Pick<Confirmed, "reason">,
  ): ConfirmDecision {
    const said = reason === undefined || reason.trim() === ""
      ? ""
      : `: ${JSON.stringify(reason.slice(0, LIMITS.reason))}`;
    return refuse(
      `The person at ${this.#options.place()} refused the call of ${
        toolPhrase(pending)
      }${said}; do not repeat it unchanged`,
      waitedMeta("confirmation"),
    );
  }

  get #rulesVersion(): string {
    return this.#version ??= hashOf(this.rules).slice(0, 16);
  }
}
