import process from "node:process";
import type { ConfirmAnswer, ConfirmRequest } from "../../tools/confirm.ts";
import { paint, type Span } from "../live/paint.ts";
import { Screen } from "../live/screen.ts";
import { answerOf, CHOICES } from "./answer_of.ts";
import { describeCall, sizeOf } from "./describe_call.ts";
import { eachKey, ignoreKeys, type UntilKeysCount } from "./keyboard.ts";
import type { TerminalStreams } from "./streams.ts";

/** The visible state of a question. */
interface Shown {
  /** The answer that Enter chooses; undefined after the answer. */
  readonly selected: ConfirmAnswer | undefined;
  /** The line below the answers, or the chosen answer. */
  readonly last: string;
}

const KEY_HINT = "y, a or n; or ↑ ↓ and Enter";

/**
 * Asks whether a tool may run; defaults to "no".
 *
 * Keys are ignored until the key hint appears and the cursor is hidden.
 *
 * @param untilKeysCount resolves when keys are accepted
 * @param signal withdraws the question
 */
export async function askConfirmation(
  request: ConfirmRequest,
  { input, output }: TerminalStreams,
  untilKeysCount: UntilKeysCount,
  signal: AbortSignal,
): Promise<ConfirmAnswer> {
  const screen = new Screen(output);
  const colour = !process.env.NO_COLOR;
  const question = describeCall(request, sizeOf(output)).split("\n");
  const draw = (shown: Shown) =>
    screen.draw(
      linesOf(question, shown).map((spans) =>
        paint(spans, { columns: screen.columns, colour })
      ),
    );
  draw({ selected: "no", last: "…" });
  await ignoreKeys(input, untilKeysCount, signal);
  if (signal.aborted) {
    screen.draw([]);
    return "no";
  }
  let selected: ConfirmAnswer = "no";
  const redraw = () => draw({ selected, last: KEY_HINT });
  const answered = new AbortController();
  output.on("resize", redraw);
  output.write(HIDE_CURSOR);
  redraw();
  try {
    await eachKey(input, (key) => {
      const outcome = answerOf(selected, key);
      if ("answer" in outcome) {
        selected = outcome.answer;
        answered.abort();
      } else if (outcome.selected !== selected) {
        selected = outcome.selected;
        redraw();
      }
    }, AbortSignal.any([signal, answered.signal]));
  } finally {
    output.off("resize", redraw);
    output.write(SHOW_CURSOR);
  }
  if (!answered.signal.aborted) {
    screen.draw([]);
    return "no";
  }
  draw({ selected: undefined, last: labelOf(selected) });
  return selected;
}

const HIDE_CURSOR = "\x1b[?25l";
const SHOW_CURSOR = "\x1b[?25h";

const labelOf = (answer: ConfirmAnswer): string =>
  CHOICES.find((choice) => choice.answer === answer)?.label ?? answer;

function linesOf(
  [first = "", ...rest]: readonly string[],
  { selected, last }: Shown,
): Span[][] {
  return [
    selected === undefined
      ? [["◇ ", "dim"], [first]]
      : [["◆ ", "busy"], [first, "bold"]],
    ...rest.map((line): Span[] => [["│ ", "dim"], [line]]),
    ...selected === undefined ? [] : CHOICES.map((choice): Span[] => [
      ["│ ", "dim"],
      choice.answer === selected
        ? [`● ${choice.label} (${choice.key})`, "good"]
        : [`○ ${choice.label} (${choice.key})`],
    ]),
    [["└ ", "dim"], [last, "dim"]],
  ];
}
