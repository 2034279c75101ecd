/**
 * What a call changes in a file, for a person who decides: lines before and after.
 *
 * @module
 */

/** A line of a change: of both texts, of that before, or of that after. */
export type DiffLine = readonly [kind: " " | "-" | "+", line: string];

/** The most pairs of lines that are compared; beyond, all lines before and all after are shown. */
const MAX_PAIRS = 4_000_000;
/** Lines that stay the same around one that does not. */
const CONTEXT = 3;

const same = (line: string): DiffLine => [" ", line];
const gone = (line: string): DiffLine => ["-", line];
const added = (line: string): DiffLine => ["+", line];

/** Compares two texts by lines. */
export function diffLines(before: string, after: string): DiffLine[] {
  const old = before.split("\n");
  const made = after.split("\n");
  let start = 0;
  const least = Math.min(old.length, made.length);
  while (start < least && old[start] === made[start]) start++;
  let end = 0;
  while (end < least - start && old.at(-1 - end) === made.at(-1 - end)) end++;
  return [
    ...old.slice(0, start).map(same),
    ...changed(
      old.slice(start, old.length - end),
      made.slice(start, made.length - end),
    ),
    ...old.slice(old.length - end).map(same),
  ];
}

function changed(old: readonly string[], made: readonly string[]): DiffLine[] {
  const width = made.length + 1;
  if (old.length * made.length > MAX_PAIRS) {
    return [...old.map(gone), ...made.map(added)];
  }
  // How many lines the rests have in common, from each pair of lines on.
  const common = new Uint16Array((old.length + 1) * width);
  const at = (i: number, j: number) => common[i * width + j] ?? 0;
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = made.length - 1; j >= 0; j--) {
      common[i * width + j] = old[i] === made[j]
        ? at(i + 1, j + 1) + 1
        : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const lines: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < old.length || j < made.length) {
    const left = old[i];
    const right = made[j];
    if (left !== undefined && left === right) {
      lines.push(same(left));
      i++;
      j++;
    } else if (
      left !== undefined &&
      (right === undefined || at(i + 1, j) >= at(i, j + 1))
    ) {
      lines.push(gone(left));
      i++;
    } else {
      lines.push(added(right ?? ""));
      j++;
    }
  }
  return lines;
}

/**
 * Leaves out lines far from a change, which stay as they are.
 *
 * @returns lines, and how many were left out between them
 */
export function nearChanges(lines: readonly DiffLine[]): (DiffLine | number)[] {
  const near = new Uint8Array(lines.length);
  for (const [i, [kind]] of lines.entries()) {
    if (kind !== " ") near.fill(1, Math.max(0, i - CONTEXT), i + CONTEXT + 1);
  }
  const kept: (DiffLine | number)[] = [];
  for (const [i, line] of lines.entries()) {
    const last = kept.at(-1);
    if (near[i]) kept.push(line);
    else if (typeof last === "number") kept[kept.length - 1] = last + 1;
    else kept.push(1);
  }
  return kept;
}

/** Describes lines that were left out. */
export const leftOutText = (count: number): string =>
  `${count} unchanged ${count === 1 ? "line" : "lines"}`;
