import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { summarizeBroadcast } from "../../../bench/broadcast.ts";
import { type CallsRun, cpuOf } from "../../../bench/calls.ts";
import { ratioOf, summarize } from "../../../bench/calls_summary.ts";
import { portIn } from "../../../bench/contestants/running.ts";
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

Deno.test("ratioOf() keeps the loads apart", () => {
  const runs = [run("a", 0, 10), run("b", 0, 20, { key: "10k" })];
  assertEquals(ratioOf(runs, "100", ["b", "a"], cpuOf), undefined);
});

Deno.test("summarizeBroadcast() counts per delivery", () => {
  const used = { ...run("ours", 0, 30), deliveries: 100, broadcasts: 10 };
  const [row] = summarizeBroadcast([{ ...used, members: 11 }]);
  assertEquals(row?.members, 11);
  assertAlmostEquals(row?.cpu ?? 0, 300);
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
  assertEquals(row?.bytesPerMember, 2000);
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
