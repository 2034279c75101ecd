// @ts-check
/*
 * What a call changes in a file: lines before and after.
 */

/**
 * A line of a change: of both texts, of that before, or of that after.
 * @typedef {readonly [kind: " " | "-" | "+", line: string]} DiffLine
 */

/** The most pairs of lines that are compared; beyond, all lines before and all after are shown. */
const MAX_PAIRS = 4_000_000;
/** Lines that stay the same around one that does not. */
const CONTEXT = 3;

/**
 * Compares two texts by lines.
 *
 * @param {string} before
 * @param {string} after
 * @returns {DiffLine[]}
 */
export function diffLines(before, after) {
  const old = before.split("\n");
  const made = after.split("\n");
  let start = 0;
  const least = Math.min(old.length, made.length);
  while (start < least && old[start] === made[start]) start++;
  let end = 0;
  while (end < least - start && old.at(-1 - end) === made.at(-1 - end)) end++;
  /** @type {(line: string) => DiffLine} */
  const same = (line) => [" ", line];
  return [
    ...old.slice(0, start).map(same),
    ...changed(
      old.slice(start, old.length - end),
      made.slice(start, made.length - end),
    ),
    ...old.slice(old.length - end).map(same),
  ];
}

/**
 * @param {readonly string[]} old
 * @param {readonly string[]} made
 * @returns {DiffLine[]}
 */
function changed(old, made) {
  const width = made.length + 1;
  if (old.length * made.length > MAX_PAIRS) {
    return [
      ...old.map((line) => /** @type {DiffLine} */ (["-", line])),
      ...made.map((line) => /** @type {DiffLine} */ (["+", line])),
    ];
  }
  // How many lines the rests have in common, from each pair of lines on.
  const common = new Uint16Array((old.length + 1) * width);
  const at = (/** @type {number} */ i, /** @type {number} */ j) =>
    common[i * width + j] ?? 0;
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = made.length - 1; j >= 0; j--) {
      common[i * width + j] = old[i] === made[j]
        ? at(i + 1, j + 1) + 1
        : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  /** @type {DiffLine[]} */
  const lines = [];
  let i = 0;
  let j = 0;
  while (i < old.length || j < made.length) {
    const left = old[i];
    const right = made[j];
    if (left !== undefined && left === right) {
      lines.push([" ", left]);
      i++;
      j++;
    } else if (
      left !== undefined &&
      (right === undefined || at(i + 1, j) >= at(i, j + 1))
    ) {
      lines.push(["-", left]);
      i++;
    } else {
      lines.push(["+", right ?? ""]);
      j++;
    }
  }
  return lines;
}

/**
 * Leaves out lines far from a change, which stay as they are.
 *
 * @param {readonly DiffLine[]} lines
 * @returns {(DiffLine | number)[]} lines, and how many were left out between them
 */
export function nearChanges(lines) {
  const near = new Uint8Array(lines.length);
  for (const [i, [kind]] of lines.entries()) {
    if (kind !== " ") near.fill(1, Math.max(0, i - CONTEXT), i + CONTEXT + 1);
  }
  /** @type {(DiffLine | number)[]} */
  const kept = [];
  for (const [i, line] of lines.entries()) {
    const last = kept.at(-1);
    if (near[i]) kept.push(line);
    else if (typeof last === "number") kept[kept.length - 1] = last + 1;
    else kept.push(1);
  }
  return kept;
}
