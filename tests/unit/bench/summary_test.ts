import {
  assertEquals,
  assertMatch,
  assertObjectMatch,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { againstCheckout, cpuAgainst } from "../../../bench/against.ts";
import { summarizeBroadcast } from "../../../bench/broadcast.ts";
import {
  byRole,
  byRoom,
  commonCounts,
  type FunctionCount,
  pathTable,
} from "../../../bench/call_path/count.ts";
import { type CallsRun, cpuOf } from "../../../bench/calls.ts";
import { ratioOf, summarize } from "../../../bench/calls_summary.ts";
import {
  addedMs,
  compareBalanced,
  compareSizes,
  summarizeCluster,
  summarizeClusterIdle,
} from "../../../bench/cluster/summary.ts";
import { merged } from "../../../bench/cluster/turns.ts";
import { portIn, ROOT } from "../../../bench/contestants/running.ts";
import {
  disturbancesOf,
  undisturbed,
  withoutDisturbed,
} from "../../../bench/disturbance.ts";
import type { Findings } from "../../../bench/ends/agent_end.ts";
import { agentStages, directStages } from "../../../bench/ends/call_stages.ts";
import { pathCost } from "../../../bench/ends/overhead.ts";
import { median, medianFields } from "../../../bench/ends/statistics.ts";
import { Marks, tap } from "../../../bench/ends/taps.ts";
import { summarizeIdle } from "../../../bench/idle.ts";
import { spreadOf } from "../../../bench/statistics.ts";

const used = (cpuSeconds: number, rssBytes = 2 ** 20) => ({
  cpuSeconds,
  rssBytes,
  peakRssBytes: rssBytes,
});

/** 1,000 calls in 2 s; `cpu` is that of each process in ms, and so in µs of a call. */
function run(
  contestant: string,
  round: number,
  cpu: number | Readonly<Record<string, number>>,
  over: Partial<CallsRun> = {},
): CallsRun {
  const each = typeof cpu === "number" ? { server: cpu } : cpu;
  const sum = Object.values(each).reduce((a, b) => a + b);
  const processes = Object.entries(each)
    .map(([name, ms]) => [name, used(ms / 1000)]);
  return {
    key: "100",
    contestant,
    round,
    calls: 1000,
    seconds: 2,
    processes: Object.fromEntries(processes),
    serverCpuSeconds: sum / 1000,

    generatorCpuSeconds: 1,
    othersCpuSeconds: 4,

    rssBytes: 1,
    peakRssBytes: 2,

    p50: 1,
    p90: 2,
    p99: 10 * sum,
    p999: 4,
    max: 5,
    ...over,
  };
}

/** Runs of a floor and a contestant in each round. */
const rounds = (
  contestant: string,
  cpus: readonly (readonly [floor: number, own: number])[],
  over?: Partial<CallsRun>,
) =>
  cpus.flatMap(([floor, own], round) => [
    run("floor", round, floor, over),
    run(contestant, round, own, over),
  ]);

/** Compares the fields that are expected, numbers by six digits. */
function assertNear(actual: unknown, expected: unknown) {
  assertEquals(Object(actual).length, Object(expected).length);
  assertObjectMatch({ value: rounded(actual) }, { value: rounded(expected) });
}

const rounded = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(
      value,
      (_, each) =>
        typeof each === "number" ? Number(each.toPrecision(6)) : each,
    ),
  );

const even = (value: number) => ({ low: value, mid: value, high: value });

Deno.test("spreadOf() is the least, the middle, the most; median() the middle, or between the two", () => {
  assertEquals(spreadOf([3, 1, 8]), { low: 1, mid: 3, high: 8 });
  assertEquals(spreadOf([3, 1]), { low: 1, mid: 2, high: 3 });
  assertEquals([median([3, 1, 2]), median([4, 1, 3, 2])], [2, 2.5]);
  assertThrows(() => median([]), RangeError, "no values");
  assertEquals(
    medianFields<"a" | "b">([{ a: 1 }, { a: 3, b: 7 }, { a: 2 }]),
    { a: 2, b: 7 },
  );
});

Deno.test("summarize() compares with the floor of the same round", () => {
  // The machine was slow in the second one.
  const rows = summarize(rounds("ours", [[10, 20], [100, 150], [10, 18]]));
  assertNear(rows, [{ cpuRatio: even(1) }, {
    contestant: "ours",
    cpu: 20,
    cpuRatio: { low: 1.5, mid: 1.8, high: 2 },
    p99Ratio: { mid: 1.8 },
    callsPerSecond: 500,
    generatorShare: 0.5,
    floorSpread: 9,
  }]);
  const [row = {}] = summarize([run("ours", 0, 20), run("floor", 1, 10)]);
  assertEquals("cpuRatio" in row, false, "no floor in the same round");
});

Deno.test("summarize() keeps the first seconds apart", () => {
  const first = (cpu: number) => ({ first: run("", 0, cpu, { p99: 7 }) });
  const rows = summarize([
    run("floor", 0, 10, first(40)),
    run("ours", 0, 20, first(60)),
  ]);
  assertNear(rows, [{ first: { cpuRatio: even(1) } }, {
    cpu: 20,
    first: { cpu: 60, cpuRatio: even(1.5), p99: 7 },
  }]);
  const [without = {}] = summarize([run("floor", 0, 10)]);
  assertEquals("first" in without, false);
});

Deno.test("summarize() compares with this package in the same round", () => {
  const runs = [run("ours", 0, 20), run("rust", 0, 30), run("rust", 1, 100)];
  assertNear(summarize(runs)[1], { oursRatio: even(1.5) });
});

Deno.test("summarize() says of every row how far the floor's rounds were apart", () => {
  const rows = summarize([
    ...[10, 13, 9].map((cpu, round) => run("floor", round, cpu)),
    run("ours", 0, 20),
    run("ours", 0, 20, { key: "10k" }),
  ]);
  assertNear(rows, [{ floorSpread: 0.4 }, { floorSpread: 0.4 }, {}]);
  assertEquals("floorSpread" in (rows[2] ?? {}), false);
});

Deno.test("a load whose floor spread over more than 25 % is named, and not published", () => {
  const load = (key: string, floors: readonly number[]) =>
    rounds("ours", floors.map((cpu) => [cpu, 2 * cpu] as const), { key });
  const calm = load("100 50x1", [10, 12, 11, 10.5, 11]); // 18 %
  const disturbed = load("10k 8x1", [10, 14, 11, 10, 10]); // 40 %
  assertEquals(disturbancesOf("relay", summarize(calm)), []);
  const rows = summarize([...calm, ...disturbed]);
  assertEquals(withoutDisturbed(rows), summarize(calm));
  const [line = "", ...more] = disturbancesOf("relay", rows);
  assertEquals(more, []);
  const says = /^relay, 10k 8x1: disturbed, .* over 40 %, more than 25 %/;
  assertMatch(line, says);
  assertStringIncludes(line, "deno task bench --parts relay");
});

Deno.test("undisturbed() repeats what was disturbed, twice at most", async () => {
  const lines: string[] = [];
  const spreads = [0.5, 0.4, 0.3, 0.2];
  let measured = 0;
  const measure = () =>
    Promise.resolve([{ floorSpread: spreads[measured++] ?? 0 }]);
  const tools = { tell: (line: string) => void lines.push(line) };
  assertEquals(await undisturbed(tools, measure), [{ floorSpread: 0.3 }]);
  assertEquals(await undisturbed(tools, measure), [{ floorSpread: 0.2 }]);
  assertEquals([measured, lines.length], [4, 2]);
});

Deno.test("ratioOf() keeps the loads apart", () => {
  const runs = [run("a", 0, 10), run("b", 0, 20, { key: "10k" })];
  assertEquals(ratioOf(runs, "100", ["b", "a"], cpuOf), undefined);
});

Deno.test("summarizeBroadcast() counts per delivery", () => {
  const sent = { ...run("ours", 0, 30), deliveries: 100, broadcasts: 10 };
  const rows = summarizeBroadcast([{ ...sent, members: 11 }]);
  assertNear(rows, [{ members: 11, cpu: even(300), deliveriesPerSecond: 50 }]);
});

const STEP = { members: 12, joined: 10, bytesBefore: 5000, bytes: 25_000 };

Deno.test("summarizeIdle() does not count what the first two members loaded", () => {
  const step = { ...run("ours", 0, 30), ...STEP };
  const rows = summarizeIdle([{ contestant: "ours", steps: [step] }]);
  assertNear(rows, [{
    bytesPerMember: even(2000),
    joinsPerSecond: 5,
    cpuPerJoin: 3000,
  }]);
});

Deno.test("portIn() reads the lines of every server, once they are whole", () => {
  const serving =
    "A2C-SMCP 0.2.0 server listening on http://127.0.0.1:41 (paths /smcp/ and /socket.io/)\n";
  for (
    const [text, port] of [
      ["listening on 8787", undefined],
      ["listening on 8787\n", 8787],
      [serving, 41],
      ["INFO Server listening on 127.0.0.1:4210\n", 4210],
    ] as const
  ) assertEquals(portIn(text), port, text);
});

// ---------------------------------------------------------------- clusters

Deno.test("merged() adds turns up, and takes medians of percentiles", () => {
  const turns = [100, 200, 900].map((p50, turn) =>
    run("other", turn, { a: 10, redis: 1 }, { p50, max: p50 })
  );
  assertNear(merged(turns), {
    calls: 3000,
    seconds: 6,
    serverCpuSeconds: 0.033,
    p50: 200,
    max: 900,
    processes: { redis: { cpuSeconds: 0.003 }, a: { rssBytes: 2 ** 20 } },
  });
});

Deno.test("summarizeCluster() parts the CPU of a call among Servers, Redis and balancer", () => {
  const rows = summarizeCluster([
    run("alone", 0, { a: 40 }),
    run("balanced", 0, { a: 30, b: 20, c: 10, redis: 5, balancer: 7 }),
  ]);
  assertNear(rows, [{ cpu: 40, nodesCpu: 40 }, {
    cpu: 72,
    nodesCpu: 60,
    redisCpu: 5,
    balancerCpu: 7,

    callsPerSecond: 500,
    othersShare: 2,
  }]);
  const alone = Object.keys(rows[0] ?? {});
  assertEquals(alone.filter((name) => /redis|balancer/.test(name)), []);
});

Deno.test("compareSizes() compares within rounds, all processes together", () => {
  const compared = compareSizes([
    run("alone", 0, { a: 10 }),
    run("same", 0, { a: 10, b: 1 }),
    run("other", 0, { a: 10, b: 10, redis: 2 }),
    run("alone", 1, { a: 100 }), // the machine was slow for a while
    run("same", 1, { a: 100, b: 20 }),
    run("other", 1, { a: 100, b: 100, redis: 40 }),
  ]);
  assertNear(compared, [{
    within: { low: 1.1, high: 1.2 },
    other: { low: 2, mid: 2 },
  }]);
  const apart = [run("same", 0, { a: 1 }), run("other", 1, { a: 1 })];
  for (const runs of [[run("other", 0, { a: 1 })], apart]) {
    assertEquals(compareSizes(runs), [{ key: "100" }], "one is missing");
  }
});

Deno.test("compareBalanced() compares with one process, which it leaves out", () => {
  const found = compareBalanced([
    run("alone", 0, { a: 10 }),
    run("together", 0, { a: 5, b: 5, c: 5 }, { calls: 2000 }),
  ]);
  assertNear(found, [
    { setting: "together", throughput: even(2), cpu: even(0.75) },
  ]);
});

Deno.test("addedMs() is the difference of medians of one round", () => {
  const p50s = [["same", 0, 1000], ["other", 0, 1500], ["same", 1, 9000], [
    ...["other", 1, 9200] as const,
  ], ["other", 2, 90_000]] as const;
  const added = addedMs(
    p50s.map(([name, round, p50]) => run(name, round, 1, { p50 })),
  );
  assertNear(added, { low: 0.2, high: 0.5 });
  assertEquals(addedMs([run("same", 0, 1)]), undefined);
});

Deno.test("summarizeClusterIdle() counts joins and idleness apart", () => {
  const { processes: _, ...common } = run("", 0, 1);
  const idle = { ...common, serverCpuSeconds: 0.05 };
  const processes = { a: used(0.03), redis: used(0.02) };
  const step = { ...idle, processes, ...STEP };
  const watched = {
    ...idle,
    members: 12,
    processes: { a: used(0.04), redis: used(0.01, 7000) },
  };
  const rows = summarizeClusterIdle([
    { setting: "spread", steps: [step], watched },
    { setting: "alone", steps: [step] }, // nobody watched it
  ]);
  assertNear(rows, [{
    members: 12,
    joinsPerSecond: 5,
    cpuPerJoin: 5000,

    redisCpuPerJoin: 2000,
    bytesPerMember: 2000,
    redisBytes: 7000,

    nodesShare: 0.02,
    redisShare: 0.005,
  }]);
});

// ---------------------------------------------------------------- two checkouts

Deno.test("cpuAgainst() compares the CPU of both in each round", () => {
  const key = { key: "10k" };
  const runs = [
    run("other", 0, 10, key),
    run("ours", 0, 9, key),
    run("other", 1, 100, key), // the machine was slow for a while
    run("ours", 1, 80, key),
    run("other", 2, 10, key), // the other run of this round failed
  ];
  const line = "10 KB: 0.85 (0.80–0.90) × the CPU of a call";
  assertEquals(cpuAgainst(runs), [line]);
  assertEquals(cpuAgainst(runs.slice(0, 1)), []);
});

Deno.test("againstCheckout() starts the other Server in its own folder, and names a folder without a Server", async () => {
  const { other, ours } = await againstCheckout(ROOT);
  const old = await other?.prepare("");
  const own = await ours?.prepare("");
  assertEquals([old?.cwd, own?.cwd], [ROOT, undefined]);
  assertEquals([old?.command, old?.args], [own?.command, own?.args]);
  await assertRejects(
    () => againstCheckout("/no/such/checkout"),
    Error,
    "Cannot compare with /no/such/checkout: it has no server/main.ts",
  );
});

// ---------------------------------------------------------------- the path of a call

const count = (name: string, invocations: number): FunctionCount => ({
  file: `${name.split(" ")[0]}.ts`,
  name,
  offset: 0,
  invocations,
});

Deno.test("commonCounts() leaves what ran in every call, as often as where it ran least", () => {
  const call = count("agent/a call", 1);
  const both = [call, count("client/a send", 2)];
  const more = [
    ...[call, count("client/a send", 3), count("client/a heartbeat", 1)],
  ];
  assertEquals(commonCounts([more, both]), both);
  assertEquals(commonCounts([both, more]), both);
  assertEquals(commonCounts([]), []);
});

Deno.test("pathTable() adds files, functions and invocations up by role and by room", () => {
  const counts = [
    ...[count("server/wire/json/a one", 2), count("server/wire/json/a two", 1)],
    ...[count("server/relay/b three", 1), count("agent/c four", 1)],
  ];
  assertEquals(
    pathTable([byRole(counts), byRoom(counts)]),
    `
                  files  functions  invocations

agent                 1          1            1
server                2          3            4
all                   3          4            5

agent                 1          1            1
server/relay          1          1            1
server/wire/json      1          2            3`.slice(1),
  );
});

// ---------------------------------------------------------------- the other ends

Deno.test("agentStages() parts the whole time of a call without comparing two clocks", () => {
  const agent = { start: 100, written: 110, frame: 200, end: 205 };
  // By a clock of its own, which is far from the Agent's.
  const computer = {
    frame: 9_000,
    run: 9_002,
    request: 9_005,
    sent: 9_006,
    line: 9_046,

    answer: 9_050,
    result: 9_051,
    ack: 9_053,
    written: 9_060,
  };
  const stages = agentStages(agent, computer);
  assertEquals(stages, {
    agentOut: 10,
    server: 30,
    decode: 2,
    rules: 3,
    mcpOut: 1,

    mcpServer: 40,
    mcpIn: 4,
    answer: 1,
    limits: 2,
    encode: 7,
    agentIn: 5,
  });
  const sum = Object.values(stages).reduce((sum, time) => sum + time, 0);
  assertEquals(sum, agent.end - agent.start);
  assertThrows(
    () => directStages({ start: 1, sent: 2, end: 9 }),
    RangeError,
    "from sent to line: the call came through start, sent, end",
  );
});

const timed = (
  path: "direct" | "here",
  round: number,
  end: number,
  bytes = 100,
) => ({
  id: "1",
  bytes,
  round,
  path,
  times: { start: 0, sent: 1, line: 2, end },
});

Deno.test("pathCost() is the median over rounds of each round's median, for one size and way", () => {
  const found: Findings = {
    calls: [
      ...[[5, 6, 100], [7, 8, 9], [50, 50, 50]].flatMap((ends, round) =>
        ends.map((end) => timed("direct", round, end))
      ),
      timed("direct", 0, 1_000, 10_000),
    ],
    cpu: [
      { bytes: 100, path: "direct", cpu: { Client: 4 } },
      { bytes: 100, path: "direct", cpu: { Client: 6 } },
      { bytes: 100, path: "agent", cpu: { Agent: 90 } },
    ],
  };
  assertEquals(pathCost(100, "direct", found, {}), {
    p50: 8,
    ratio: even(1),
    stages: { mcpOut: 1, mcpServer: 1, mcpIn: 6 },
    cpu: { Client: 5 },
  });
});

Deno.test("pathCost() compares each round's median with that of the direct calls in it", () => {
  const ends = [[10, 15], [20, 40], [10, 11]] as const;
  const calls = ends.flatMap(([direct, here], round) => [
    ...[timed("direct", round, direct), timed("here", round, here)],
  ]);
  assertEquals(pathCost(100, "here", { calls, cpu: [] }, {}), {
    p50: 15,
    ratio: { low: 1.1, mid: 1.5, high: 2 },

    stages: {},
    cpu: {},
  });
});

Deno.test("tap() observes a method without changing what it does", async () => {
  class Answerer {
    readonly #name = "Ann";
    answer(question: string): Promise<string> {
      return Promise.resolve(`${this.#name}: ${question}`);
    }
  }
  const seen: string[] = [];
  tap(Answerer.prototype, "answer", {
    enter: ([question]) => seen.push(`enter ${question}`),
    leave: () => seen.push("leave"),
    resolve: () => seen.push("resolve"),
  });
  assertEquals(await new Answerer().answer("who?"), "Ann: who?");
  assertEquals(seen, ["enter who?", "leave", "resolve"]);
  assertThrows(
    () => tap(Answerer.prototype, "ask", {}),
    TypeError,
    "ask(): Answerer has no such method",
  );
});

Deno.test("Marks keeps the first of what happens twice, until it is taken", () => {
  const marks = new Marks();
  marks.mark("line");
  const { line: first = Infinity } = marks.take();
  assertEquals(marks.take(), {});
  marks.mark("line");
  assertEquals((marks.take().line ?? 0) > first, true);
});
