import type { ConfirmAnswer } from "../../tools/confirm.ts";

/** A pressed key, as reported by `node:readline`. */
export interface PressedKey {
  /** Name such as `y`, `up`, `return`. */
  readonly name?: string | undefined;
  /** Whether Ctrl was held. */
  readonly ctrl?: boolean | undefined;
  /** Whether Alt was held. */
  readonly meta?: boolean | undefined;
}

/** An answer to choose. */
export interface Choice {
  /** The answer. */
  readonly answer: ConfirmAnswer;
  /** The key that chooses it. */
  readonly key: string;
  /** The text shown for it. */
  readonly label: string;
}

/** The answers, from top to bottom. */
export const CHOICES: readonly Choice[] = [
  { answer: "once", key: "y", label: "Yes, this once" },
  { answer: "always", key: "a", label: "Always for this tool" },
  { answer: "no", key: "n", label: "No" },
];

/** The effect of a key: a new selection, or the answer. */
export type KeyOutcome =
  | { readonly selected: ConfirmAnswer }
  | { readonly answer: ConfirmAnswer };

/**
 * Decides the effect of a key on the question whether a tool may run.
 *
 * The arrows stop at the first and the last answer, so that repeated ones cannot wrap from "no" to
 * "yes". Other keys have no effect.
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
