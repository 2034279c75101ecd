import process from "node:process";
import type { Readable } from "node:stream";
import { on } from "node:events";
import { emitKeypressEvents, type Key } from "node:readline";
import { setImmediate, setTimeout } from "node:timers/promises";
import type { Choice } from "./question_text.ts";
import { type Canvas, paint, Screen, type Span } from "./screen.ts";
import type { ConfirmAnswer } from "../tools/confirmations.ts";

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
 * @returns undefined when the question was dismissed or withdrawn
 */
export async function askChoice<A extends string>(
  { lines, choices, first, keyHint }: ChoiceQuestion<A>,
  terminal: AskingTerminal,
): Promise<A | undefined> {
  const { input, output, signal } = terminal;
  const screen = new Screen(output);
  /** @param last the line below the answers, or the chosen answer */
  const draw = (selected: A | undefined, last: string) => {
    const [title = "", ...rest] = lines;
    const shown: Span[][] = [
      selected === undefined
        ? [["◇ ", "dim"], [title]]
        : [["◆ ", "busy"], [title, "bold"]],
      ...rest.map((line): Span[] => [["│ ", "dim"], [line]]),
      ...selected === undefined ? [] : choices.map((choice): Span[] => [
        ["│ ", "dim"],
        choice.answer === selected
          ? [`● ${choice.label} (${choice.key})`, "good"]
          : [`○ ${choice.label} (${choice.key})`],
      ]),
      [["└ ", "dim"], [last, "dim"]],
    ];
    const look = { columns: screen.columns, colour: !process.env.NO_COLOR };
    screen.draw(shown.map((spans) => paint(spans, look)));
  };
  await ignoreKeys(terminal, () => draw(first, "…"));
  let selected = first;
  let cause: unknown;
  const redraw = () => draw(selected, keyHint);
  try {
    emitKeypressEvents(input);
    const keys = on(input, "keypress", { signal, close: ["end"] });
    input.resume();
    output.on("resize", redraw);
    output.write(HIDE_CURSOR);
    redraw(); // keys are received by now: what it prints may ask for them
    for await (const [, key] of keys) {
      const outcome = answerOf(choices, selected, key);
      if ("answer" in outcome) {
        const { answer } = outcome;
        const chosen = choices.find((choice) => choice.answer === answer);
        draw(undefined, chosen?.label ?? "No");
        return answer;
      }
      if (outcome.selected === selected) continue;
      selected = outcome.selected;
      redraw();
    }
  } catch (error) {
    cause = error; // also where it is withdrawn
  } finally {
    output.off("resize", redraw);
    output.write(SHOW_CURSOR);
    input.pause();
  }
  if (!signal.aborted) throw new Error("the terminal is gone", { cause });
  screen.draw([]);
  return undefined;
}

const HIDE_CURSOR = "\x1b[?25l";
const SHOW_CURSOR = "\x1b[?25h";

/** The effect of a key: a new selection, or the answer, of which there is none if it dismisses the question. */
export type KeyOutcome<A extends string = ConfirmAnswer> =
  | { readonly selected: A }
  | { readonly answer: A | undefined };

/**
 * Decides the effect of a key on a question.
 *
 * The arrows stop at the first and the last answer, so that repeated ones cannot wrap from "no" to
 * "yes". Other keys have no effect.
 */
export function answerOf<A extends string>(
  choices: readonly Choice<A>[],
  selected: A,
  { name, ctrl = false, meta = false }: Key,
): KeyOutcome<A> {
  if (name === "escape" || ctrl && name === "c") return { answer: undefined };
  if (ctrl || meta) return { selected };
  if (name === "return") return { answer: selected };
  const chosen = choices.find(({ key }) => key === name);
  if (chosen) return { answer: chosen.answer };
  const step = name === "up" ? -1 : name === "down" ? 1 : 0;
  const at = choices.findIndex(({ answer }) => answer === selected) + step;
  return { selected: choices[at]?.answer ?? selected };
}

/** Keys pressed this soon after a question appears were meant for something else. */
const IGNORE_KEYS_MS = 500;

/** Waits until keys are accepted. */
export const untilKeysCount: Terminal["wait"] = async (signal) => {
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
  { input, wait, signal }: AskingTerminal,
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

/** A terminal that asks. */
export interface Terminal {
  /** The keyboard; terminals support raw mode, in which keys arrive one by one. */
  readonly input: Readable & { setRawMode?: (raw: boolean) => unknown };
  /** The screen. */
  readonly output: Canvas;
  /** Resolves when keys are accepted, or at once when the signal is aborted. */
  readonly wait: (signal: AbortSignal) => Promise<void>;
}

/** A terminal with a question. */
export interface AskingTerminal extends Terminal {
  /** Withdraws the question. */
  readonly signal: AbortSignal;
}
