import type { RelayPlan, RelayRun } from "./relay.ts";
import { median, spreadOf } from "./statistics.ts";

/** What the runs of one contestant with one answer come to: medians. */
export interface RelayRow {
  readonly contestant: string;
  readonly payload: string;
  /** Microseconds of the server's CPU per call. */
  readonly cpu: number;
  /** Times the floor of the same round: lowest, median, highest; nothing without a floor. */
  readonly ratio?: ReturnType<typeof spreadOf>;
  readonly callsPerSecond: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  readonly peakRssBytes: number;
  /** Of one core. */
  readonly generatorShare: number;
}

/** Microseconds of the server's CPU per call. */
const cpuOf = ({ serverCpuSeconds, calls }: RelayRun) =>
  serverCpuSeconds / calls * 1e6;

/** Sums up runs; ratios are taken within each round. */
export function relayRows(
  plan: RelayPlan,
  runs: readonly RelayRun[],
): RelayRow[] {
  return plan.payloads.flatMap(({ name: payload }) =>
    plan.contestants.map((contestant) => {
      const mine = runs.filter((run) =>
        run.payload === payload && run.contestant === contestant
      );
      const mid = (read: (run: RelayRun) => number) => median(mine.map(read));
      const ratios = mine.flatMap((run) => {
        const floor = runs.find((other) =>
          other.payload === payload && other.round === run.round &&
          other.contestant === "floor"
        );
        return floor ? [cpuOf(run) / cpuOf(floor)] : [];
      });
      return {
        contestant,
        payload,
        cpu: mid(cpuOf),
        ...(ratios.length > 0 && { ratio: spreadOf(ratios) }),
        callsPerSecond: mid((run) => run.calls / run.seconds),
        p50: mid((run) => run.p50),
        p90: mid((run) => run.p90),
        p99: mid((run) => run.p99),
        p999: mid((run) => run.p999),
        peakRssBytes: mid((run) => run.peakRssBytes),
        generatorShare: mid((run) => run.generatorCpuSeconds / run.seconds),
      };
    })
  );
}

/** The rows as a table for a terminal. */
export function relayTable(plan: RelayPlan, runs: readonly RelayRun[]): string {
  const head = [
    "size",
    "contestant",
    "CPU µs/call",
    "× floor (low–high)",
    "calls/s",
    "p50 µs",
    "p90",
    "p99",
    "p99.9",
    "peak MB",
    "generator",
  ];
  const rows = relayRows(plan, runs).map((row) => [
    row.payload,
    row.contestant,
    row.cpu.toFixed(1),
    row.ratio
      ? `${row.ratio.mid.toFixed(2)} (${row.ratio.low.toFixed(2)}–${
        row.ratio.high.toFixed(2)
      })`
      : "",
    row.callsPerSecond.toFixed(0),
    row.p50.toFixed(0),
    row.p90.toFixed(0),
    row.p99.toFixed(0),
    row.p999.toFixed(0),
    (row.peakRssBytes / 2 ** 20).toFixed(0),
    `${(100 * row.generatorShare).toFixed(0)} %`,
  ]);
  const all = [head, ...rows];
  const width = (i: number) => Math.max(...all.map((r) => (r[i] ?? "").length));
  return all.map((r) =>
    r.map((cell, i) => cell.padEnd(width(i))).join("  ").trimEnd()
  ).join("\n");
}
