import { fileURLToPath } from "node:url";
import { type Child, start } from "../../tests/support/child.ts";
import { startMain } from "../../tests/support/command.ts";
import type { CpuSample, Findings, Plan, TimedCall } from "./agent_end.ts";
import { agentStages, directStages, type Times } from "./call_stages.ts";
import {
  type Overhead,
  type Path,
  type PathCost,
  PATHS,
  type PayloadOverhead,
  type Stage,
} from "./result.ts";
import { median, medianFields } from "./statistics.ts";

/** Calls and rounds of the two forms. */
const FULL = { rounds: 7, calls: 200, payloads: [100, 10_000, 100_000] };
const QUICK = { rounds: 1, calls: 10, payloads: [100, 10_000] };

/** Measures tool calls through Agent, Server and Computer, and the same MCP calls made directly. */
export async function measureOverhead(
  { quick }: { quick: boolean },
): Promise<Overhead> {
  const extent = quick ? QUICK : FULL;
  await using server = startMain("server", ["--port=0", "--no-limits"]);
  const [url = ""] = await server.line(/http:\/\/127\.0\.0\.1:\d+/);
  await using computer = startEnd("computer_end.ts", url);
  await computer.line(/^ready$/);
  const plan: Plan = {
    ...extent,
    url,
    server: server.pid,
    computer: computer.pid,
  };
  await using agent = startEnd("agent_end.ts", JSON.stringify(plan));
  const found: Findings = JSON.parse(await lastLine(agent));
  await computer.stop();
  const atComputer: Record<string, Times> = JSON.parse(
    await lastLine(computer),
  );
  return {
    rounds: extent.rounds,
    calls: extent.calls,
    payloads: extent.payloads.map((bytes) => ({
      bytes,
      paths: Object.fromEntries(
        PATHS.map((path) => [path, pathCost(bytes, path, found, atComputer)]),
      ) as Required<PayloadOverhead["paths"]>,
    })),
  };
}

/** Returns the cost of one way for one size: the median over the rounds of each round's medians. */
export function pathCost(
  bytes: number,
  path: Path,
  { calls, cpu }: Findings,
  atComputer: Readonly<Record<string, Times>>,
): PathCost {
  const belongs = (sample: TimedCall | CpuSample) =>
    sample.bytes === bytes && sample.path === path;
  const rounds = Map.groupBy(calls.filter(belongs), ({ round }) => round);
  const summaries = [...rounds].map(([round, ofPath]) => ({
    p50: p50(ofPath),
    ratio: p50(ofPath) /
      p50(
        calls.filter((call) =>
          call.bytes === bytes && call.round === round && call.path === "direct"
        ),
      ),
    stages: medianFields<Stage>(
      ofPath.map(({ id, times }) =>
        path === "here"
          ? {}
          : path === "direct"
          ? directStages(times)
          : agentStages(times, atComputer[id] ?? {})
      ),
    ),
  }));
  const ratios = summaries.map(({ ratio }) => ratio);
  return {
    p50: median(summaries.map(({ p50 }) => p50)),
    ratio: {
      low: Math.min(...ratios),
      mid: median(ratios),
      high: Math.max(...ratios),
    },
    stages: medianFields(summaries.map(({ stages }) => stages)),
    cpu: medianFields(
      cpu.filter(belongs).map(({ cpu }) => cpu),
    ) as Record<string, number>,
  };
}

const p50 = (calls: readonly TimedCall[]): number =>
  median(calls.map(({ times: { start = 0, end = 0 } }) => end - start));

const startEnd = (file: string, argument: string): Child =>
  start(Deno.execPath(), [
    "run",
    "-A",
    "--quiet",
    "--frozen",
    fileURLToPath(new URL(file, import.meta.url)),
    argument,
  ]);

/** Returns the last output of a process. */
async function lastLine(child: Child): Promise<string> {
  const { success } = await child.status;
  const line = child.lines.at(-1);
  if (success && line !== undefined) return line;
  throw new Error(`Cannot measure:\n${child.lines.join("\n")}`);
}
