import {
  assertEquals,
  assertMatch,
  assertObjectMatch,
  assertRejects,
  assertThrows,
} from "@std/assert";
import { againstCheckout, cpuAgainst } from "../../../bench/against.ts";
import {
  byFile,
  byRole,
  commonCounts,
  type FunctionCount,
  pathTables,
} from "../../../bench/call_path.ts";
import {
  type CallsRun,
  disturbancesOf,
  isDisturbed,
  measureRows,
  ratiosOf,
  summarize,
} from "../../../bench/calls.ts";
import { FULL, loadOf, QUICK } from "../../../bench/cases.ts";
import { portIn, ROOT } from "../../../bench/contestants/start.ts";
import {
  median,
  quantile,
  quartilesText,
  spreadOf,
} from "../../../bench/statistics.ts";
import type { Tools } from "../../../bench/tools.ts";

/** 1,000 calls in 2 s; `cpu` is that of each process in ms, and so in µs of a call. */
function run(
  contestant: string,
  round: number,
  cpu: number | Readonly<Record<string, number>>,
  over: Partial<CallsRun> = {},
): CallsRun {
  const each = typeof cpu === "number" ? { server: cpu } : cpu;
  const sum = Object.values(each).reduce((a, b) => a + b);
  const seconds = Object.entries(each).map(([name, ms]) => [name, ms / 1000]);
  return {
    key: "100 50x1",
    contestant,
    round,
    calls: 1000,
    seconds: 2,
    cpuSeconds: Object.fromEntries(seconds),
    serverCpuSeconds: sum / 1000,
    generatorCpuSeconds: 1,
    othersCpuSeconds: 4,
    p50: 1,
    p99: 10 * sum,
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

Deno.test("spreadOf() is the lowest, the median, the highest; quantile() is linear between two", () => {
  assertEquals(spreadOf([3, 1, 8]), { low: 1, mid: 3, high: 8 });
  assertEquals(spreadOf([3, 1]), { low: 1, mid: 2, high: 3 });
  assertEquals([median([3, 1, 2]), median([4, 1, 3, 2])], [2, 2.5]);
  assertEquals(quantile([4, 1, 3, 2, 5], 0.25), 2);
  assertEquals(quantile([1, 2], 0.75), 1.75);
  assertThrows(() => median([]), RangeError, "no values");
  assertEquals(
    quartilesText([1, 1.1, 0.9, 1.2, 0.8]),
    "median 1.000, quartiles 0.900–1.100, range 0.800–1.200 of 5 rounds",
  );
});

Deno.test("summarize() compares with the floor of the same round", () => {
  // The machine was slow in the second one.
  const rows = summarize(rounds("ours", [[10, 20], [100, 150], [10, 18]]));
  assertNear(rows, [{ cpuRatio: even(1) }, {
    contestant: "ours",
    cpu: 20,
    cpuRatio: { low: 1.5, mid: 1.8, high: 2 },
    callsPerSecond: 500,
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
    first: { cpu: 60, cpuRatio: even(1.5) },
  }]);
  const [without = {}] = summarize([run("floor", 0, 10)]);
  assertEquals("first" in without, false);
});

Deno.test("summarize() compares with another base, and parts Redis off", () => {
  const runs = [
    run("ours", 0, 20),
    run("same", 0, { a: 20, redis: 2 }),
    run("other", 0, { a: 22, b: 17, redis: 5 }),
  ];
  const rows = summarize(runs, { same: "ours", other: "same" });
  assertNear(rows, [{ cpu: 20 }, { cpuRatio: even(1.1), redisCpu: 2 }, {
    cpu: 44,
    cpuRatio: even(2),
    redisCpu: 5,
  }]);
  assertEquals("redisCpu" in (rows[0] ?? {}), false);
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

Deno.test("a load whose floor spread over more than 25 % is named, and disturbed", () => {
  const load = (key: string, floors: readonly number[]) =>
    rounds("ours", floors.map((cpu) => [cpu, 2 * cpu] as const), { key });
  const calm = load("100 50x1", [10, 12, 11, 10.5, 11]); // 18 %
  const disturbed = load("10k 8x1", [10, 14, 11, 10, 10]); // 40 %
  assertEquals(disturbancesOf(summarize(calm)), []);
  const rows = summarize([...calm, ...disturbed]);
  assertEquals(rows.filter((row) => !isDisturbed(row)), summarize(calm));
  const [line = "", ...more] = disturbancesOf(rows);
  assertEquals(more, []);
  assertMatch(line, /^10k 8x1: disturbed, .* over 40 %, more than 25 %/);
});

Deno.test("measureRows() repeats what was disturbed, twice at most, and takes turns", async () => {
  const turns: string[] = [];
  const floors = [10, 20, 10, 20, 10, 20];
  const tools = {
    failures: [],
    tell: () => {},
    field: {
      absent: new Map(),
      start: (name: string) => {
        turns.push(name);
        return Promise.resolve({ name, [Symbol.asyncDispose]: async () => {} });
      },
    },
    generator: {
      run: ({ name }: { name: string }) =>
        Promise.resolve(run(name, 0, name === "floor" ? floors.pop() ?? 0 : 9)),
    },
  } as unknown as Tools;
  const groups = [loadOf("100 50x1", ["floor", "ours"])];
  const rows = await measureRows(groups, 2, tools);
  assertEquals(rows.map(isDisturbed), [true, true]);
  const twice = ["floor", "ours", "ours", "floor"];
  assertEquals(turns, [...twice, ...twice, ...twice]);
});

Deno.test("ratiosOf() compares in rounds that have both", () => {
  const runs = [run("a", 0, 10), run("b", 0, 20), run("b", 1, 20)];
  assertEquals(ratiosOf(runs, ["b", "a"]), [2]);
});

Deno.test("loadOf() reads answer, pairs, calls and rate of a key", () => {
  const { load } = loadOf("10k 20x4@400", []);
  const { payload, pairs, inflight, rate } = load;
  assertEquals([payload.bytes, pairs, inflight, rate], [10_000, 20, 4, 400]);
  assertEquals(loadOf("100 5000:50", []).load.rotate, true);
});

Deno.test("the quick plan measures every part that the full one does", () => {
  for (const [part, groups] of Object.entries(QUICK.calls)) {
    assertEquals(groups.length > 0, true, part);
  }
  assertEquals(Object.keys(QUICK.calls), Object.keys(FULL.calls));
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

// ---------------------------------------------------------------- two checkouts

Deno.test("cpuAgainst() compares the CPU of both in each round", () => {
  const key = { key: "10k 50x1" };
  const runs = [
    run("theirs", 0, 10, key),
    run("ours", 0, 9, key),
    run("theirs", 1, 100, key), // the machine was slow for a while
    run("ours", 1, 80, key),
    run("theirs", 2, 10, key), // the other run of this round failed
  ];
  assertEquals(cpuAgainst(runs), [
    "10 KB, CPU of a call / the other's: median 0.850, quartiles 0.825–0.875, range 0.800–0.900 of 2 rounds",
  ]);
  assertEquals(cpuAgainst(runs.slice(0, 1)), []);
});

Deno.test("againstCheckout() has both Servers, and names a folder without a Server", async () => {
  assertEquals(Object.keys(await againstCheckout(ROOT)), ["theirs", "ours"]);
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
    call,
    count("client/a send", 3),
    count("client/a heartbeat", 1),
  ];
  assertEquals(commonCounts([more, both]), both);
  assertEquals(commonCounts([both, more]), both);
  assertEquals(commonCounts([]), []);
});

Deno.test("pathTables() adds files, functions and invocations up by role and by file", () => {
  const counts = [
    count("server/wire/a one", 2),
    count("server/wire/a two", 1),
    count("server/relay/b three", 1),
    count("agent/c four", 1),
  ];
  assertEquals(
    pathTables([byRole(counts), byFile(counts)]),
    `
        files  functions  invocations
agent       1          1            1
server      2          3            4
all         3          4            5

                   files  functions  invocations
agent/c.ts             1          1            1
server/relay/b.ts      1          1            1
server/wire/a.ts       1          2            3`.slice(1),
  );
});
