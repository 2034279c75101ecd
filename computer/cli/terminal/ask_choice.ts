import process from "node:process";
import { paint, type Span } from "../live/paint.ts";
import { Screen } from "../live/screen.ts";
import { answerOf, type Choice } from "./answer_of.ts";
import { eachKey, ignoreKeys, type UntilKeysCount } from "./keyboard.ts";
import type { TerminalStreams } from "./streams.ts";

/** A question with answers to choose from. */
export interface ChoiceQuestion<A extends string> {
  /** The lines of the question. */
  readonly lines: readonly string[];
  /** The answers, from top to bottom. */
  readonly choices: readonly Choice<A>[];
  /** The answer that Enter chooses at first. */
  readonly first: A;
  /** Names the keys. */
  readonly keyHint: string;
}

/** The visible state of a question. */
interface Shown<A extends string> {
  /** The answer that Enter chooses; undefined after the answer. */
  readonly selected: A | undefined;
  /** The line below the answers, or the chosen answer. */
  readonly last: string;
}

/**
 * Asks a question with answers to choose from.
 *
 * Keys are ignored until the key hint appears and the cursor is hidden.
 *
 * @param untilKeysCount resolves when keys are accepted
 * @param signal withdraws the question
 * @returns undefined when the question was dismissed or withdrawn
 */
export async function askChoice<A extends string>(
  { lines, choices, first, keyHint }: ChoiceQuestion<A>,
  { input, output }: TerminalStreams,
  untilKeysCount: UntilKeysCount,
  signal: AbortSignal,
): Promise<A | undefined> {
  const screen = new Screen(output);
  const colour = !process.env.NO_COLOR;
  const draw = (shown: Shown<A>) =>
    screen.draw(
      linesOf(lines, choices, shown).map((spans) =>
        paint(spans, { columns: screen.columns, colour })
      ),
    );
  await ignoreKeys(
    input,
    untilKeysCount,
    signal,
    () => draw({ selected: first, last: "…" }),
  );
  if (signal.aborted) {
    screen.draw([]);
    return undefined;
  }
  let selected = first;
  let chosen: A | undefined;
  const redraw = () => draw({ selected, last: keyHint });
  const answered = new AbortController();
  const ready = () => {
    output.on("resize", redraw);
    output.write(HIDE_CURSOR);
    redraw();
  };
  try {
    await eachKey(
      input,
      (key) => {
        const outcome = answerOf(choices, selected, key);
        if ("dismissed" in outcome) {
          answered.abort();
        } else if ("answer" in outcome) {
          chosen = outcome.answer;
          answered.abort();
        } else if (outcome.selected !== selected) {
          selected = outcome.selected;
          redraw();
        }
      },
      AbortSignal.any([signal, answered.signal]),
      ready,
    );
  } finally {
    output.off("resize", redraw);
    output.write(SHOW_CURSOR);
  }
  if (!answered.signal.aborted) {
    screen.draw([]);
    return undefined;
  }
  const label = choices.find(({ answer }) => answer === chosen)?.label;
  draw({ selected: undefined, last: label ?? DISMISSED });
  return chosen;
}

const DISMISSED = "No";
const HIDE_CURSOR = "\x1b[?25l";
const SHOW_CURSOR = "\x1b[?25h";

function linesOf<A extends string>(
  [first = "", ...rest]: readonly string[],
  choices: readonly Choice<A>[],
  { selected, last }: Shown<A>,
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
