import process from "node:process";
import type { Readable, Writable } from "node:stream";
import { emitKeypressEvents } from "node:readline";
import { setImmediate, setTimeout } from "node:timers/promises";
import type { Choice, Size } from "./question_text.ts";
import { paint, Screen, type Span } from "./screen.ts";
import type { ConfirmAnswer } from "../tools/confirmations.ts";
import { onAbort } from "../../shared/async.ts";

/** A question with answers to choose from. */
interface ChoiceQuestion<A extends string> {
  /** The lines of the question. */
  readonly lines: readonly string[];
  /** The answers, from top to bottom. */
  readonly choices: readonly Choice<A>[];
  /** The answer that Enter chooses at first. */
  readonly first: A;
  /** Names the keys. */
  readonly keyHint: string;
}

/**
 * Asks a question with answers to choose from.
 *
 * Keys are ignored until the key hint appears and the cursor is hidden.
 *
 * @param signal withdraws the question
 * @returns undefined when the question was dismissed or withdrawn
 */
export async function askChoice<A extends string>(
  { lines, choices, first, keyHint }: ChoiceQuestion<A>,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<A | undefined> {
  const { input, output } = terminal;
  const screen = new Screen(output);
  /** @param last the line below the answers, or the chosen answer */
  const draw = (selected: A | undefined, last: string) => {
    const look = { columns: screen.columns, colour: !process.env.NO_COLOR };
    const shown = linesOf(lines, choices, selected, last);
    screen.draw(shown.map((spans) => paint(spans, look)));
  };
  await ignoreKeys(terminal, signal, () => draw(first, "…"));
  let selected = first;
  let chosen: A | undefined;
  const redraw = () => draw(selected, keyHint);
  const answered = new AbortController();
  const pressed = (key: PressedKey) => {
    const outcome = answerOf(choices, selected, key);
    if ("selected" in outcome) {
      if (outcome.selected === selected) return;
      selected = outcome.selected;
      return redraw();
    }
    if ("answer" in outcome) chosen = outcome.answer;
    answered.abort();
  };
  if (!signal.aborted) {
    const either = AbortSignal.any([signal, answered.signal]);
    try {
      await eachKey(input, pressed, either, () => {
        output.on("resize", redraw);
        output.write(HIDE_CURSOR);
        redraw();
      });
    } finally {
      output.off("resize", redraw);
      output.write(SHOW_CURSOR);
    }
  }
  const label = choices.find(({ answer }) => answer === chosen)?.label;
  if (answered.signal.aborted) draw(undefined, label ?? DISMISSED);
  else screen.draw([]);
  return chosen;
}

const DISMISSED = "No";
const HIDE_CURSOR = "\x1b[?25l";
const SHOW_CURSOR = "\x1b[?25h";

function linesOf<A extends string>(
  [first = "", ...rest]: readonly string[],
  choices: readonly Choice<A>[],
  selected: A | undefined,
  last: string,
): Span[][] {
  return [
    selected === undefined
      ? [["◇ ", "dim"], [first]]
      : [["◆ ", "busy"], [first, "bold"]],
    ...rest.map((line): Span[] => [["│ ", "dim"], [line]]),
    ...selected === undefined ? [] : choices.map((choice): Span[] => [
      ["│ ", "dim"],
      choice.answer === selected
        ? [`● ${choice.label} (${choice.key})`, "good"]
        : [`○ ${choice.label} (${choice.key})`],
    ]),
    [["└ ", "dim"], [last, "dim"]],
  ];
}

/** A pressed key, as reported by `node:readline`. */
export interface PressedKey {
  /** Name such as `y`, `up`, `return`. */
  readonly name?: string | undefined;
  /** Whether Ctrl was held. */
  readonly ctrl?: boolean | undefined;
  /** Whether Alt was held. */
  readonly meta?: boolean | undefined;
}

/** The effect of a key: a new selection, the answer, or that there is none. */
export type KeyOutcome<A extends string = ConfirmAnswer> =
  | { readonly selected: A }
  | { readonly answer: A }
  | { readonly dismissed: true };

/**
 * Decides the effect of a key on a question.
 *
 * The arrows stop at the first and the last answer, so that repeated ones cannot wrap from "no" to
 * "yes". Other keys have no effect.
 */
export function answerOf<A extends string>(
  choices: readonly Choice<A>[],
  selected: A,
  { name, ctrl = false, meta = false }: PressedKey,
): KeyOutcome<A> {
  if (name === "escape" || ctrl && name === "c") return { dismissed: true };
  if (ctrl || meta) return { selected };
  if (name === "return") return { answer: selected };
  const chosen = choices.find(({ key }) => key === name);
  if (chosen) return { answer: chosen.answer };
  const step = name === "up" ? -1 : name === "down" ? 1 : 0;
  const at = choices.findIndex(({ answer }) => answer === selected) + step;
  return { selected: choices[at]?.answer ?? selected };
}

/** The input; terminals support raw mode, in which keys arrive one by one. */
type KeyInput = Readable & { setRawMode?: (raw: boolean) => unknown };

/** Keys pressed this soon after a question appears were meant for something else. */
const IGNORE_KEYS_MS = 500;

/** Resolves when keys are accepted, or at once when the signal is aborted. */
export type UntilKeysCount = (signal: AbortSignal) => Promise<void>;

/** Waits until keys are accepted. */
export const untilKeysCount: UntilKeysCount = async (signal) => {
  await setTimeout(IGNORE_KEYS_MS, undefined, { signal }).catch(() => {});
  await setImmediate(); // keys that are already buffered are read first
};

/**
 * Shows a question, and drops all keys typed before and until `wait` resolves.
 *
 * The terminal is in raw mode first and stays in it: keys that are not read yet would be echoed into
 * what is shown. Lines pasted for the next reader are restored by {@linkcode takeBack}.
 */
export async function ignoreKeys(
  { input, wait }: Terminal,
  signal: AbortSignal,
  show: () => void,
): Promise<void> {
  const ignore = () => {};
  input.setRawMode?.(true);
  input.on("data", ignore);
  input.resume();
  show();
  try {
    await wait(signal);
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

/**
 * Passes each key to `pressed` until the signal is aborted; rejects at the end of the input.
 *
 * @param ready called once keys are received: what it prints may ask for them
 */
async function eachKey(
  input: KeyInput,
  pressed: (key: PressedKey) => void,
  signal: AbortSignal,
  ready: () => void,
): Promise<void> {
  const done = Promise.withResolvers<void>();
  const onKey = (_: unknown, key: PressedKey) => {
    if (!signal.aborted) pressed(key);
  };
  const onEnd = () => done.reject(new Error("the terminal is gone"));
  emitKeypressEvents(input);
  input.setRawMode?.(true);
  input.on("keypress", onKey).on("end", onEnd).on("error", onEnd);
  const off = onAbort(signal, done.resolve);
  input.resume();
  try {
    ready();
    await done.promise;
  } finally {
    off();
    input.off("keypress", onKey).off("end", onEnd).off("error", onEnd);
    input.pause();
    input.setRawMode?.(false);
  }
}

/** The user's input and output; both must be terminals. */
export interface TerminalStreams {
  /** The keyboard. */
  readonly input: KeyInput;
  /** The screen. */
  readonly output: Writable & Partial<Size>;
}

/** A terminal that asks. */
export interface Terminal extends TerminalStreams {
  /** Resolves when keys are accepted. */
  readonly wait: UntilKeysCount;
}
