/** Shortens a description to its first sentence in one line. */
export function headline(text: string): string {
  const [first = ""] = text.split(/(?<=\.)\s|\n/, 1);
  return first.length > 80 ? `${first.slice(0, 79)}…` : first;
}

/** Formats a number with its noun. */
export const count = (number: number, what: string): string =>
  `${number} ${what}${number === 1 ? "" : "s"}`;
