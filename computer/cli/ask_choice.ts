import process from "node:process";
import type { Readable } from "node:stream";
import { on } from "node:events";
import { emitKeypressEvents, type Key } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { plain } from "../../cli/terminal_text.ts";
import {
  type Choice,
  isAnswered,
  offered,
  type QuestionText,
} from "./question_text.ts";
import {
  nextPage,
  pageBefore,
  type QuestionView,
  type Reading,
  shareBefore,
  UNREAD,
  viewQuestion,
} from "./question_view.ts";
import { type Canvas, paint, Screen, type Span } from "./screen.ts";

/** A question with answers to choose from. */
export interface ChoiceQuestion<A extends string> {
  /** Its content. */
  readonly text: QuestionText;
  /** The answers, from top to bottom. */
  readonly choices: readonly Choice<A>[];
  /** The answer that Enter chooses at first, which needs nothing to be shown. */
  readonly first: A;
  /** Names the keys of the answers. */
  readonly keyHint: string;
}

/** A question while it is asked. */
interface Asked<A extends string> {
  /** The answer that Enter chooses. */
  readonly selected: A;
  /** How much was opened, and seen. */
  readonly reading: Reading;
}

/**
 * Asks a question with answers to choose from; those that need it are offered when all of the question
 * was shown.
 *
 * Keys are ignored until the key hint appears and the cursor is hidden.
 *
 * @returns undefined when the question was dismissed or withdrawn
 */
export const askChoice = <A extends string>(
  question: ChoiceQuestion<A>,
  terminal: AskingTerminal,
): Promise<A | undefined> => new ChoicePrompt(question, terminal).ask();

/** A question on a terminal, and how far it is read. */
class ChoicePrompt<A extends string> {
  readonly #question: ChoiceQuestion<A>;
  readonly #terminal: AskingTerminal;
  readonly #screen: Screen;
  #asked: Asked<A>;
  /** The current view: keys are about it, whatever the size of the terminal is by now. */
  #view: QuestionView | undefined;
  /** Whether keys are dropped after a page was turned. */
  #isSettling = false;
  /** Whether a key was dropped. */
  #isPressed = false;

  constructor(question: ChoiceQuestion<A>, terminal: AskingTerminal) {
    this.#question = question;
    this.#terminal = terminal;
    this.#screen = new Screen(terminal.output);
    this.#asked = { selected: question.first, reading: UNREAD };
  }

  async ask(): Promise<A | undefined> {
    const { input, output, signal } = this.#terminal;
    await ignoreKeys(this.#terminal, () => this.#draw("…"));
    const redraw = () => void this.#redraw();
    let cause: unknown;
    try {
      emitKeypressEvents(input);
      const keys = on(input, "keypress", { signal, close: ["end"] });
      input.resume();
      output.on("resize", redraw);
      output.write(HIDE_CURSOR);
      redraw(); // keys are received by now: what it prints may ask for them
      for await (const [, key] of keys) {
        const outcome = this.#press(key);
        if ("answer" in outcome) return this.#end(outcome.answer);
      }
    } catch (error) {
      cause = error; // also where it is withdrawn
    } finally {
      output.off("resize", redraw);
      output.write(SHOW_CURSOR);
      input.pause();
    }
    if (!signal.aborted) throw new Error("the terminal is gone", { cause });
    const { reason } = signal;
    if (isAnswered(reason)) {
      show(this.#screen, endedLines(this.#question.text, plain(reason)));
    } else {
      this.#screen.draw([]);
    }
    return undefined;
  }

  #press(key: Key): KeyOutcome<A> {
    const before = this.#asked;
    if (this.#isSettling && !isDismissal(key)) {
      this.#isPressed = true;
      return before;
    }
    const view = this.#view ?? this.#draw();
    const outcome = pressKey(this.#question, before, view, key);
    if ("answer" in outcome) return outcome;
    this.#asked = outcome;
    if (outcome.reading !== before.reading) void this.#settle();
    else if (outcome.selected !== before.selected) this.#redraw();
    return outcome;
  }

  /** Drops keys until none came for a moment, so that a paste turns one page, and answers nothing. */
  async #settle(): Promise<void> {
    const { signal } = this.#terminal;
    this.#isSettling = true;
    this.#redraw();
    do {
      this.#isPressed = false;
      await inTime(PAGE_MS, signal);
    } while (this.#isPressed && !signal.aborted);
    this.#isSettling = false;
    if (!signal.aborted) this.#redraw();
  }

  #redraw(): void {
    this.#draw(this.#isSettling ? "…" : undefined);
  }

  /** @param last the line below the answers, in place of the keys */
  #draw(last?: string): QuestionView {
    const { text, choices } = this.#question;
    const { columns, rows } = this.#screen;
    const room = {
      columns: columns - MARGIN.length,
      rows: rows - framedRows(choices),
    };
    const view = viewQuestion(text, room, this.#asked.reading);
    this.#view = view;
    this.#asked = { ...this.#asked, reading: view.reading };
    const lines = questionLines(this.#question, this.#asked, view, last);
    show(this.#screen, lines.slice(0, rows));
    return view;
  }

  /** Leaves the question with its answer. */
  #end(answer: A | undefined): A | undefined {
    const { text, choices } = this.#question;
    const chosen = choices.find((each) => each.answer === answer);
    show(this.#screen, endedLines(text, chosen?.label ?? "No"));
    return answer;
  }
}

const MARGIN = "│ ";

/** The rows of title, answers and hint. */
const framedRows = (choices: readonly unknown[]): number => choices.length + 2;

const show = (screen: Screen, lines: readonly Span[][]): void => {
  const look = { columns: screen.columns, colour: !process.env.NO_COLOR };
  screen.draw(lines.map((spans) => paint(spans, look)));
};

/** @param last the line below the answers, in place of the keys */
function questionLines<A extends string>(
  { text, choices, keyHint }: ChoiceQuestion<A>,
  { selected, reading }: Asked<A>,
  view: QuestionView,
  last?: string,
): Span[][] {
  const hint = reading.isAllShown ? keyHint : readingHint(text, view);
  return [
    [["◆ ", "busy"], [text.title, "bold"]],
    ...view.lines.map((
      line,
    ): Span[] => [[MARGIN, "dim"], [line, undefined, true]]),
    ...offered(choices, reading.isAllShown).map((choice): Span[] => [
      [MARGIN, "dim"],
      choice.answer === selected
        ? [`● ${choice.label} (${choice.key})`, "good"]
        : [`○ ${choice.label} (${choice.key})`],
    ]),
    [["└ ", "dim"], [last ?? hint, "dim"]],
  ];
}

/** Explains why there are few answers, and what to do. */
function readingHint(
  { excess, facts }: QuestionText,
  view: QuestionView,
): string {
  if (view.isTooSmall) return "enlarge the terminal to read the question";
  if (excess !== undefined) return `${excess}: too much to be allowed`;
  if (!view.reading.isOpen) return "Space shows all of it, for other answers";
  const { next, reading } = view;
  const share = next === undefined ? 1 : shareBefore(facts, next);
  const back = reading.tops.length > 0 ? "; b goes back" : "";
  return `Space shows more, ${Math.floor(100 * share)} % shown${back}`;
}

/** The lines that stay of a question: its subject, and the answer. */
const endedLines = (
  { title, subject }: QuestionText,
  answer: string,
): Span[][] => [
  [
    ["◇ ", "dim"],
    [`${title} `],
    [answer, "bold"],
    [`: ${subject}`, undefined, true],
  ],
];

const HIDE_CURSOR = "\x1b[?25l";
const SHOW_CURSOR = "\x1b[?25h";

/** The effect of a key: another state of the question, or the answer, of which there is none if it dismisses the question. */
type KeyOutcome<A extends string> =
  | Asked<A>
  | { readonly answer: A | undefined };

/** The keys that pass through a question. */
const FORWARD: readonly unknown[] = ["space", "pagedown"];
const BACK: readonly unknown[] = ["b", "pageup"];

/**
 * Decides the effect of a key on a question.
 *
 * The arrows stop at the first and the last answer, so that repeated ones cannot wrap from "no" to
 * "yes". Answers that are not offered have no key. Other keys have no effect.
 */
export function pressKey<A extends string>(
  { choices }: Pick<ChoiceQuestion<A>, "choices">,
  { selected, reading }: Asked<A>,
  view: QuestionView,
  { name, ctrl = false, meta = false }: Key,
): KeyOutcome<A> {
  if (isDismissal({ name, ctrl })) return { answer: undefined };
  if (ctrl || meta) return { selected, reading };
  if (name === "return") return { answer: selected };
  if (FORWARD.includes(name)) return { selected, reading: nextPage(view) };
  if (BACK.includes(name)) return { selected, reading: pageBefore(view) };
  const answers = offered(choices, reading.isAllShown);
  const chosen = answers.find(({ key }) => key === name);
  if (chosen) return { answer: chosen.answer };
  const step = name === "up" ? -1 : name === "down" ? 1 : 0;
  const at = answers.findIndex(({ answer }) => answer === selected) + step;
  return { selected: answers[at]?.answer ?? selected, reading };
}

const isDismissal = ({ name, ctrl }: Key): boolean =>
  name === "escape" || ctrl === true && name === "c";

/** Keys pressed this soon after a question appears were meant for something else. */
const IGNORE_KEYS_MS = 500;

/** Keys pressed this soon after a page was turned cannot be meant for it. */
const PAGE_MS = 100;

/** How late a timer may be: it was later where the process stood still, with keys that are read after it. */
const MAX_LATE_MS = 100;

/** Waits until keys are accepted: until none was pressed for a moment. */
export const untilKeysCount: Terminal["wait"] = async (signal, wasPressed) => {
  do {
    await setTimeout(IGNORE_KEYS_MS, undefined, { signal }).catch(() => {});
    await inTime(PAGE_MS, signal); // keys that are already buffered are read first
  } while (wasPressed() && !signal.aborted);
};

/** Waits for a time in which the process did not stand still. */
async function inTime(ms: number, signal: AbortSignal): Promise<void> {
  let began: number;
  do {
    began = performance.now();
    await setTimeout(ms, undefined, { signal }).catch(() => {});
  } while (performance.now() - began > ms + MAX_LATE_MS && !signal.aborted);
}

/**
 * Shows a question, and drops all keys typed before and until `wait` resolves.
 *
 * The terminal is in raw mode first and stays in it: keys that are not read yet would be echoed into
 * what is shown. Lines pasted for the next reader are restored by {@linkcode takeBack}.
 */
export async function ignoreKeys(
  { input, wait, signal }: AskingTerminal,
  show: () => void,
): Promise<void> {
  let isPressed = false;
  const ignore = () => isPressed = true;
  const wasPressed = () => {
    const was = isPressed;
    isPressed = false;
    return was;
  };
  input.setRawMode?.(true);
  input.on("data", ignore);
  input.resume();
  show();
  try {
    await wait(signal, wasPressed);
  } finally {
    input.off("data", ignore);
    input.pause();
  }
}

/**
 * Takes the buffered input: lines typed ahead for the shell.
 *
 * @returns puts it back
 */
export function takeBack(input: Readable): () => void {
  input.pause();
  const waiting: unknown = input.read();
  return () => {
    if (waiting !== null && !input.readableEnded) input.unshift(waiting);
  };
}

/** A terminal that asks. */
export interface Terminal {
  /** The keyboard; terminals support raw mode, in which keys arrive one by one. */
  readonly input: Readable & { setRawMode?: (raw: boolean) => unknown };
  /** The screen. */
  readonly output: Canvas;
  /**
   * Resolves when keys are accepted, or at once when the signal is aborted.
   *
   * @param wasPressed returns whether a key was pressed since its last call
   */
  readonly wait: (
    signal: AbortSignal,
    wasPressed: () => boolean,
  ) => Promise<void>;
}

/** A terminal with a question. */
export interface AskingTerminal extends Terminal {
  /** Withdraws the question. */
  readonly signal: AbortSignal;
}
