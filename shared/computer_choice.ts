/**
 * Which Computers of an office a person has allowed a program to use.
 *
 * @module
 */

/** Computers of an office, by name: some of them, or all but some, so that later ones are among them. */
export type ComputerChoice =
  | { readonly only: readonly string[] }
  | { readonly except: readonly string[] };

/** Returns whether a Computer is among those of a choice. */
export const isChosen = (choice: ComputerChoice, computer: string): boolean =>
  choosing(choice)(computer);

/** Makes of a choice what returns whether a Computer is among its own, in a time that does not depend on their number. */
export function choosing(
  choice: ComputerChoice,
): (computer: string) => boolean {
  if ("only" in choice) {
    const only = new Set(choice.only);
    return (computer) => only.has(computer);
  }
  const except = new Set(choice.except);
  return (computer) => !except.has(computer);
}

/** The most names in the text of a choice. */
const MAX_NAMES = 5;

/** Writes a choice in a few words, such as `all but laptop`. */
export function choiceText(choice: ComputerChoice): string {
  const isSome = "only" in choice;
  const names = isSome ? choice.only : choice.except;
  if (names.length === 0) return isSome ? "none" : "all";
  const left = names.length - MAX_NAMES;
  const more = left > 0 ? ` and ${left} more` : "";
  const shown = names.slice(0, MAX_NAMES).join(", ") + more;
  return isSome ? shown : `all but ${shown}`;
}
