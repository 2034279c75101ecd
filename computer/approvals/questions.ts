/**
 * The questions to devices, each a text of JSON that is written once, with the arguments that run.
 *
 * | state | on | next |
 * | --- | --- | --- |
 * | open | the first answer: of a device, the terminal, the page | ended |
 * | open | its call ends: cancelled, or its MCP server was replaced | ended |
 * | open | its call times out | late, for ten minutes; ended, where it is too large to be allowed |
 * | late | an answer; ten minutes | ended |
 * | ended | kept for ten minutes, without the text | – |
 *
 * An answer of a device to a question that is late goes to the call's `late`.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import {
  randomBytes,
  toBase64url,
  utf8,
} from "../../shared/approvals/bytes.ts";
import {
  type EndedQuestion,
  LIMITS,
  type OpenQuestion,
  type OptionId,
  type Payloads,
  type Question,
} from "../../shared/approvals/question.ts";
import { onAbort } from "../../shared/async.ts";
import type { Confirmed, ConfirmRequest } from "../tools/confirm.ts";
import type { Changes, Now } from "./time.ts";

/** Observes when a question opens and ends, such as what wakes the person. */
export interface QuestionWatch {
  /** A question is open, for so long. */
  asked(id: string, leftMs: number): void;
  /** It has ended, or its call has. */
  answered(id: string): void;
}

/** How many late questions are kept; those before are over. */
const MOST_LATE = LIMITS.open;
/** How many ended ones are kept, and how many of the last a device gets that did not ask for them. */
const MOST_ENDED = 200;
const MOST_ENDED_NEWS = 16;
const MOST_ENDED_ASKED = 24;
/** The most characters of why a question ended. */
const MOST_REASON = 60;

/** Bytes of all questions in one message of news; padded to a power of two, twice as many would be too large. */
const NEWS_BYTES = LIMITS.answerBytes / 2 - 16_384;

/** A question that may be answered. */
interface Asked {
  readonly hash: string;
  readonly text: string;
  /** Bytes of the text within a message. */
  readonly bytes: number;
  readonly options: readonly OptionId[];
  readonly isTooLarge: boolean;
  state: "open" | "late";
  until: number;
  /** Takes the answer. */
  readonly take: (answer: Confirmed) => void;
  /** Whether another call repeats its own. */
  readonly isRepeatedBy: (request: ConfirmRequest) => boolean;
}

/** A question that has ended. */
interface Ended extends EndedQuestion {
  readonly at: number;
}

/** The Computer that asks. */
interface Asking {
  /** Returns its name, which questions have. */
  readonly name: () => string;
  /** Returns whether a device could answer. */
  readonly isAnswered: () => boolean;
}

/** The questions of one Computer. */
export class Questions {
  readonly #computer: Asking;
  readonly #now: Now;
  readonly #changes: Changes;
  readonly #asked = new Map<string, Asked>();
  readonly #ended = new Map<string, Ended>();
  /** Observes open questions. */
  watch: QuestionWatch | undefined;

  constructor(computer: Asking, now: Now, changes: Changes) {
    this.#computer = computer;
    this.#now = now;
    this.#changes = changes;
  }

  /**
   * Asks; resolves with the answer of a device, and after the signal with one that means nothing.
   *
   * @throws {Error} when the arguments could not be shown as they are
   */
  async ask(request: ConfirmRequest, signal: AbortSignal): Promise<Confirmed> {
    const { name, isAnswered } = this.#computer;
    const { text, isTooLarge, options } = writeQuestion(request, name());
    if (!isTooLarge && !isSame(text, request)) {
      throw new Error(
        `the arguments of tool "${request.name}" are not plain JSON, and cannot be shown as they are`,
      );
    }
    if (!isTooLarge && isAnswered()) request.expectLate?.();
    // At once, so that questions are in the order of their calls.
    const hash = createHash("sha256").update(text).digest("base64url");
    const result = Promise.withResolvers<Confirmed>();
    const question: Asked = {
      hash,
      text,
      bytes: bytesIn(text),
      options,
      isTooLarge,
      state: "open",
      until: this.#now() + request.leftMs,
      take: (answer) => {
        // A program in this process may have changed its object meanwhile; what was shown is what may run.
        const isShown = isRefusal(answer.answer) || isSame(text, request);
        const counted = isShown ? answer : { ...answer, answer: "no" as const };
        if (question.state === "late") request.late(counted);
        else result.resolve(counted);
      },
      isRepeatedBy: (other) =>
        isSameTool(request, other) && isSame(text, other),
    };
    // One yes for the repetition is enough; another one would let it run twice.
    for (const late of [...this.#asked.values()]) {
      const isAgain = late.state === "late" && late.isRepeatedBy(request);
      if (isAgain) this.#end(late, "asked again");
    }
    this.#asked.set(hash, question);
    this.watch?.asked(hash, request.leftMs);
    this.#changes.report();
    const off = onAbort(signal, () => {
      this.#withdraw(question, signal.reason);
      result.resolve({ answer: "no" });
    });
    try {
      return await result.promise;
    } finally {
      off();
    }
  }

  /**
   * Takes the answer of a device.
   *
   * Nothing in here is awaited, so that nothing changes between the checks and the end of the question.
   *
   * @param by the device, after the word "answered"
   * @param isFresh whether its tick was given to the device within the last minute
   * @returns `taken`, or why not
   */
  answer(
    answer: Omit<Payloads["answer"], "re">,
    by: string,
    isFresh: boolean,
  ): string {
    this.#sweep();
    const { hash, option, reason } = answer;
    const question = this.#asked.get(hash);
    if (question === undefined) {
      const ended = this.#ended.get(hash);
      return ended === undefined ? "unknown" : `ended: ${ended.by}`;
    }
    if (!isFresh) return "stale";
    if (this.#now() > question.until) return "expired";
    if (question.isTooLarge && !isRefusal(option)) return "too large";
    if (!question.options.includes(option)) return "no such option";
    if (reason !== undefined && reason.length > LIMITS.reason) {
      return "reason too long";
    }
    this.#end(question, `answered ${by}`, option);
    question.take({ answer: option, by, ...(reason && { reason }) });
    return "taken";
  }

  /**
   * Returns what a device gets: the oldest first, those whose call still waits before the late ones, and no
   * more than fit into a message.
   *
   * @param have the hashes of the questions that it shows
   */
  news(have: readonly string[]): Pick<Payloads["news"], "questions" | "ended"> {
    this.#sweep();
    const now = this.#now();
    const questions: OpenQuestion[] = [];
    let bytes = 0;
    for (const each of this.#live(now)) {
      bytes += each.bytes;
      if (bytes > NEWS_BYTES) break;
      questions.push({
        question: each.text,
        left: Math.round(each.until - now),
        ...(each.state === "late" && { late: true }),
      });
    }
    const all = [...this.#ended.values()];
    const last = new Set(all.slice(-MOST_ENDED_NEWS));
    const asked = new Set(have.slice(0, MOST_ENDED_ASKED));
    const ended = all
      .filter((each) => last.has(each) || asked.has(each.hash))
      .map(({ at: _, ...each }) => each);
    return { questions, ended };
  }

  /** Whether a device shows something else than what is open. */
  differs(have: readonly string[]): boolean {
    this.#sweep();
    const live = this.#live(this.#now()).map(({ hash }) => hash);
    return live.some((hash) => !have.includes(hash)) ||
      have.some((hash) => !live.includes(hash));
  }

  /** Those that an answer would count for. */
  #live(now: number): Asked[] {
    const live = [...this.#asked.values()].filter(({ until }) => until > now);
    const isLate = ({ state }: Asked) => state === "late";
    return [
      ...live.filter((each) => !isLate(each)),
      ...live.filter(isLate),
    ];
  }

  /** The call has ended, or something else was answered first. */
  #withdraw(question: Asked, reason: unknown): void {
    if (this.#asked.get(question.hash) !== question) return;
    // One that can only be refused would keep its arguments for nothing.
    if (reason !== "timeout" || question.isTooLarge) {
      const why = typeof reason === "string" ? reason : "withdrawn";
      return this.#end(question, why);
    }
    this.watch?.answered(question.hash);
    question.state = "late";
    question.until = this.#now() + LIMITS.lateMs;
    const late = [...this.#asked.values()]
      .filter(({ state }) => state === "late")
      .toSorted((a, b) => a.until - b.until);
    for (const old of late.slice(0, -MOST_LATE)) this.#end(old, "timeout");
    this.#changes.report();
  }

  #end(question: Asked, by: string, answer?: OptionId): void {
    const { hash, state } = question;
    this.#asked.delete(hash);
    if (state === "open") this.watch?.answered(hash);
    this.#ended.set(hash, {
      hash,
      by: by.slice(0, MOST_REASON),
      at: this.#now(),
      ...(answer && { answer }),
    });
    const [oldest] = this.#ended.keys();
    if (this.#ended.size > MOST_ENDED && oldest) this.#ended.delete(oldest);
    this.#changes.report();
  }

  /** Ends late questions after their time, and forgets what ended long ago. */
  #sweep(): void {
    const now = this.#now();
    for (const each of [...this.#asked.values()]) {
      const isOver = each.state === "late" && now > each.until;
      if (isOver) this.#end(each, "timeout");
    }
    for (const [hash, { at }] of this.#ended) {
      if (now - at > LIMITS.endedMs) this.#ended.delete(hash);
    }
  }
}

const isRefusal = (option: string): boolean =>
  option === "no" || option === "mute";

/** A question as it is asked. */
interface Written {
  readonly text: string;
  readonly options: readonly OptionId[];
  readonly isTooLarge: boolean;
}

/** Writes a question: without its diff, or its arguments, where it would be too large with them. */
export function writeQuestion(
  request: ConfirmRequest,
  computer: string,
): Written {
  const whole = toQuestion(request, computer);
  const { diff: _, ...plain } = whole;
  for (const question of [whole, plain]) {
    const text = JSON.stringify(question);
    if (bytesIn(text) <= LIMITS.questionBytes) {
      return {
        text,
        options: question.options.map(({ id }) => id),
        isTooLarge: false,
      };
    }
  }
  const options = plain.options.filter(({ id }) => isRefusal(id));
  const omitted = utf8(JSON.stringify(request.params)).length;
  const stub: Question = { ...plain, options, arguments: {}, omitted };
  return {
    text: JSON.stringify(stub),
    options: options.map(({ id }) => id),
    isTooLarge: true,
  };
}

function toQuestion(request: ConfirmRequest, computer: string): Question {
  const { agent, operator, server, bundleId, tool, name, diff } = request;
  return {
    v: 1,
    id: toBase64url(randomBytes(16)),
    computer,
    asked: Date.now(),
    ms: request.leftMs,
    caller: operator === undefined
      ? { kind: "agent", name: agent }
      : { kind: "operator", name: operator },
    server,
    ...(bundleId !== undefined && { bundle: bundleId }),
    tool,
    ...(name !== tool && { alias: name }),
    definition: request.definition,
    rule: request.rule,
    rules: request.rulesVersion,
    // "Always" is for who sits at the Computer.
    options: request.options.filter(({ id }) => id !== "always"),
    arguments: request.params,
    ...(diff && { diff }),
  };
}

/**
 * Returns whether the tool runs with the arguments of the question's text: those of the wire are plain JSON,
 * those of a program in this process may be anything, and may change.
 */
const isSame = (text: string, { params }: ConfirmRequest): boolean =>
  isDeepStrictEqual(JSON.parse(text).arguments, params);

/** Returns whether two calls are of one caller and one tool. */
const isSameTool = (a: ConfirmRequest, b: ConfirmRequest): boolean =>
  a.agent === b.agent && a.operator === b.operator &&
  a.server === b.server && a.bundleId === b.bundleId && a.tool === b.tool;

/** Returns how many bytes a text takes within the JSON of a message. */
const bytesIn = (text: string): number => utf8(JSON.stringify(text)).length;
