import type { Memory } from "../processes.ts";
import type { Goal } from "../report/goals.ts";
import { textTable } from "../report/text.ts";
import type { Attacked } from "./attacker.ts";
import type { Reply } from "./raw_client.ts";
import type { Pace, Variant } from "./rows.ts";
import type { Bound } from "./shapes.ts";

/** How long calls took, in ms. */
export interface Times {
  readonly calls: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** What one attack did. */
export interface AttackResult extends Variant, Attacked {
  /** What the attack kept to: the event's bound, or what fits into a message. */
  readonly bound: Bound;
  /** The neighbour's calls meanwhile. */
  readonly times: Times;
  /** Calls of the neighbour that were refused or not answered. */
  readonly failed: number;
  /** Resident memory of the Server in bytes: before, at its peak, and afterwards. */
  readonly memory: Memory & { readonly before: number };
}

/** A row, with all attacks that were tried. */
export interface NeighbourRow {
  readonly title: string;
  readonly pace: Pace;
  /** The neighbour's calls without an attack: see {@linkcode quietOf}. */
  readonly quiet: Times;
  readonly attacks: readonly AttackResult[];
  /** Why the Server or a process of the measurement ended. */
  readonly ended?: string;
}

/** How long a neighbour waits while others send the worst that is let in. */
export interface NeighboursResult {
  readonly rows: readonly NeighbourRow[];
}

/** The most that the neighbour's p99 may grow, and what is short enough in any case. */
const MOST_TIMES = 10;
const SHORT_MS = 50;

/** Memory for what passes as bytes, relative to it, and for what is parsed. */
const BYTES_FACTOR = 3;
const PARSED_BYTES = 64 * 2 ** 20;

/** The most that passes at once: a Server reads no more from one client than it may queue for another. */
const PASSING_BYTES = 32 * 2 ** 20;

/** Returns the longest p99 that a row may have. */
export const allowedMs = ({ quiet }: Pick<NeighbourRow, "quiet">): number =>
  Math.max(MOST_TIMES * quiet.p99, SHORT_MS);

/** Returns the bytes of an attack that pass at once. */
const passingBytes = (
  { inFlight }: Pace,
  { bytes, payloads }: Pick<AttackResult, "bytes" | "payloads">,
): number => Math.min(Math.min(inFlight, payloads) * bytes, PASSING_BYTES);

/** Returns the memory that an attack may add. */
export const allowedBytes = (
  pace: Pace,
  attack: Pick<AttackResult, "bytes" | "payloads">,
): number => BYTES_FACTOR * passingBytes(pace, attack) + PARSED_BYTES;

/** Returns the memory that an attack added. */
const addedBytes = (
  { memory }: Pick<AttackResult, "memory">,
): number => Math.max(0, memory.peak - memory.before);

/** Returns the attack of a row for which a figure is largest. */
const worstOf = (
  { attacks }: Pick<NeighbourRow, "attacks">,
  figure: (attack: AttackResult) => number,
): AttackResult | undefined => largest(attacks, figure);

/** Returns a result with the two attacks of each row that are shown: the longest, and the largest. */
export const worstOnly = ({ rows }: NeighboursResult): NeighboursResult => ({
  rows: rows.map((row) => {
    const shown = [
      worstOf(row, ({ times }) => times.p99),
      worstOf(row, addedBytes),
    ];
    return {
      ...row,
      attacks: row.attacks.filter((attack) => shown.includes(attack)),
    };
  }),
});

/** Returns whether the neighbour of a row waits short enough, and no call of it failed. */
export const isShort = (row: NeighbourRow): boolean =>
  row.ended === undefined &&
  row.attacks.every(({ times, failed }) =>
    failed === 0 && times.p99 <= allowedMs(row)
  );

/** Returns whether no attack of a row takes more memory than allowed. */
export const isSmall = ({ attacks, pace, ended }: NeighbourRow): boolean =>
  ended === undefined &&
  attacks.every((attack) => addedBytes(attack) <= allowedBytes(pace, attack));

/** Summarizes times, in ms; zeros where there are none. */
export function timesOf(ms: readonly number[]): Times {
  const sorted = ms.toSorted((a, b) => a - b);
  // The nearest rank: of less than 100 calls, p99 is the longest.
  const at = (share: number) =>
    sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
  return {
    calls: ms.length,
    p50: at(0.5),
    p99: at(0.99),
    max: at(1),
  };
}

/**
 * Returns the middle one, by p99, of the times before, between and after attacks: what an attack leaves
 * behind must not make the next one look harmless.
 */
export const quietOf = (windows: readonly Times[]): Times =>
  windows.toSorted((a, b) => a.p99 - b.p99)[
    Math.floor((windows.length - 1) / 2)
  ] ?? timesOf([]);

/** Says in a few words how a payload was answered. */
export function kindOf(reply: Reply): string {
  if ("closed" in reply) return `closed ${reply.closed}`;
  const isRefused = /^\[(false|\{"code":)/.test(reply.ack);
  if (!isRefused && reply.ack.startsWith("[")) return "accepted";
  return reply.ack.slice(0, SHOWN);
}

const SHOWN = 60;

/** Formats bytes as MiB. */
const mib = (bytes: number): string => (bytes / 2 ** 20).toFixed(0);

/** Returns the largest of some values, and which of them it is. */
const largest = <T>(all: readonly T[], figure: (one: T) => number) =>
  all.toSorted((a, b) => figure(b) - figure(a))[0];

/** Returns whether neighbours stay undisturbed: how many rows, and the worst of them. */
export function neighboursGoals({ rows }: NeighboursResult): Goal[] {
  const attacks = rows.flatMap((row) =>
    row.attacks.map((attack) => ({ row, attack }))
  );
  const slow = largest(
    attacks,
    ({ row, attack }) => attack.times.p99 / allowedMs(row),
  )?.attack;
  const large = largest(
    attacks,
    ({ row, attack }) => addedBytes(attack) / allowedBytes(row.pace, attack),
  )?.attack;
  if (slow === undefined || large === undefined) return [];
  const all = rows.length;
  const short = rows.filter(isShort).length;
  const small = rows.filter(isSmall).length;
  return [
    {
      figure: "p99 of a neighbour's call, by what another member sends",
      goal: "≤ 10 × without, or 50 ms",
      measured: `${short} of ${all}; at most ${slow.times.p99.toFixed(0)} ms`,
      met: short === all,
    },
    {
      figure: "memory that this adds to the Server",
      goal: "≤ 3 × what passes + 64 MiB",
      measured: `${small} of ${all}; at most ${mib(addedBytes(large))} MiB`,
      met: small === all,
    },
  ];
}

/** Writes a line for each row, of its worst attack; the memory is that of the largest. */
export const neighboursTable = ({ rows }: NeighboursResult): string =>
  textTable(
    [
      "what is sent",
      "p99 ms",
      "allowed",
      "added MiB",
      "allowed",
      "worst shape",
    ],
    rows.map((row) => {
      const slow = worstOf(row, ({ times }) => times.p99);
      const large = worstOf(row, addedBytes);
      if (slow === undefined || large === undefined || row.ended) {
        return [row.title, row.ended ?? "not measured"];
      }
      return [
        row.title,
        slow.times.p99.toFixed(1),
        allowedMs(row).toFixed(1),
        mib(addedBytes(large)),
        mib(allowedBytes(row.pace, large)),
        `${slow.shape} in ${slow.field}`,
      ];
    }),
  );

/** Says of an attack what it did, in a line. */
export const progressOf = (
  row: string,
  quietMs: number,
  attack: AttackResult,
): string =>
  `${row}, ${attack.shape} in ${attack.field}: ${attack.payloads} × ${
    (attack.bytes / 1000).toFixed(0)
  } KB, p99 ${attack.times.p99.toFixed(0)} ms (without ${
    quietMs.toFixed(1)
  }), +${mib(addedBytes(attack))} MiB; ${
    Object.entries(attack.answers)
      .map(([kind, count]) => `${count} × ${kind}`).join("; ")
  }`;
