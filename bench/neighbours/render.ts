import { mib } from "./goals.ts";
import {
  addedBytes,
  allowedBytes,
  type AttackResult,
  isShort,
  isSmall,
  type NeighbourRow,
  type NeighboursResult,
  passingBytes,
  worstOf,
} from "./result.ts";

const HEAD = [
  "what is sent",
  "worst shape",
  "KB",
  "p50 ms",
  "p99",
  "under attack: p99",
  "max",
  "×",
  "short",
  "RSS MiB",
  "peak",
  "allowed",
  "at once",
  "passed",
  "small",
  "answers",
];

/** Returns a table with a line for each row, of its worst attack; the memory is that of the largest. */
export function neighboursTable(
  rows: readonly NeighbourRow[],
): readonly (readonly string[])[] {
  return [HEAD, ...rows.map(lineOf)];
}

function lineOf(row: NeighbourRow): string[] {
  const slow = worstOf(row, ({ times }) => times.p99);
  const large = worstOf(row, addedBytes);
  if (slow === undefined || large === undefined) {
    return [row.title, row.ended ?? "not measured"];
  }
  const { quiet, pace } = row;
  const { before, peak } = large.memory;
  return [
    row.title,
    `${slow.shape} in ${slow.field}`,
    (slow.bytes / 1000).toFixed(0),
    quiet.p50.toFixed(1),
    quiet.p99.toFixed(1),
    slow.times.p99.toFixed(1),
    slow.times.max.toFixed(1),
    (slow.times.p99 / quiet.p99).toFixed(1),
    isShort(row) ? "yes" : "NO",
    mib(before),
    mib(peak),
    mib(before + allowedBytes(pace, large)),
    mib(passingBytes(pace, large)),
    mib(large.payloads * large.bytes),
    isSmall(row) ? "yes" : "NO",
    row.ended ?? answersOf(row.attacks),
  ];
}

/** Says how the payloads of a row were answered, the most common way first. */
function answersOf(attacks: readonly AttackResult[]): string {
  const counts = new Map<string, number>();
  for (
    const [kind, count] of attacks.flatMap(({ answers }) =>
      Object.entries(answers)
    )
  ) {
    counts.set(kind, (counts.get(kind) ?? 0) + count);
  }
  const failed = attacks.reduce((sum, attack) => sum + attack.failed, 0);
  return [
    ...(failed > 0 ? [`${failed} calls of the neighbour failed`] : []),
    ...[...counts].toSorted(([, a], [, b]) => b - a)
      .map(([kind, count]) => `${count} × ${kind}`),
  ].join("; ");
}

/** Formats a table for a terminal: its first two columns to the left, the last one too, figures to the right. */
export function alignedTable(lines: readonly (readonly string[])[]): string {
  const [head = []] = lines;
  const widths = head.map((_, i) =>
    Math.max(...lines.map((cells) => cells[i]?.length ?? 0))
  );
  const isText = (i: number) => i < 2 || i === head.length - 1;
  return lines.map((cells) =>
    cells.map((cell, i) =>
      isText(i) ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)
    ).join("  ").trimEnd()
  ).join("\n");
}

/** Says of an attack what it did, in a line. */
export const progressOf = (
  row: string,
  quietMs: number,
  attack: AttackResult,
) =>
  `${row}, ${attack.shape} in ${attack.field}: ${attack.payloads} × ${
    (attack.bytes / 1000).toFixed(0)
  } KB, p99 ${attack.times.p99.toFixed(0)} ms (without ${
    quietMs.toFixed(1)
  }), +${mib(addedBytes(attack))} MiB`;

/** Writes the table for the notes. */
export const neighboursSection = ({ rows }: NeighboursResult): string[] => [
  "## Neighbours",
  "A call in another office, every 5 ms, its wait counted from when it was due, while a member sends the largest payloads that are let in. Of each row the attack with the longest p99, and for the memory that with the largest peak. The Server is the same through all rows, unless it ended or held much.",
  ["```text", alignedTable(neighboursTable(rows)), "```"].join("\n"),
];
