/** Maximum edit distance of a word that counts as misspelled. */
const MAX_EDITS = 2;

/**
 * Finds the known word that a misspelled one most likely stands for; undefined if no word is close.
 *
 * Ignores case, `_` and `-`: `forbiddenTools` is `forbidden_tools`. At least half of the letters of a
 * short word must match.
 */
export function nearestWord(
  word: string,
  known: readonly string[],
): string | undefined {
  const plain = (text: string) => text.toLowerCase().replaceAll(/[_-]/g, "");
  const wanted = plain(word);
  if (wanted.length > MAX_WORD_CHARACTERS) return undefined;
  let best: { word: string; edits: number } | undefined;
  for (const candidate of known) {
    const edits = distance(wanted, plain(candidate));
    const limit = Math.min(MAX_EDITS, Math.floor(plain(candidate).length / 2));
    if (edits <= limit && edits < (best?.edits ?? Infinity)) {
      best = { word: candidate, edits };
    }
  }
  return best?.word;
}

/** Longer texts are not compared: no known word is that long. */
const MAX_WORD_CHARACTERS = 64;

/** Computes the edit distance, counting swapped neighbours as one edit (optimal string alignment). */
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
