import type { Goal } from "../report/goals.ts";
import {
  addedBytes,
  allowedBytes,
  allowedMs,
  isShort,
  isSmall,
  type NeighboursResult,
  worstOf,
} from "./result.ts";

/** Returns whether neighbours stay undisturbed: how many rows, and the worst of them. */
export function neighboursGoals({ rows }: NeighboursResult): Goal[] {
  const worst = rows
    .flatMap((row) => {
      const attack = worstOf(row, ({ times }) => times.p99);
      if (attack === undefined) return [];
      const times = attack.times.p99 / allowedMs(row);
      return [{ attack, times }];
    })
    .toSorted((a, b) => b.times - a.times)[0];
  const largest = rows
    .flatMap((row) => {
      const attack = worstOf(row, addedBytes);
      if (attack === undefined) return [];
      const times = addedBytes(attack) / allowedBytes(row.pace, attack);
      return [{ attack, times }];
    })
    .toSorted((a, b) => b.times - a.times)[0];
  if (worst === undefined || largest === undefined) return [];
  const all = rows.length;
  const short = rows.filter(isShort).length;
  const small = rows.filter(isSmall).length;
  return [
    {
      figure: "p99 of a neighbour's call, by what another member sends",
      goal: "≤ 10 × without, or 50 ms",
      measured: `${short} of ${all}; at most ${
        worst.attack.times.p99.toFixed(0)
      } ms`,
      met: short === all,
    },
    {
      figure: "memory that this adds to the Server",
      goal: "≤ 3 × what passes + 64 MiB",
      measured: `${small} of ${all}; at most ${
        mib(addedBytes(largest.attack))
      } MiB`,
      met: small === all,
    },
  ];
}

/** Formats bytes as MiB. */
export const mib = (bytes: number): string => (bytes / 2 ** 20).toFixed(0);
