import type { ConfirmAnswer } from "../../tools/confirm.ts";

/** A key that was pressed, as `node:readline` reports it. */
export interface PressedKey {
  /** Such as `y`, `up`, `return`. */
  readonly name?: string | undefined;
  /** Whether Ctrl was held. */
  readonly ctrl?: boolean | undefined;
  /** Whether Alt was held. */
  readonly meta?: boolean | undefined;
}

/** One answer to choose from. */
export interface Choice {
  /** What it means. */
  readonly answer: ConfirmAnswer;
  /** The key that gives it at once. */
  readonly key: string;
  /** What is shown for it. */
  readonly label: string;
}

/** The answers, from top to bottom. */
export const CHOICES: readonly Choice[] = [
  { answer: "once", key: "y", label: "Yes, this once" },
  { answer: "always", key: "a", label: "Always for this tool" },
  { answer: "no", key: "n", label: "No" },
];

/** What a key leads to: another selection, or the answer. */
export type KeyOutcome =
  | { readonly selected: ConfirmAnswer }
  | { readonly answer: ConfirmAnswer };

/**
 * Decides what a key means to the question whether a tool may run.
 *
 * The arrows stop at the first and the last answer, so that no number of them turns a "no" into a
 * "yes" by going round; every key that has no meaning changes nothing.
 */
export function answerOf(
  selected: ConfirmAnswer,
  { name, ctrl = false, meta = false }: PressedKey,
): KeyOutcome {
  if (name === "escape" || ctrl && name === "c") return { answer: "no" };
  if (ctrl || meta) return { selected };
  if (name === "return") return { answer: selected };
  const chosen = CHOICES.find(({ key }) => key === name);
  if (chosen) return { answer: chosen.answer };
  const step = name === "up" ? -1 : name === "down" ? 1 : 0;
  const at = CHOICES.findIndex(({ answer }) => answer === selected) + step;
  return { selected: CHOICES[at]?.answer ?? selected };
}
