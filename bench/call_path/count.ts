import { posix } from "node:path";

/** The number of invocations of a function. */
export interface FunctionCount {
  /** Path from the root of the checkout, with `/`. */
  readonly file: string;
  /** Empty for one without a name. */
  readonly name: string;
  /** Its offset in its file, as V8 counts; identifies it together with the file. */
  readonly offset: number;
  /** The number of invocations. */
  readonly invocations: number;
}

/** The coverage of a part of the source by a call. */
export interface PathCount {
  /** A top folder, or a folder. */
  readonly part: string;
  readonly files: number;
  readonly functions: number;
  readonly invocations: number;
}

/**
 * Leaves what belongs to a call: functions that ran in every run, as often as in the run where
 * they ran least. Timers and heartbeats fall out.
 */
export function commonCounts(
  runs: readonly (readonly FunctionCount[])[],
): FunctionCount[] {
  const [first = [], ...others] = runs.map((run) =>
    new Map(run.map((count) => [idOf(count), count]))
  );
  return [...first].flatMap(([id, count]) => {
    const all = others.map((run) => run.get(id)?.invocations ?? 0);
    const invocations = Math.min(count.invocations, ...all);
    return invocations > 0 ? [{ ...count, invocations }] : [];
  });
}

/** Counts files, functions and invocations by top folder, and `all` of them. */
export const byRole = (counts: readonly FunctionCount[]): PathCount[] => [
  ...grouped(counts, ({ file }) => file.split("/")[0] ?? ""),
  ...grouped(counts, () => "all"),
];

/** Counts by the folder of each file. */
export const byRoom = (counts: readonly FunctionCount[]): PathCount[] =>
  grouped(counts, ({ file }) => posix.dirname(file));

/** Counts by file. */
export const byFile = (counts: readonly FunctionCount[]): PathCount[] =>
  grouped(counts, ({ file }) => file);

/** A table of several such lists. */
export function pathTable(lists: readonly (readonly PathCount[])[]): string {
  const rows = lists.map((list) =>
    list.map((row) => [row.part, row.files, row.functions, row.invocations])
  );
  const all = [["", "files", "functions", "invocations"], ...rows.flat()];
  const width = (at: number) =>
    Math.max(...all.map((row) => String(row[at]).length));
  const line = (row: readonly (string | number)[]) =>
    row.map((cell, at) =>
      at === 0
        ? String(cell).padEnd(width(at))
        : String(cell).padStart(width(at))
    ).join("  ");
  const [head = [], ...body] = all;
  let at = 0;
  const parts = rows.map(({ length }) =>
    body.slice(at, at += length).map(line).join("\n")
  );
  return [line(head), ...parts].join("\n\n");
}

function grouped(
  counts: readonly FunctionCount[],
  partOf: (count: FunctionCount) => string,
): PathCount[] {
  const groups = Map.groupBy(counts, partOf);
  return [...groups].map(([part, of]) => ({
    part,
    files: new Set(of.map(({ file }) => file)).size,
    functions: of.length,
    invocations: of.reduce((sum, { invocations }) => sum + invocations, 0),
  })).toSorted((a, b) => a.part < b.part ? -1 : 1);
}

const idOf = ({ file, name, offset }: FunctionCount): string =>
  JSON.stringify([file, name, offset]);
