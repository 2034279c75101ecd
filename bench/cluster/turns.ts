import { type CallsRun, lineOf, optionsOf } from "../calls.ts";
import type { Target } from "../contestants/running.ts";
import type { CallsMeasured, ProcessUsed } from "../generator.ts";
import { median } from "../statistics.ts";
import { attempt, type Tools } from "../tools.ts";
import type { ClusterGroup } from "./plan.ts";

/** Seconds of load before a turn counts; what is slow the first time was so before the first turn. */
const TURN_WARMUP_SECONDS = 0.3;

/** Seconds of the turn that does not count. */
const FIRST_TURN_SECONDS = 0.2;

/**
 * Measures calls: in each round all arrangements of a group run at once, each with new processes, and
 * take turns of a second or so. A machine that is slow for some seconds is so for all of them.
 */
export async function measureInTurns(
  groups: readonly ClusterGroup[],
  { rounds, turns }: { readonly rounds: number; readonly turns: number },
  tools: Tools,
  start: (name: string) => Promise<Target & AsyncDisposable>,
): Promise<CallsRun[]> {
  const runs: CallsRun[] = [];
  for (const { key, load, contestants } of groups) {
    const options = await optionsOf(load, tools);
    const measure = (target: Target, over: Partial<typeof options>) =>
      tools.generator.run("calls", target, { ...options, ...over });
    for (let round = 0; round < rounds; round++) {
      await using stack = new AsyncDisposableStack();
      const targets = new Map<string, Target>();
      for (const name of contestants) {
        await attempt(`${key}, ${name}`, tools, async () => {
          const target = stack.use(await start(name));
          await measure(target, { seconds: FIRST_TURN_SECONDS });
          targets.set(name, target);
        });
      }
      const taken = new Map<string, CallsMeasured[]>();
      for (let turn = 0; turn < turns; turn++) {
        for (const [name, target] of targets) {
          const warmup = Math.min(TURN_WARMUP_SECONDS, load.warmup);
          const measured = await attempt(
            `${key}, ${name}`,
            tools,
            () => measure(target, { warmup }),
          );
          if (measured === undefined) targets.delete(name);
          else taken.set(name, [...taken.get(name) ?? [], measured]);
        }
      }
      for (const [contestant, measured] of taken) {
        const run = { key, contestant, round, ...merged(measured) };
        tools.tell(lineOf(run, rounds));
        runs.push(run);
      }
    }
  }
  return runs;
}

/** Adds turns up; percentiles are medians over the turns. */
export function merged(turns: readonly CallsMeasured[]): CallsMeasured {
  const sum = (read: (turn: CallsMeasured) => number) =>
    turns.reduce((total, turn) => total + read(turn), 0);
  const mid = (read: (turn: CallsMeasured) => number) =>
    median(turns.map(read));
  const most = (read: (turn: CallsMeasured) => number) =>
    Math.max(...turns.map(read));
  const names = Object.keys(turns[0]?.processes ?? {});
  return {
    processes: Object.fromEntries(
      names.map((name): [string, ProcessUsed] => [name, {
        cpuSeconds: sum(({ processes }) => processes[name]?.cpuSeconds ?? 0),
        rssBytes: mid(({ processes }) => processes[name]?.rssBytes ?? 0),
        peakRssBytes: most(({ processes }) =>
          processes[name]?.peakRssBytes ?? 0
        ),
      }]),
    ),
    seconds: sum((turn) => turn.seconds),
    serverCpuSeconds: sum((turn) => turn.serverCpuSeconds),
    generatorCpuSeconds: sum((turn) => turn.generatorCpuSeconds),
    othersCpuSeconds: sum((turn) => turn.othersCpuSeconds),
    rssBytes: mid((turn) => turn.rssBytes),
    peakRssBytes: most((turn) => turn.peakRssBytes),
    calls: sum((turn) => turn.calls),
    p50: mid((turn) => turn.p50),
    p90: mid((turn) => turn.p90),
    p99: mid((turn) => turn.p99),
    p999: mid((turn) => turn.p999),
    max: most((turn) => turn.max),
  };
}
