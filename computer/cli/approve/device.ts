/**
 * A device at a terminal for one Computer: it polls for what is open, asks the person, and answers.
 *
 * Each poll gets the whole state, so that nothing is lost with a message. While a question is shown polls
 * go on: one that was answered elsewhere disappears, and an answer has a fresh tick.
 *
 * @module
 */
import {
  type AskedQuestion,
  type News,
  type Pairing,
  poll,
  RefusedError,
  retryMs,
  type Send,
  sendAnswer,
} from "../../../shared/approvals/device.ts";
import { LIMITS } from "../../../shared/approvals/question.ts";
import { sleep } from "../../../shared/async.ts";
import { nameText } from "../../../shared/shown_text.ts";
import { type Confirm, toConfirmed } from "../../tools/confirm.ts";
import { reasonOf } from "../../util/values.ts";
import { nearestOption, toRequest } from "./asked_question.ts";

/** Where questions are asked. */
export interface DevicePerson {
  /** Asks at the terminal. */
  readonly confirm: Confirm;
  /** Asks why not; an empty text is no reason. */
  askReason(signal: AbortSignal): Promise<string>;
  /** Prints a line. */
  note(text: string): void;
}

/** The least time between two polls: the Server takes 30 requests in 10 s. */
const MIN_POLL_MS = 500;
/** An older tick is renewed before an answer. */
const FRESH_TICK_MS = LIMITS.tickMs / 2;
/** How often an answer is sent. */
const SENDS = 3;
/** Who has answered is not kept waiting for longer, but may answer again. */
const MOST_RETRY_MS = 5_000;

/** Answers the questions of one Computer. */
export class Device {
  readonly #pairing: Pairing;
  readonly #send: Send;
  readonly #person: DevicePerson;
  /** The questions that are shown, or wait for their turn. */
  readonly #open = new Map<string, AbortController>();
  readonly #answered = new Set<string>();
  #tick = "";
  #tickAt = -Infinity;

  constructor(pairing: Pairing, send: Send, person: DevicePerson) {
    this.#pairing = pairing;
    this.#send = send;
    this.#person = person;
  }

  /**
   * Polls until the Computer refuses this device.
   *
   * @throws the signal's reason
   */
  async run(signal: AbortSignal): Promise<void> {
    let failure: string | undefined;
    for (let failures = 0;;) {
      signal.throwIfAborted();
      try {
        const began = performance.now();
        await this.#poll(failure === undefined ? LIMITS.waitMs : 0);
        if (failure !== undefined) this.#note("connected again");
        failure = undefined;
        failures = 0;
        const spare = began + MIN_POLL_MS - performance.now();
        if (spare > 0) await sleep(spare, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof RefusedError) return this.#refused();
        const reason = reasonOf(error);
        if (reason !== failure) {
          this.#note(`not connected, tries again: ${reason}`);
        }
        failure = reason;
        await sleep(retryMs(failures++, error), signal);
      }
    }
  }

  async #poll(wait: number): Promise<void> {
    const isFirst = this.#tick === "";
    const news = await poll(this.#pairing, this.#send, {
      have: [...this.#open.keys()],
      wait: isFirst ? 0 : wait,
    });
    if (isFirst) {
      this.#note(`connected; ${count(news.questions.length)}`);
    }
    this.#take(news);
  }

  #take({ tick, questions, ended }: News): void {
    this.#tick = tick;
    this.#tickAt = performance.now();
    for (const [hash, withdrawn] of this.#open) {
      if (questions.some((each) => each.hash === hash)) continue;
      this.#open.delete(hash);
      if (this.#answered.delete(hash)) continue;
      const end = ended.find((each) => each.hash === hash);
      const why = end?.by ?? "withdrawn";
      const answer = end?.by.startsWith("answered") ? ` (${end.answer})` : "";
      this.#note(`a question has ended: ${why}${answer}`);
      withdrawn.abort(why);
    }
    for (const question of questions) {
      if (this.#open.has(question.hash)) continue;
      const withdrawn = new AbortController();
      this.#open.set(question.hash, withdrawn);
      void this.#ask(question, withdrawn.signal);
    }
  }

  /** Asks, and answers; again where the answer cannot be delivered. */
  async #ask(asked: AskedQuestion, signal: AbortSignal): Promise<void> {
    const request = toRequest(asked);
    if (request === undefined) {
      return this.#note("a question of another version cannot be shown here");
    }
    const seconds = Math.round(asked.left / 1000);
    this.#note(
      `asks about ${nameText(request.tool)}; ${
        asked.late
          ? "its call has timed out: a yes is for one equal call within 10 minutes"
          : `${seconds} s left`
      }`,
    );
    try {
      while (!signal.aborted) {
        const confirmed = toConfirmed(
          await this.#person.confirm(request, signal),
        );
        if (signal.aborted) return;
        const option = nearestOption(request, confirmed);
        const isNo = option === "no" || option === "mute";
        const reason = isNo ? await this.#person.askReason(signal) : "";
        if (signal.aborted) return;
        const isDone = await this.#answer({
          hash: asked.hash,
          option,
          ...(reason !== "" && { reason: reason.slice(0, LIMITS.reason) }),
        }, signal);
        if (isDone) return;
      }
    } catch (error) {
      this.#note(`cannot ask: ${reasonOf(error)}`);
    }
  }

  /** Sends an answer; returns false where it was not delivered. */
  async #answer(
    answer: Omit<Parameters<typeof sendAnswer>[2], "tick">,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { hash } = answer;
    this.#answered.add(hash);
    let failure = "";
    for (let sent = 0; sent < SENDS; sent++) {
      try {
        const isFresh = performance.now() - this.#tickAt < FRESH_TICK_MS;
        if (sent > 0 || !isFresh) await this.#poll(0);
        const tick = this.#tick;
        const said = await sendAnswer(this.#pairing, this.#send, {
          ...answer,
          tick,
        });
        failure = said;
        if (said === "stale") continue;
        if (said !== "taken") this.#note(`the answer did not count: ${said}`);
        return true;
      } catch (error) {
        failure = reasonOf(error);
        const ms = retryMs(sent, error);
        if (ms > MOST_RETRY_MS || signal.aborted) break;
        if (sent + 1 < SENDS) await sleep(ms, signal);
      }
    }
    this.#answered.delete(hash);
    this.#note(`the answer was not delivered: ${failure}`);
    return false;
  }

  #refused(): void {
    const { name } = this.#pairing;
    this.#note(
      `refuses this program, which was removed there; forget it: smcp-computer approve --forget ${
        JSON.stringify(name)
      }`,
    );
    for (const withdrawn of this.#open.values()) withdrawn.abort("refused");
  }

  #note(text: string): void {
    this.#person.note(`${nameText(this.#pairing.name)}: ${text}`);
  }
}

const count = (questions: number): string =>
  questions === 0 ? "nothing is asked" : `questions: ${questions}`;
