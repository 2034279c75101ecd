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
  "only" in choice
    ? choice.only.includes(computer)
    : !choice.except.includes(computer);
