import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { answerOf, requestOf } from "../../../bench/neighbours/events.ts";
import {
  allowedBytes,
  allowedMs,
  type AttackResult,
  isShort,
  isSmall,
  kindOf,
  type NeighbourRow,
  neighboursGoals,
  neighboursTable,
  quietOf,
  timesOf,
  worstOnly,
} from "../../../bench/neighbours/result.ts";
import {
  allRows,
  quickly,
  type Row,
  WHOLE_MESSAGE,
} from "../../../bench/neighbours/rows.ts";
import {
  ANYWHERE,
  type Bound,
  payloadOf,
} from "../../../bench/neighbours/shapes.ts";
import { countValues } from "../../../shared/json/values.ts";
import {
  CLIENT_EVENTS,
  isClientEvent,
  isServerEvent,
  SERVER_EVENTS,
} from "../../../protocol/mod.ts";

const encoder = new TextEncoder();

/** Counts the brackets around one another. */
function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return Object.values(value).map(depthOf)
    .reduce((most, depth) => Math.max(most, depth), 0) + 1;
}

// ---------------------------------------------------------------- payloads

const SHAPES = [
  ...ANYWHERE,
  "items",
  "servers",
  "named",
  "name",
  "tools",
  "options",
  "details",
] as const;

Deno.test("payloadOf() is JSON that fills the bound, and has no more bytes and values", () => {
  const place = { base: { agent: "a", x: [1, 2] }, field: "x" };
  for (const shape of SHAPES) {
    for (const bytes of [300, 1000, 4321, 70_000]) {
      for (const values of [undefined, 20, 70, 500]) {
        const bound: Bound = { bytes, ...(values !== undefined && { values }) };
        const text = payloadOf(shape, place, bound);
        const parsed = JSON.parse(text);
        const is = `${shape}, ${bytes} bytes, ${values} values`;
        const size = encoder.encode(text).length;
        assert(size <= bytes, `${is}: ${size} bytes`);
        const found = countValues(text);
        assert(found <= (values ?? Infinity), `${is}: ${found}`);
        const depth = depthOf(parsed);
        assert(depth < 64, `${is}: depth ${depth}`);
        assertEquals(parsed.agent, "a", is);
        const isFew = shape === "items" || shape === "named";
        if (values === undefined && !isFew) {
          assert(size > bytes - 150, `${is}: ${size}`);
        }
      }
    }
  }
});

Deno.test("payloadOf() gives each member, each server and each tool another name", () => {
  const place = { base: {}, field: "x" };
  const parse = (shape: "keys" | "servers" | "tools") =>
    JSON.parse(payloadOf(shape, place, { bytes: 20_000 })).x;
  for (const shape of ["keys", "servers"] as const) {
    assert(Object.keys(parse(shape)).length > 1000, shape);
  }
  const names = parse("tools").map(({ name }: { name: string }) => name);
  assertEquals(new Set(names).size, names.length);
  assertMatch(names.join(""), /^[^A-Za-z0-9_-]*$/);
});

Deno.test("payloadOf() has 2.6 million empty objects, and 46,000 tools at most, in a whole message", () => {
  const place = { base: {}, field: "x" };
  const count = (shape: "objects" | "tools") =>
    JSON.parse(payloadOf(shape, place, WHOLE_MESSAGE)).x.length;
  assert(count("objects") > 2_600_000);
  assertEquals(count("tools"), 46_000);
});

Deno.test("the samples of all events are valid", () => {
  for (const [event, { parseRequest }] of Object.entries(CLIENT_EVENTS)) {
    assert(isClientEvent(event));
    parseRequest(requestOf(event).base);
    assert(answerOf(event).base);
  }
  for (const [event, { parseRequest }] of Object.entries(SERVER_EVENTS)) {
    assert(isServerEvent(event));
    parseRequest(requestOf(event, "office").base);
  }
});

// ---------------------------------------------------------------- rows

Deno.test("allRows() has every event: requests, answers and reports, each title once", () => {
  const rows = allRows();
  const has = (event: string, part: Row["part"]) =>
    rows.some((row) =>
      row.event === event && row.part === part && row.agent === row.computer
    );
  for (const event of Object.keys(CLIENT_EVENTS)) {
    assert(has(event, "request") && has(event, "answer"), event);
  }
  for (const event of Object.keys(SERVER_EVENTS)) {
    assert(has(event, "report"), event);
  }
  const titles = rows.map(({ title }) => title);
  assertEquals(new Set(titles).size, titles.length);
  assert(rows.every(({ variants }) => variants.length > 0));
});

Deno.test("allRows() has every translated answer in both orders of versions", () => {
  const mixed = allRows().filter((row) =>
    row.agent !== row.computer && row.part === "answer" && row.pace.least === 3
  );
  const orders = new Set(
    mixed.map(({ agent, computer }) => `${agent} ${computer}`),
  );
  assertEquals(orders, new Set(["0.4 0.2", "0.2 0.4"]));
  for (
    const name of [
      "get_tools",
      "get_config",
      "get_prompts",
      "get_resource_templates",
      "get_instructions",
      "get_resources",
      "read_resource",
    ]
  ) {
    assertEquals(
      mixed.filter(({ event }) => event === `client:${name}`).length,
      2,
      name,
    );
  }
});

Deno.test("quickly() leaves one attack of two payloads", () => {
  for (const { variants, pace } of allRows().map(quickly)) {
    assertEquals([variants.length, pace.most], [1, 2]);
  }
});

// ---------------------------------------------------------------- results

const MIB = 2 ** 20;

const attack = (
  p99: number,
  addedMib: number,
  over: Partial<AttackResult> = {},
): AttackResult => ({
  shape: "objects",
  field: "x",
  bound: { bytes: MIB },
  payloads: 5,
  bytes: MIB,
  seconds: 1,
  answers: { accepted: 5 },
  times: { calls: 100, p50: 1, p99, max: p99 },
  failed: 0,
  memory: { before: 100 * MIB, peak: (100 + addedMib) * MIB, now: 100 * MIB },
  ...over,
});

const row = (...attacks: AttackResult[]): NeighbourRow => ({
  title: "an event",
  pace: { inFlight: 2, least: 5, leastMs: 0, most: 5 },
  quiet: { calls: 100, p50: 1, p99: 6, max: 7 },
  attacks,
});

Deno.test("timesOf() takes the nearest rank", () => {
  const ms = Array.from({ length: 200 }, (_, i) => 200 - i);
  assertEquals(timesOf(ms), { calls: 200, p50: 100, p99: 198, max: 200 });
  assertEquals(timesOf([3]), { calls: 1, p50: 3, p99: 3, max: 3 });
  assertEquals(timesOf([]), { calls: 0, p50: 0, p99: 0, max: 0 });
});

Deno.test("quietOf() is not what an attack left behind", () => {
  const windows = [4, 900, 6].map((ms) => timesOf([ms]));
  assertEquals(quietOf(windows).p99, 6);
  assertEquals(quietOf(windows.slice(0, 2)).p99, 4);
});

Deno.test("a row is short up to ten times its p99, or 50 ms, and where no call failed", () => {
  assertEquals(allowedMs(row()), 60);
  assertEquals(allowedMs({ quiet: timesOf([1]) }), 50);
  assert(isShort(row(attack(60, 0))));
  assert(!isShort(row(attack(3, 0), attack(61, 0))));
  assert(!isShort(row(attack(3, 0, { failed: 1 }))));
  assert(!isShort({ ...row(attack(3, 0)), ended: "out of memory" }));
});

Deno.test("a row is small up to three times what passes at once, and 64 MiB", () => {
  const { pace } = row();
  assertEquals(
    allowedBytes(pace, { bytes: MIB, payloads: 5 }),
    (3 * 2 + 64) * MIB,
  );
  // More does not pass at once, however many are sent.
  assertEquals(
    allowedBytes({ ...pace, inFlight: 30 }, { bytes: 8 * MIB, payloads: 30 }),
    (3 * 32 + 64) * MIB,
  );
  assert(isSmall(row(attack(1, 70))));
  assert(!isSmall(row(attack(1, 1), attack(1, 71))));
});

Deno.test("kindOf() says how a payload was answered", () => {
  const acks: Record<string, string> = {
    "[]": "accepted",
    "[true,null]": "accepted",
    '[false,"Room already has an agent"]':
      '[false,"Room already has an agent"]',
    '[{"code":400,"message":"Too large"}]':
      '[{"code":400,"message":"Too large"}]',
    '[{"content":[]}]': "accepted",
    "HTTP 200, 3 tools": "HTTP 200, 3 tools",
  };
  for (const [ack, kind] of Object.entries(acks)) {
    assertEquals(kindOf({ ack }), kind);
  }
  assertEquals(kindOf({ closed: 1009 }), "closed 1009");
});

Deno.test("table and goals have the longest and the largest attack of a row", () => {
  const slow = attack(900, 10, {
    shape: "deep",
    answers: { "closed 1009": 2 },
  });
  const large = attack(20, 300);
  const rows = [row(attack(1, 1), slow, large), {
    ...row(),
    title: "another",
    ended: "it ended",
  }];
  const [, line = "", last = ""] = neighboursTable({ rows }).split("\n");
  assertMatch(line, /^an event +900\.0 +60\.0 +300 +70 +deep in x$/);
  assertMatch(last, /^another +it ended$/);
  const [time, memory] = neighboursGoals({ rows });
  assertEquals([time?.met, memory?.met], [false, false]);
  assertStringIncludes(time?.measured ?? "", "0 of 2; at most 900 ms");
  assertStringIncludes(
    memory?.measured ?? "",
    "0 of 2; at most 300 MiB",
  );
  assertEquals(neighboursGoals({ rows: [] }), []);
  assertEquals(worstOnly({ rows }).rows[0]?.attacks, [slow, large]);
});
