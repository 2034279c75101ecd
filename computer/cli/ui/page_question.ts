import type { Field } from "../../tools/form.ts";

/** A button of a question. */
export interface PageChoice {
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

/** An answer that was read, and how it is told to who was asked as well. */
export interface ReadAnswer<T> {
  /** What counts. */
  readonly value: T;
  /** In words. */
  readonly said: string;
}
