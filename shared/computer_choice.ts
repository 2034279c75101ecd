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
