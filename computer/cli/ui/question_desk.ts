import { randomUUID } from "node:crypto";
import type { Changes } from "./news_feed.ts";
import { cutText, type Fact } from "../facts.ts";
import type { Choice, QuestionText } from "../question_text.ts";
import type { Field } from "../../tools/form.ts";
import { log } from "../../util/log.ts";
import { reasonOf } from "../../util/values.ts";
import { onAbort } from "../../../shared/async.ts";
import { problemOf } from "../../../shared/http.ts";

/** The most questions that are shown at once; others follow when these are answered. */
const MAX_SHOWN = 20;
/** How many that have ended are still shown. */
const MAX_ENDED = 50;

/** A question for whoever answers first. */
export interface Asked<T> {
  /** What it shows. */
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
  say(answer: T): string;
  /** The answer when it is withdrawn. */
  readonly withdrawn: T;
}

/** A question, open or ended. */
interface Entry {
  /** What the page shows; absent while it waits for room. */
  question?: PageQuestion;
  /** The number of its last change. */
  version: number;
  /** Absent when it has ended, so that nothing of what was asked and answered is kept. */
  open?: {
    view(): PageQuestion;
    whole(): readonly Fact[];
    take(body: unknown): void;
  };
}

/** Where the page and, if there is one, the terminal ask at the same time: the first answer wins. */
export type QuestionDesk = ReturnType<typeof questionDesk>;

/**
 * Creates a desk of questions.
 *
 * @param tell receives lines for the terminal about what the page answered
 */
export function questionDesk(changes: Changes, tell: (text: string) => void) {
  /** The open ones and the latest that have ended, as they were asked. */
  const entries = new Map<string, Entry>();

  const put = (entry: Entry, question: PageQuestion) => {
    entry.question = question;
    entry.version = changes.next();
  };

  /** Shows the first open questions. */
  const fill = () => {
    const open = [...entries.values()].filter((entry) => entry.open);
    for (const entry of open.slice(0, MAX_SHOWN)) {
      if (!entry.question && entry.open) put(entry, entry.open.view());
    }
  };

  const close = (id: string, endedBy: EndedBy, said: string) => {
    const entry = entries.get(id);
    if (!entry?.question) {
      entries.delete(id);
      return;
    }
    delete entry.open;
    const { id: _, asking, ...question } = entry.question;
    put(entry, {
      ...question,
      id,
      facts: [],
      asking: { kind: asking.kind, choices: [] },
      endedBy,
      said,
    });
    const ended = [...entries].filter(([, each]) => !each.open)
      .sort(([, a], [, b]) => a.version - b.version);
    for (const [id] of ended.slice(0, -MAX_ENDED)) entries.delete(id);
    fill();
  };

  return {
    /** Asks; resolves with the first answer, or when the signal withdraws the question. */
    async ask<T>(asked: Asked<T>, signal: AbortSignal): Promise<T> {
      if (signal.aborted) return asked.withdrawn;
      const id = randomUUID();
      const askedAt = Date.now();
      const answered = Promise.withResolvers<T>();
      const isDone = new AbortController();
      const end = (value: T, endedBy: EndedBy, said: string) => {
        if (isDone.signal.aborted) return;
        close(id, endedBy, said);
        answered.resolve(value);
        isDone.abort();
      };
      const { text, asking } = asked;
      const facts = text.facts.map(pageFact);
      let isWhole = !facts.some(({ tail }) => tail !== undefined);
      const open = {
        view: (): PageQuestion => ({ id, askedAt, ...text, facts, asking }),
        whole: () => {
          isWhole = true;
          return text.facts;
        },
        take: (body: unknown) => {
          const value = asked.read(body);
          if (asked.needsAll(value)) checkShown(text, isWhole);
          const said = asked.say(value);
          end(value, "page", said);
          tell(`answered on the page: ${said}: ${text.subject}`);
        },
      };
      entries.set(id, { version: 0, open });
      fill();
      const off = onAbort(
        signal,
        () => end(asked.withdrawn, "nobody", "not needed any more"),
      );
      asked.terminal?.(AbortSignal.any([signal, isDone.signal])).then(
        (value) => end(value, "terminal", asked.say(value)),
        // Whoever sees the page can still answer.
        (error) =>
          log.warn("Cannot ask at the terminal: {reason}", {
            reason: reasonOf(error),
          }),
      );
      return await answered.promise.finally(off);
    },

    /**
     * Returns all that an open question shows, with long texts whole.
     *
     * @throws {ProblemError} 404
     */
    whole(id: string): readonly Fact[] {
      const open = entries.get(id)?.open;
      if (open) return open.whole();
      throw unknownQuestion();
    },

    /**
     * Takes an answer of the page.
     *
     * @throws {ProblemError} 400, also for one that needs what was not shown; 404; 409 when another
     * answer was first
     */
    answer(id: string, body: unknown): void {
      const entry = entries.get(id);
      if (!entry) throw unknownQuestion();
      if (entry.open) return entry.open.take(body);
      const { endedBy, said } = entry.question ?? {};
      throw problemOf(
        409,
        "id",
        endedBy === "nobody"
          ? "nobody needs the answer any more"
          : `it was answered at the ${endedBy} already: ${said}`,
        "take another question",
      );
    },

    /** Lists the questions that changed since, oldest first. */
    since: (version: number): PageQuestion[] =>
      [...entries.values()].filter((entry) => entry.version > version)
        .flatMap(({ question }) => question ?? []),
  };
}

const unknownQuestion = () =>
  problemOf(
    404,
    "id",
    "there is no such question",
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

/** What is asked, and how it can be answered. */
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
    /** What to pick from, by position. */
    readonly options?: readonly string[];
    /** What counts without an answer, where it may be shown; a position for `pickString`. */
    readonly fallback?: string | number;
  }
  | {
    /** What an MCP server wants to know. */
    readonly kind: "elicit";
    readonly choices: readonly PageChoice[];
    readonly fields?: readonly Field[];
  };

/** Who ended a question: a person there, or nobody, as its call ended. */
export type EndedBy = "page" | "terminal" | "nobody";

/** A question as the page shows it. */
export interface PageQuestion {
  /** Identifies it. */
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly askedAt: number;
  /** The question, in words of the Computer. */
  readonly title: string;
  /** What it is about, in one line. */
  readonly subject: string;
  /** What it shows; nothing once it has ended. */
  readonly facts: readonly PageFact[];
  /** Why nobody can say yes. */
  readonly excess?: string;
  /** How it can be answered. */
  readonly asking: Asking;
  /** Who ended it, when it is not open any more. */
  readonly endedBy?: EndedBy;
  /** The answer in words; the values that were typed are no part of it. */
  readonly said?: string;
}
