import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { summarizeBroadcast } from "../../../bench/broadcast.ts";
import { type CallsRun, cpuOf } from "../../../bench/calls.ts";
import { ratioOf, summarize } from "../../../bench/calls_summary.ts";
import { portIn } from "../../../bench/contestants/running.ts";
import {
  disturbancesOf,
  undisturbed,
  withoutDisturbed,
} from "../../../bench/disturbance.ts";
import { summarizeIdle } from "../../../bench/idle.ts";
import { spreadOf } from "../../../bench/statistics.ts";

const run = (
  contestant: string,
  round: number,
  cpu: number,
  over: Partial<CallsRun> = {},
): CallsRun => ({
  key: "100",
  contestant,
  round,
  calls: 1000,
  seconds: 2,
  processes: {},
  serverCpuSeconds: cpu / 1000,
  generatorCpuSeconds: 1,
  othersCpuSeconds: 0,
  rssBytes: 1,
  peakRssBytes: 2,
  p50: 1,
  p90: 2,
  p99: 10 * cpu,
  p999: 4,
  max: 5,
  ...over,
});

Deno.test("spreadOf() is the least, the middle, the most", () => {
  assertEquals(spreadOf([3, 1, 8]), { low: 1, mid: 3, high: 8 });
  assertEquals(spreadOf([3, 1]), { low: 1, mid: 2, high: 3 });
});

Deno.test("summarize() compares with the floor of the same round", () => {
  const runs = [
    run("floor", 0, 10),
    run("ours", 0, 20),
    run("floor", 1, 100), // the machine was slow for a while
    run("ours", 1, 150),
    run("floor", 2, 10),
    run("ours", 2, 18),
  ];
  const [floor, ours] = summarize(runs);
  assertEquals(floor?.cpuRatio, { low: 1, mid: 1, high: 1 });
  assertEquals(ours?.contestant, "ours");
  assertAlmostEquals(ours?.cpu ?? 0, 20);
  assertAlmostEquals(ours?.cpuRatio?.low ?? 0, 1.5);
  assertAlmostEquals(ours?.cpuRatio?.mid ?? 0, 1.8);
  assertAlmostEquals(ours?.cpuRatio?.high ?? 0, 2);
  assertAlmostEquals(ours?.p99Ratio?.mid ?? 0, 1.8);
  assertEquals(ours?.callsPerSecond, 500);
  assertEquals(ours?.generatorShare, 0.5);
});

Deno.test("summarize() has no ratio without a floor in the same round", () => {
  const [row] = summarize([run("ours", 0, 20), run("floor", 1, 10)]);
  assert(row);
  assertEquals("cpuRatio" in row, false);
});

Deno.test("summarize() keeps the first seconds apart", () => {
  const first = (cpu: number) => ({ first: run("", 0, cpu, { p99: 7 }) });
  const [floor, ours] = summarize([
    run("floor", 0, 10, first(40)),
    run("ours", 0, 20, first(60)),
  ]);
  assertEquals(floor?.first?.cpuRatio?.mid, 1);
  assertAlmostEquals(ours?.cpu ?? 0, 20);
  assertAlmostEquals(ours?.first?.cpu ?? 0, 60);
  assertAlmostEquals(ours?.first?.cpuRatio?.mid ?? 0, 1.5);
  assertEquals(ours?.first?.p99, 7);
  const [without] = summarize([run("floor", 0, 10)]);
  assert(without && !("first" in without));
});

Deno.test("summarize() compares with this package in the same round", () => {
  const [, rust] = summarize([
    run("ours", 0, 20),
    run("rust", 0, 30),
    run("rust", 1, 100),
  ]);
  assertAlmostEquals(rust?.oursRatio?.mid ?? 0, 1.5);
  assertAlmostEquals(rust?.oursRatio?.high ?? 0, 1.5);
});

Deno.test("summarize() says of every row how far the floor's rounds were apart", () => {
  const [floor, ours, other] = summarize([
    run("floor", 0, 10),
    run("floor", 1, 13),
    run("floor", 2, 9),
    run("ours", 0, 20),
    run("ours", 0, 20, { key: "10k" }),
  ]);
  assertAlmostEquals(floor?.floorSpread ?? 0, 0.4);
  assertEquals(ours?.floorSpread, floor?.floorSpread);
  assert(other && !("floorSpread" in other));
});

Deno.test("a load whose floor spread over more than 25 % is named, and not published", () => {
  const rounds = (key: string, cpus: readonly number[]) =>
    cpus.flatMap((cpu, round) => [
      run("floor", round, cpu, { key }),
      run("ours", round, 2 * cpu, { key }),
    ]);
  const calm = rounds("100 50x1", [10, 12, 11, 10.5, 11]); // 18 %
  const disturbed = rounds("10k 8x1", [10, 14, 11, 10, 10]); // 40 %
  assertEquals(disturbancesOf("relay", summarize(calm)), []);
  const rows = summarize([...calm, ...disturbed]);
  assertEquals(withoutDisturbed(rows), summarize(calm));
  const lines = disturbancesOf("relay", rows);
  assertEquals(lines.length, 1);
  assertMatch(
    lines[0] ?? "",
    /^relay, 10k 8x1: disturbed, .* over 40 %, more than 25 %/,
  );
  assertStringIncludes(lines[0] ?? "", "deno task bench --parts relay");
});

Deno.test("undisturbed() repeats what was disturbed, twice at most", async () => {
  const told: string[] = [];
  const spreads = [0.5, 0.4, 0.3, 0.2];
  const measure = () =>
    Promise.resolve([{ floorSpread: spreads[measured++] ?? 0 }]);
  let measured = 0;
  const tools = { tell: (line: string) => void told.push(line) };
  assertEquals(await undisturbed(tools, measure), [{ floorSpread: 0.3 }]);
  assertEquals(await undisturbed(tools, measure), [{ floorSpread: 0.2 }]);
  assertEquals(measured, 4);
  assertEquals(told.length, 2);
});

Deno.test("ratioOf() keeps the loads apart", () => {
  const runs = [run("a", 0, 10), run("b", 0, 20, { key: "10k" })];
  assertEquals(ratioOf(runs, "100", ["b", "a"], cpuOf), undefined);
});

Deno.test("summarizeBroadcast() counts per delivery", () => {
  const used = { ...run("ours", 0, 30), deliveries: 100, broadcasts: 10 };
  const [row] = summarizeBroadcast([{ ...used, members: 11 }]);
  assertEquals(row?.members, 11);
  assertAlmostEquals(row?.cpu.mid ?? 0, 300);
  assertEquals(row?.deliveriesPerSecond, 50);
});

Deno.test("summarizeIdle() does not count what the first two members loaded", () => {
  const step = {
    ...run("ours", 0, 30),
    members: 12,
    joined: 10,
    bytesBefore: 5000,
    bytes: 25_000,
  };
  const [row] = summarizeIdle([{ contestant: "ours", steps: [step] }]);
  assertEquals(row?.bytesPerMember, { low: 2000, mid: 2000, high: 2000 });
  assertEquals(row?.joinsPerSecond, 5);
  assertAlmostEquals(row?.cpuPerJoin ?? 0, 3000);
});

Deno.test("portIn() reads the lines of every server, once they are whole", () => {
  assertEquals(portIn("listening on 8787"), undefined);
  assertEquals(portIn("listening on 8787\n"), 8787);
  assertEquals(
    portIn(
      "A2C-SMCP 0.2.0 server listening on http://127.0.0.1:41 (paths /smcp/ and /socket.io/)\n",
    ),
    41,
  );
  assertEquals(portIn("INFO Server listening on 127.0.0.1:4210\n"), 4210);
});
