import type { ConfirmAnswer } from "../../tools/confirmations.ts";

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
export interface Choice<A extends string = ConfirmAnswer> {
  /** The answer. */
  readonly answer: A;
  /** The key that chooses it. */
  readonly key: string;
  /** The text shown for it. */
  readonly label: string;
}

/** The answers to the question whether a tool may run, from top to bottom. */
export const CHOICES: readonly Choice[] = [
  { answer: "once", key: "y", label: "Yes, this once" },
  { answer: "always", key: "a", label: "Always for this tool" },
  { answer: "no", key: "n", label: "No" },
];

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
