import { randomUUID } from "node:crypto";
import type { Changes } from "./change_feed.ts";
import { cutText, type Fact } from "../facts.ts";
import {
  type Choice,
  isAnswered,
  type QuestionText,
} from "../question_text.ts";
import type { Field } from "../../tools/form.ts";
import { log } from "../../util/log.ts";
import { reasonOf } from "../../util/values.ts";
import { onAbort } from "../../../shared/async.ts";
import { problemOf } from "../../../shared/http.ts";

/** The most questions that are shown at once; others follow when these are answered. */
const MAX_SHOWN = 20;
/** How many that have ended are still shown. */
const MAX_ENDED = 50;

/** A question, which the first answer ends. */
export interface Question<T> {
  /** Its texts. */
  readonly text: QuestionText;
  /** How the page answers it. */
  readonly asking: Asking;
  /** Asks at the terminal, if there is one. */
  readonly terminal: ((signal: AbortSignal) => Promise<T>) | undefined;
  /**
   * Reads an answer of the page.
   *
   * @throws {ProblemError} 400; the question stays open
   */
  read(body: unknown): T;
  /** Returns whether an answer counts only after all was shown. */
  needsAll(answer: T): boolean;
  /** Describes an answer in words, without the values that were typed. */
  describe(answer: T): string;
  /** The answer when it is withdrawn. */
  readonly withdrawn: T;
}

/** A question, open or ended. */
interface Entry {
  /** The question as the page shows it; absent while it waits for room. */
  question?: PageQuestion;
  /** The number of its last change. */
  version: number;
  /** Absent when it has ended, so that nothing of question and answer is kept. */
  open?: Pick<OpenQuestion<unknown>, "view" | "whole" | "take">;
}

/** The questions that the page and, if there is one, the terminal ask at the same time: the first answer wins. */
export class PageQuestions {
  readonly #changes: Changes;
  readonly #note: (text: string) => void;
  /** The open ones and the latest that have ended, in the order of their arrival. */
  readonly #entries = new Map<string, Entry>();

  /** @param note receives lines for the terminal about answers of the page */
  constructor(changes: Changes, note: (text: string) => void) {
    this.#changes = changes;
    this.#note = note;
  }

  /** Asks; resolves with the first answer, or when the signal withdraws the question. */
  async ask<T>(question: Question<T>, signal: AbortSignal): Promise<T> {
    if (signal.aborted) return question.withdrawn;
    const open = new OpenQuestion(question, (endedBy, outcome) => {
      this.#close(open.id, endedBy, outcome);
      if (endedBy !== "page") return;
      this.#note(
        `answered on the page: ${outcome}: ${question.text.subject}`,
      );
    });
    this.#entries.set(open.id, { version: 0, open });
    this.#fill();
    const off = onAbort(signal, () => open.withdraw(signal.reason));
    open.askTerminal(signal);
    return await open.answer.finally(off);
  }

  /**
   * Returns all texts of an open question, the long ones whole.
   *
   * @throws {ProblemError} 404
   */
  whole(id: string): readonly Fact[] {
    const open = this.#entries.get(id)?.open;
    if (open) return open.whole();
    throw unknownQuestion();
  }

  /**
   * Takes an answer of the page.
   *
   * @throws {ProblemError} 400, also for one that needs more than was shown; 404; 409 when another answer
   * was first
   */
  answer(id: string, body: unknown): void {
    const entry = this.#entries.get(id);
    if (!entry) throw unknownQuestion();
    if (entry.open) return entry.open.take(body);
    const { endedBy, said } = entry.question ?? {};
    throw problemOf(
      409,
      "id",
      endedBy === "withdrawn"
        ? "the question was withdrawn"
        : `already answered at the ${endedBy}: ${said}`,
      "take another question",
    );
  }

  /** Lists the questions that changed since, oldest first. */
  since(version: number): PageQuestion[] {
    return [...this.#entries.values()]
      .filter((entry) => entry.version > version)
      .flatMap(({ question }) => question ?? []);
  }

  /** Shows the first open questions. */
  #fill(): void {
    const open = [...this.#entries.values()].filter((entry) => entry.open);
    for (const entry of open.slice(0, MAX_SHOWN)) {
      if (!entry.question && entry.open) this.#put(entry, entry.open.view());
    }
  }

  #put(entry: Entry, question: PageQuestion): void {
    entry.question = question;
    entry.version = this.#changes.next();
  }

  #close(id: string, endedBy: EndedBy, said: string): void {
    const entry = this.#entries.get(id);
    if (!entry?.question) {
      this.#entries.delete(id);
      return;
    }
    delete entry.open;
    const { id: _, asking, ...question } = entry.question;
    this.#put(entry, {
      ...question,
      id,
      facts: [],
      asking: { kind: asking.kind, choices: [] },
      endedBy,
      said,
    });
    const ended = [...this.#entries].filter(([, each]) => !each.open)
      .sort(([, a], [, b]) => a.version - b.version);
    for (const [id] of ended.slice(0, -MAX_ENDED)) this.#entries.delete(id);
    this.#fill();
  }
}

/** A question until its first answer. */
class OpenQuestion<T> {
  readonly id = randomUUID();
  readonly #askedAt = Date.now();
  readonly #question: Question<T>;
  readonly #facts: readonly PageFact[];
  readonly #onEnd: (endedBy: EndedBy, outcome: string) => void;
  readonly #answered = Promise.withResolvers<T>();
  readonly #ended = new AbortController();
  #isWhole: boolean;

  /** @param onEnd receives the answer in words */
  constructor(
    question: Question<T>,
    onEnd: (endedBy: EndedBy, outcome: string) => void,
  ) {
    this.#question = question;
    this.#facts = question.text.facts.map(pageFact);
    this.#isWhole = !this.#facts.some(({ tail }) => tail !== undefined);
    this.#onEnd = onEnd;
  }

  /** Resolves with the first answer. */
  get answer(): Promise<T> {
    return this.#answered.promise;
  }

  /** Returns the question as the page shows it. */
  view(): PageQuestion {
    const { text, asking } = this.#question;
    return {
      id: this.id,
      askedAt: this.#askedAt,
      ...text,
      facts: this.#facts,
      asking,
    };
  }

  /** Returns all texts, which count as shown from now on. */
  whole(): readonly Fact[] {
    this.#isWhole = true;
    return this.#question.text.facts;
  }

  /** Takes an answer of the page. */
  take(body: unknown): void {
    const value = this.#question.read(body);
    if (this.#question.needsAll(value)) {
      checkShown(this.#question.text, this.#isWhole);
    }
    this.#end(value, "page", this.#question.describe(value));
  }

  /** Asks at the terminal as well, if there is one. */
  askTerminal(signal: AbortSignal): void {
    const { terminal, describe } = this.#question;
    terminal?.(AbortSignal.any([signal, this.#ended.signal])).then(
      (value) => this.#end(value, "terminal", describe(value)),
      // The page can still answer.
      (error) =>
        log.warn("Cannot ask at the terminal: {reason}", {
          reason: reasonOf(error),
        }),
    );
  }

  /** Ends it without an answer of its own; a text of ours names where it was answered. */
  withdraw(reason: unknown): void {
    const outcome = isAnswered(reason) ? reason : "not needed any more";
    this.#end(this.#question.withdrawn, "withdrawn", outcome);
  }

  #end(value: T, endedBy: EndedBy, outcome: string): void {
    if (this.#ended.signal.aborted) return;
    this.#onEnd(endedBy, outcome);
    this.#answered.resolve(value);
    this.#ended.abort();
  }
}

const unknownQuestion = () =>
  problemOf(
    404,
    "id",
    "unknown question",
    "take one of the open questions",
  );

/** @throws {ProblemError} 400 */
function checkShown({ excess }: QuestionText, isWhole: boolean): void {
  if (excess !== undefined) {
    throw problemOf(400, "answer", excess, "refuse it");
  }
  if (isWhole) return;
  throw problemOf(
    400,
    "answer",
    "not all of the question was shown",
    "show all of it first",
  );
}

/** A longer text is cut, to so many columns at its beginning and at its end. */
const SHORT = { characters: 1_200, lines: 24 };
const CUT = { head: 800, tail: 300 };

function pageFact({ name, depth, text, length }: Fact): PageFact {
  const isShort = text.length <= SHORT.characters &&
    text.split("\n").length <= SHORT.lines;
  const cut = isShort ? undefined : cutText(text, CUT.head, CUT.tail);
  return cut
    ? { name, depth, text: cut.head, tail: cut.tail, length }
    : { name, depth, text };
}

/** A fact as a page shows it. */
interface PageFact extends Pick<Fact, "name" | "depth" | "text"> {
  /** The end of a text that is cut; `text` is its beginning. */
  readonly tail?: string;
  /** The characters of a text that is cut. */
  readonly length?: number;
}

/** A button of a question, the same as at the terminal. */
export type PageChoice = Omit<Choice<string>, "key">;

/** The kind of a question, and how it can be answered. */
export type Asking =
  | {
    /** Whether a tool may run. */
    readonly kind: "confirm";
    readonly choices: readonly PageChoice[];
  }
  | {
    /** The value of an input. */
    readonly kind: "input";
    readonly type?: "promptString" | "pickString";
    /** Whether it must not be echoed. */
    readonly isSecret?: boolean;
    /** The labels to pick from, by position. */
    readonly options?: readonly string[];
    /** The value without an answer, where it may be shown; a position for `pickString`. */
    readonly fallback?: string | number;
  }
  | {
    /** A form of an MCP server, or a page to open. */
    readonly kind: "elicit";
    readonly choices: readonly PageChoice[];
    readonly fields?: readonly Field[];
    /** The address of the page, for a link. */
    readonly url?: string;
  };

/** Where a question was answered; `withdrawn` when it was withdrawn, as its call had ended. */
export type EndedBy = "page" | "terminal" | "withdrawn";

/** A question as the page shows it. */
export interface PageQuestion {
  /** Identifies it. */
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly askedAt: number;
  /** The question, in the Computer's words. */
  readonly title: string;
  /** Its subject, in one line. */
  readonly subject: string;
  /** Its texts; none once it has ended. */
  readonly facts: readonly PageFact[];
  /** Why it cannot be answered with yes. */
  readonly excess?: string;
  /** How it can be answered. */
  readonly asking: Asking;
  /** Where it was answered, when it is not open any more. */
  readonly endedBy?: EndedBy;
  /** The answer in words, without the values that were typed. */
  readonly said?: string;
}
