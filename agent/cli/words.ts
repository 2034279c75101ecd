/** What fits into a line: models want pages of description, people the first sentence. */
export function headline(text: string): string {
  const [first = ""] = text.split(/(?<=\.)\s|\n/, 1);
  return first.length > 80 ? `${first.slice(0, 79)}…` : first;
}

/** A number with its noun. */
export const count = (number: number, what: string): string =>
  `${number} ${what}${number === 1 ? "" : "s"}`;
