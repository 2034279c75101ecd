import { randomUUID } from "node:crypto";
import type { Changes } from "./news_feed.ts";
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
  /** Describes it; called when it is shown. */
  view(): Pick<PageQuestion, "text" | "asking">;
  /** Asks at the terminal, if there is one. */
  readonly terminal: ((signal: AbortSignal) => Promise<T>) | undefined;
  /**
   * Reads an answer of the page.
   *
   * @throws {ProblemError} 400; the question stays open
   */
  read(body: unknown): T;
  /** Describes an answer in words, without the values that were typed. */
  say(answer: T): string;
  /** The answer when it is withdrawn. */
  readonly withdrawn: T;
}

/** An open question. */
interface Open {
  show(): void;
  take(body: unknown): void;
}

/** Questions that the page and, where there is one, the terminal ask at the same time: the first answer wins. */
export class QuestionDesk {
  readonly #changes: Changes;
  readonly #tell: (text: string) => void;
  readonly #open = new Map<string, Open>();
  readonly #hidden = new Set<string>();
  readonly #shown = new Map<
    string,
    { question: PageQuestion; version: number }
  >();

  /** @param tell receives lines for the terminal about what the page answered */
  constructor(changes: Changes, tell: (text: string) => void) {
    this.#changes = changes;
    this.#tell = tell;
  }

  /** Asks; resolves with the first answer, or when the signal withdraws the question. */
  async ask<T>(asked: Asked<T>, signal: AbortSignal): Promise<T> {
    if (signal.aborted) return asked.withdrawn;
    const id = randomUUID();
    const askedAt = Date.now();
    const answered = Promise.withResolvers<T>();
    const isDone = new AbortController();
    const end = (value: T, endedBy: EndedBy, said: string) => {
      if (isDone.signal.aborted) return;
      this.#end(id, endedBy, said);
      answered.resolve(value);
      isDone.abort();
    };
    this.#open.set(id, {
      show: () => this.#put({ id, askedAt, ...asked.view() }),
      take: (body) => {
        const value = asked.read(body);
        const said = asked.say(value);
        const [heading] = asked.view().text.split("\n");
        end(value, "page", said);
        this.#tell(`answered on the page: ${heading} ${said}`);
      },
    });
    this.#hidden.add(id);
    this.#fill();
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
  }

  /**
   * Takes an answer of the page.
   *
   * @throws {ProblemError} 400, 404, 409 when another answer was first
   */
  answer(id: string, body: unknown): void {
    const open = this.#open.get(id);
    if (open) return open.take(body);
    const ended = this.#shown.get(id)?.question;
    if (ended?.endedBy === undefined) {
      throw problemOf(
        404,
        "id",
        "there is no such question",
        "take one of the open questions",
      );
    }
    throw problemOf(
      409,
      "id",
      ended.endedBy === "nobody"
        ? "nobody needs the answer any more"
        : `it was answered at the ${ended.endedBy} already: ${ended.said}`,
      "take another question",
    );
  }

  /** Lists the questions that changed since, oldest first. */
  since(version: number): PageQuestion[] {
    return [...this.#shown.values()]
      .filter((shown) => shown.version > version)
      .map(({ question }) => question);
  }

  #put(question: PageQuestion): void {
    const version = this.#changes.next();
    this.#shown.set(question.id, { question, version });
  }

  #end(id: string, endedBy: EndedBy, said: string): void {
    this.#open.delete(id);
    this.#hidden.delete(id);
    const shown = this.#shown.get(id);
    if (!shown) return;
    this.#put({ ...shown.question, endedBy, said });
    const ended = [...this.#shown.values()]
      .filter(({ question }) => question.endedBy !== undefined)
      .sort((a, b) => a.version - b.version);
    for (const { question } of ended.slice(0, -MAX_ENDED)) {
      this.#shown.delete(question.id);
    }
    this.#fill();
  }

  /** Shows questions that wait for room. */
  #fill(): void {
    for (const id of this.#hidden) {
      const open = [...this.#shown.values()]
        .filter(({ question }) => question.endedBy === undefined);
      if (open.length >= MAX_SHOWN) return;
      this.#hidden.delete(id);
      this.#open.get(id)?.show();
    }
  }
}

/** A button of a question. */
interface PageChoice {
  /** What it answers. */
  readonly answer: string;
  /** Its text, the same as at the terminal. */
  readonly label: string;
}

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
    readonly type: "promptString" | "pickString";
    /** Whether it must not be echoed. */
    readonly isSecret: boolean;
    /** What to pick from, by position. */
    readonly options: readonly string[];
    /** What counts without an answer, where it may be shown; a position for `pickString`. */
    readonly fallback?: string | number;
  }
  | {
    /** What an MCP server wants to know. */
    readonly kind: "elicit";
    readonly choices: readonly PageChoice[];
    readonly fields: readonly Field[];
  };

/** Who ended a question: a person there, or nobody, as its call ended. */
export type EndedBy = "page" | "terminal" | "nobody";

/** A question as the page shows it. */
export interface PageQuestion {
  /** Identifies it. */
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly askedAt: number;
  /** The question, the same as at the terminal; the first line is its heading. */
  readonly text: string;
  /** How it can be answered. */
  readonly asking: Asking;
  /** Who ended it, when it is not open any more. */
  readonly endedBy?: EndedBy;
  /** The answer in words; the values that were typed are no part of it. */
  readonly said?: string;
}
