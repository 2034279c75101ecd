import { assert, assertEquals } from "@std/assert";
import {
  EventPages,
  EventTap,
  Recorder,
  showLog,
} from "../../../../server/operator/event_pages.ts";
import { Journal, type SeenEvent } from "../../../../server/shared/audit.ts";
import { log } from "../../../../server/shared/log.ts";
import { captureLog } from "../../../support/log_capture.ts";

const event = (json: string, office?: string) => ({ office, kind: "k", json });
const all = () => true;

/** The data of the events that are read from a number on. */
function read(
  pages: EventPages,
  seq: number,
  sees: (office: string | undefined) => boolean = all,
): [data: string[], next: number] {
  const { bytes, next } = pages.read(seq, sees);
  const text = new TextDecoder().decode(bytes);
  return [
    [...text.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => data),
    next,
  ];
}

Deno.test("EventPages keeps the latest events, and as many bytes as it may", () => {
  const pages = new EventPages({ events: 3, bytes: 100 }, "rec");
  assertEquals([pages.first, pages.next], [1, 1]);
  for (const json of ["a", "b", "c", "d"]) pages.add([event(json)]);
  assertEquals([pages.first, pages.next], [2, 5]);
  assertEquals(read(pages, 2), [["b"], 3]);
  const { bytes } = pages.read(4, all);
  assertEquals(
    new TextDecoder().decode(bytes),
    "id: rec.4\nevent: k\ndata: d\n\n",
  );
  const long = "x".repeat(50);
  pages.add([event(long)]);
  assertEquals([pages.first, pages.next], [5, 6]);
  assertEquals(read(pages, 5), [[long], 6]);
});

Deno.test("EventPages keeps the newest page, whatever its size", () => {
  const pages = new EventPages({ events: 3, bytes: 4 }, "rec");
  pages.add([event("a")]);
  pages.add(["b", "c", "d", "e"].map((json) => event(json)));
  assertEquals([pages.first, pages.next], [2, 6]);
  assertEquals(read(pages, 2), [["b", "c", "d", "e"], 6]);
  assertEquals(read(pages, 4), [["d", "e"], 6]);
});

Deno.test("EventPages shows each what it may see, of any characters", () => {
  const pages = new EventPages({ events: 100, bytes: 10_000 }, "rec");
  const offices = ["n", "n", "süd", undefined, "n", "süd"];
  pages.add(offices.map((office, i) => event(`é${i}`, office)));
  const of = (seen: string) =>
    read(pages, 1, (office) => office === seen)[0].join();
  assertEquals([of("n"), of("süd"), of("none")], ["é0,é1,é4", "é2,é5", ""]);
  assertEquals(read(pages, 1)[0].length, 6);
  assertEquals(read(pages, 5, (office) => office === "n"), [["é4"], 7]);
  const [one, two] = [pages.read(1, all), pages.read(1, all)];
  assert(one.bytes.buffer === two.bytes.buffer, "the bytes are not copied");
});

Deno.test("EventPages finds what follows the id of an event, and nothing for any other text", () => {
  const pages = new EventPages({ events: 2, bytes: 1000 }, "Ab-_9");
  assertEquals(pages.find(pages.cursor(0)), 1);
  for (const json of ["a", "b", "c"]) pages.add([event(json)]);
  assertEquals(pages.cursor(3), "Ab-_9.3");
  assertEquals([1, 2, 3].map((seq) => pages.find(pages.cursor(seq))), [
    2,
    3,
    4,
  ]);
  for (
    const text of [
      ...[undefined, "", "12", "Ab-_9.-1", "Ab-_9.2.2", " Ab-_9.2"],
      ...["other.2", "Ab-_9.0", "Ab-_9.4"],
    ]
  ) assertEquals(pages.find(text), undefined, text);
  assertEquals(
    new EventPages({ events: 1, bytes: 1 }, "").find(".0"),
    undefined,
  );
});

Deno.test("EventPages lists events as they were added, over pages, up to some bytes", () => {
  const pages = new EventPages({ events: 100, bytes: 10_000 }, "rec");
  const events = ["é\u2028", "\\n", "c", "d"].map((text, i) => ({
    ...event(JSON.stringify({ text }), i === 1 ? undefined : "n"),
    kind: `k${i}`,
  }));
  pages.add(events.slice(0, 2));
  pages.add(events.slice(2));
  assertEquals(pages.list(1, 1000), events);
  assertEquals(pages.list(2, 1000), events.slice(1));
  assertEquals(pages.list(1, 1), events.slice(0, 1));
  assertEquals(pages.list(5, 1000), []);
});

const began = (req_id: string, params?: string): SeenEvent => ({
  ...{ event: "call_began", office: "north", agent: "planner" },
  ...{ computer: "pc", request: "client:tool_call", req_id },
  params,
});

function newTap() {
  const journal = new Journal();
  const tap = new EventTap(new Recorder(journal));
  return {
    journal,
    tap,
    tell: (event: SeenEvent) => journal.observer?.(event),
    [Symbol.dispose]: () => tap.close(),
  };
}

const idsOf = (answer: Awaited<ReturnType<EventTap["take"]>>) =>
  answer?.events.map(({ json }) => JSON.parse(json).req_id);

Deno.test("EventTap: the first answer comes at once, the next with the next event, each event once", async () => {
  using node = newTap();
  assertEquals(node.journal.observer, undefined);
  const first = await node.tap.take(undefined);
  assertEquals([first?.missed, idsOf(first)], [false, []]);
  const waiting = node.tap.take(first?.cursor);
  node.tell(began("r1"));
  node.tell(began("r2"));
  const second = await waiting;
  assertEquals([second?.missed, idsOf(second)], [false, ["r1", "r2"]]);
  assertEquals(second?.events[0]?.office, "north");
  node.tell(began("r3"));
  // Who asks again after an answer that was lost gets it again.
  const [again, third] = await Promise.all([
    node.tap.take(first?.cursor),
    node.tap.take(second?.cursor),
  ]);
  assertEquals(idsOf(again)?.slice(0, 2), ["r1", "r2"]);
  assertEquals(idsOf(third), ["r3"]);
});

Deno.test("EventTap: large events come in several answers", async () => {
  using node = newTap();
  const { cursor } = await node.tap.take(undefined) ?? {};
  for (let i = 0; i < 40; i++) node.tell(began(`r${i}`, "x".repeat(60_000)));
  const ids: unknown[] = [];
  let answers = 0;
  for (let at = cursor; ids.length < 40; answers++) {
    const answer = await node.tap.take(at);
    assert(JSON.stringify(answer).length < 2 ** 21);
    ids.push(...idsOf(answer) ?? []);
    at = answer?.cursor;
  }
  assertEquals(ids, Array.from({ length: 40 }, (_, i) => `r${i}`));
  assert(answers > 1);
});

Deno.test("EventTap: who comes too late hears that events were missed", async () => {
  using node = newTap();
  const { cursor } = await node.tap.take(undefined) ?? {};
  for (let i = 0; i < 40_000; i++) node.tell(began(`r${i}`));
  const late = await node.tap.take(cursor);
  assert(late?.missed);
  const stranger = await node.tap.take("another.1");
  assertEquals([stranger?.missed, idsOf(stranger)], [true, []]);
});

Deno.test("EventTap: its end answers those who wait, and records no more", async () => {
  const node = newTap();
  const { cursor } = await node.tap.take(undefined) ?? {};
  const waiting = node.tap.take(cursor);
  node.tap.close();
  assertEquals(idsOf(await waiting), []);
  assertEquals(await node.tap.take(cursor), undefined);
  assertEquals(node.journal.observer, undefined);
});

Deno.test("showLog() shows lines with their fields, errors by name and message, nothing of debugging", () => {
  const seen: unknown[] = [];
  const end = showLog((event) => seen.push(event));
  const circle: Record<string, unknown> = {};
  circle.self = circle;
  log.debug("not this");
  log.warn("Unknown event {name}", { name: 'a"b', omitted: 3 });
  log.error("It failed: {error}", { error: new TypeError("why") });
  log.info("Round and {round}", { round: circle });
  log.info("Large", { text: "x".repeat(10_000) });
  end();
  log.warn("nor that");
  assertEquals(seen, [
    {
      event: "log",
      level: "warning",
      message: 'Unknown event "a\\"b"',
      fields: { name: 'a"b', omitted: 3 },
    },
    {
      event: "log",
      level: "error",
      message: 'It failed: "TypeError: why"',
      fields: { error: "TypeError: why" },
    },
    { event: "log", level: "info", message: "Round and {round}" },
    { event: "log", level: "info", message: "Large" },
  ]);
});

Deno.test("showLog() leaves lines of a flood out, and tells how many; the log itself has all", () => {
  using captured = captureLog();
  const seen: { readonly omitted?: number }[] = [];
  const end = showLog((event) => seen.push(event));
  for (let i = 0; i < 1000; i++) log.warn("again");
  end();
  const shown = seen.length;
  const omitted = seen.reduce((all, { omitted = 0 }) => all + omitted, 0);
  assertEquals([shown < 1000, shown + omitted <= 1000], [true, true]);
  const lines = captured.records.filter(({ rawMessage }) =>
    rawMessage === "again"
  );
  assertEquals(lines.length, 1000);
});
