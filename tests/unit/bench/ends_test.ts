import { assert, assertEquals, assertThrows } from "@std/assert";
import type { Findings } from "../../../bench/ends/agent_end.ts";
import { agentStages, directStages } from "../../../bench/ends/call_stages.ts";
import { renderEnds } from "../../../bench/ends/mod.ts";
import { pathCost } from "../../../bench/ends/overhead.ts";
import type { EndsResult, PathCost } from "../../../bench/ends/result.ts";
import { median, medianFields } from "../../../bench/ends/statistics.ts";
import { Marks, tap } from "../../../bench/ends/taps.ts";

Deno.test("median() takes the value in the middle, or between the two", () => {
  assertEquals(median([3, 1, 2]), 2);
  assertEquals(median([4, 1, 3, 2]), 2.5);
  assertThrows(() => median([]), RangeError, "no values");
});

Deno.test("medianFields() takes each field over the records that have it", () => {
  assertEquals(
    medianFields<"a" | "b">([{ a: 1 }, { a: 3, b: 7 }, { a: 2 }]),
    { a: 2, b: 7 },
  );
});

const agent = { start: 100, written: 110, frame: 200, end: 205 };
/** By a clock of its own, which is far from the Agent's. */
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

Deno.test("agentStages() parts the whole time of a call without comparing two clocks", () => {
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
  assertEquals(
    Object.values(stages).reduce((sum, time) => sum + time, 0),
    agent.end - agent.start,
  );
});

Deno.test("directStages() names the place that a call did not come through", () => {
  assertThrows(
    () => directStages({ start: 1, sent: 2, end: 9 }),
    RangeError,
    "from sent to line: the call came through start, sent, end",
  );
});

Deno.test("pathCost() is the median over rounds of each round's median, for one size and way", () => {
  const call = (round: number, time: number, bytes = 100) => ({
    id: "1",
    bytes,
    round,
    path: "direct" as const,
    times: { start: 0, sent: 1, line: 2, end: time },
  });
  const found: Findings = {
    calls: [
      ...[5, 6, 100].map((time) => call(0, time)),
      ...[7, 8, 9].map((time) => call(1, time)),
      ...[50, 50, 50].map((time) => call(2, time)),
      call(0, 1_000, 10_000),
    ],
    cpu: [
      { bytes: 100, path: "direct", cpu: { Client: 4 } },
      { bytes: 100, path: "direct", cpu: { Client: 6 } },
      { bytes: 100, path: "agent", cpu: { Agent: 90 } },
    ],
  };
  assertEquals(pathCost(100, "direct", found, {}), {
    p50: 8,
    ratio: { low: 1, mid: 1, high: 1 },
    stages: { mcpOut: 1, mcpServer: 1, mcpIn: 6 },
    cpu: { Client: 5 },
  });
});

Deno.test("pathCost() compares each round's median with that of the direct calls in it", () => {
  const call = (path: "direct" | "here", round: number, time: number) => ({
    id: "1",
    bytes: 100,
    round,
    path,
    times: { start: 0, sent: 1, line: 2, end: time },
  });
  const found: Findings = {
    calls: [[10, 15], [20, 40], [10, 11]].flatMap((
      [direct = 0, here = 0],
      i,
    ) => [call("direct", i, direct), call("here", i, here)]),
    cpu: [],
  };
  assertEquals(pathCost(100, "here", found, {}), {
    p50: 15,
    ratio: { low: 1.1, mid: 1.5, high: 2 },
    stages: {},
    cpu: {},
  });
});

Deno.test("tap() hears of a method without changing what it does", async () => {
  class Answerer {
    readonly #name = "Ann";
    answer(question: string): Promise<string> {
      return Promise.resolve(`${this.#name}: ${question}`);
    }
  }
  const heard: string[] = [];
  tap(Answerer.prototype, "answer", {
    enter: ([question]) => heard.push(`enter ${question}`),
    leave: () => heard.push("leave"),
    resolve: () => heard.push("resolve"),
  });
  assertEquals(await new Answerer().answer("who?"), "Ann: who?");
  assertEquals(heard, ["enter who?", "leave", "resolve"]);
  assertThrows(
    () => tap(Answerer.prototype, "ask", {}),
    TypeError,
    "ask(): Answerer has no such method",
  );
});

Deno.test("Marks keeps the first of what happens twice, until it is taken", () => {
  const marks = new Marks();
  marks.mark("line");
  const first = marks.take();
  assertEquals(marks.take(), {});
  marks.mark("line");
  const { line = 0 } = marks.take();
  assert(line > (first.line ?? Infinity));
});

Deno.test("renderEnds() writes a section with a table of each kind", () => {
  const cost = (p50: number, stages: PathCost["stages"]): PathCost => ({
    p50,
    stages,
    cpu: { Client: 7 },
  });
  const result: EndsResult = {
    overhead: {
      rounds: 5,
      calls: 10,
      payloads: [{
        bytes: 10_000,
        paths: {
          direct: cost(400, { mcpServer: 300 }),
          here: { ...cost(600, {}), ratio: { low: 1.4, mid: 1.5, high: 2 } },
          agent: cost(1_000, { agentOut: 50, mcpServer: 310 }),
          vrl: cost(1_200, {}),
        },
      }],
    },
    commands: [
      { command: "server", runtime: "Deno 2", ready: 150.4, memory: 70 },
      { command: "server", runtime: "Node 22", ready: 300 },
    ],
    bundle: {
      minified: 2_000,
      gzip: 900,
      brotli: 800,
      parts: [["zod", 1_500]],
    },
  };
  const text = renderEnds(result);
  for (
    const line of [
      "## The other ends",
      "|  | 10 KB |",
      "| … / direct | 2.5× |",
      "| … in one process | 600 µs |",
      "| … in one process / direct | 1.5× (1.4–2.0) |",
      "| Agent: sign, encode | 50 µs |",
      "| MCP server, and the pipes to it and back | 300 µs → 310 µs |",
      "| smcp-server | 150 ms | 70 MiB | 300 ms |  |",
      "| zod | 1.5 kB | 75 % |",
    ]
  ) assert(text.split("\n").includes(line), `${line}\n${text}`);
});
