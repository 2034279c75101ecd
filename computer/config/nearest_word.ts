/** How many letters of a word may be wrong, missing, too many or swapped for it to be a slip. */
const SLIPS = 2;

/**
 * Finds the word that somebody may have meant; undefined where none is near.
 *
 * Case, `_` and `-` do not count: `forbiddenTools` is `forbidden_tools`. Of a short word, half of
 * the letters must be right.
 */
export function nearestWord(
  word: string,
  known: readonly string[],
): string | undefined {
  const plain = (text: string) => text.toLowerCase().replaceAll(/[_-]/g, "");
  const wanted = plain(word);
  if (wanted.length > LONGEST) return undefined;
  let best: { word: string; slips: number } | undefined;
  for (const candidate of known) {
    const slips = distance(wanted, plain(candidate));
    const most = Math.min(SLIPS, Math.floor(plain(candidate).length / 2));
    if (slips <= most && slips < (best?.slips ?? Infinity)) {
      best = { word: candidate, slips };
    }
  }
  return best?.word;
}

/** Longer than every known word and its slips; a longer text is not compared at all. */
const LONGEST = 64;

/** Letters to insert, remove, replace or swap with the next one (optimal string alignment). */
function distance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  const at = (i: number, j: number) => rows[i]?.[j] ?? Infinity;
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    rows.push(row);
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] &&
        a[i - 2] === b[j - 1];
      row.push(Math.min(
        at(i - 1, j) + 1,
        at(i, j - 1) + 1,
        at(i - 1, j - 1) + (same ? 0 : 1),
        swapped ? at(i - 2, j - 2) + 1 : Infinity,
      ));
    }
  }
  return at(a.length, b.length);
}
