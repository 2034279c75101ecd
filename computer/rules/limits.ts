/**
 * Limits against Agents that tire a person: how many questions are open, and what a no is good for.
 *
 * @module
 */
import { LIMITS } from "../../shared/approvals/question.ts";
import { isSame } from "./conditions.ts";
import type { AskedCall } from "./permissions.ts";

/** The most open questions of an Agent. */
const OPEN_PER_AGENT = 5;

/**
 * How long a no holds for the same call, how long an Agent is mute, and how many noes mute it; and how many
 * mute all, since an Agent can come back under another name.
 */
const NO = { ms: 600_000, toMute: 3, toMuteAll: 9 };
const MINUTES = NO.ms / 60_000;

/** A no of a person. */
interface Refused {
  readonly call: AskedCall;
  readonly untilMs: number;
}

/** Counts the open questions and the noes of a Computer. */
export class QuestionLimits {
  readonly #now: () => number;
  /** The callers of open questions. */
  readonly #open: string[] = [];
  #refused: Refused[] = [];
  /** Until when calls of a caller are refused, and those of all callers. */
  readonly #muted = new Map<string, number>();

  /** @param now in milliseconds since 1970 */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Returns why a call is refused without a question; undefined where a person may be asked. */
  refusal(call: AskedCall): string | undefined {
    this.#dropEnded();
    const { agent, bundleId, tool, params } = call;
    const caller = callerOf(call);
    if (this.#muted.has(ALL)) {
      return `calls that need a confirmation are refused for ${MINUTES} minutes, after ${NO.toMuteAll} noes`;
    }
    if (this.#muted.has(caller)) {
      return `calls of ${agent} that need a confirmation are refused for ${MINUTES} minutes, as the person decided or after ${NO.toMute} noes`;
    }
    const isRefused = this.#refused.some((each) =>
      callerOf(each.call) === caller && each.call.bundleId === bundleId &&
      each.call.tool === tool && isSame(each.call.params, params)
    );
    if (isRefused) {
      return `the person refused this very call within the last ${MINUTES} minutes`;
    }
    const own = this.#open.filter((each) => each === caller).length;
    if (own >= OPEN_PER_AGENT) {
      return `${own} questions about calls of ${agent} are open already; wait for their answers`;
    }
    return this.#open.length < LIMITS.open
      ? undefined
      : `${this.#open.length} questions are open already; wait for their answers`;
  }

  /** Counts a question as open; returns the function that ends it. */
  open(call: AskedCall): () => void {
    const caller = callerOf(call);
    this.#open.push(caller);
    return () => {
      const at = this.#open.indexOf(caller);
      if (at >= 0) this.#open.splice(at, 1);
    };
  }

  /** Counts a no of a person; returns who is mute now. */
  refused(call: AskedCall): "caller" | "all" | undefined {
    this.#dropEnded();
    this.#refused.push({ call, untilMs: this.#now() + NO.ms });
    const noes = this.#refused.filter((each) =>
      callerOf(each.call) === callerOf(call)
    );
    if (this.#refused.length >= NO.toMuteAll) {
      this.#muted.set(ALL, this.#now() + NO.ms);
      return "all";
    }
    if (noes.length < NO.toMute) return undefined;
    this.mute(call);
    return "caller";
  }

  /** Refuses all calls of a caller for ten minutes. */
  mute(call: AskedCall): void {
    this.#muted.set(callerOf(call), this.#now() + NO.ms);
  }

  #dropEnded(): void {
    if (this.#refused.length === 0 && this.#muted.size === 0) return;
    const now = this.#now();
    this.#refused = this.#refused.filter(({ untilMs }) => now < untilMs);
    for (const [caller, untilMs] of this.#muted) {
      if (now >= untilMs) this.#muted.delete(caller);
    }
  }
}

/** In place of a caller, which is identified by JSON. */
const ALL = "all";

/** Identifies the caller: an Agent may have the name of an operator. */
export const callerOf = (
  { agent, operator }: Pick<AskedCall, "agent" | "operator">,
): string => JSON.stringify([agent, operator ?? null]);
