import { Buffer } from "node:buffer";
import { assert, assertEquals } from "@std/assert";
import { constants, gunzipSync } from "node:zlib";
import { acceptsGzip, EventFeed } from "../../../server/operator/event_feed.ts";
import {
  EventPages,
  EventTap,
  Recorder,
  showLog,
} from "../../../server/operator/event_pages.ts";
import { Journal, type SeenEvent } from "../../../server/shared/audit.ts";
import { log } from "../../../server/shared/log.ts";
import { captureLog } from "../../support/log_capture.ts";

const event = (json: string, office?: string) => ({ office, kind: "k", json });
const all = () => true;

/** The data of the events that are read from a number on. */
function read(
  pages: EventPages,
  seq: number,
  sees: (office: string | undefined) => boolean = all,
): [data: string[], next: number] {
  const { bytes, next } = pages.read(seq, sees);
  const data = textOf(bytes).matchAll(/^data: (.*)$/gm);
  return [[...data].map(([, data = ""]) => data), next];
}

Deno.test("EventPages keeps the latest events, and as many bytes as it may", () => {
  const pages = new EventPages({ events: 3, bytes: 100 }, "rec");
  assertEquals([pages.first, pages.next], [1, 1]);
  for (const json of ["a", "b", "c", "d"]) pages.add([event(json)]);
  assertEquals([pages.first, pages.next], [2, 5]);
  assertEquals(read(pages, 2), [["b"], 3]);
  const line = "id: rec.4\nevent: k\ndata: d\n\n";
  assertEquals(textOf(pages.read(4, all).bytes), line);
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
  const one = pages.read(1, all);
  const two = pages.read(1, all);
  assert(one.bytes.buffer === two.bytes.buffer, "the bytes are not copied");
});

Deno.test("EventPages finds what follows the id of an event, and nothing for any other text", () => {
  const pages = new EventPages({ events: 2, bytes: 1000 }, "Ab-_9");
  assertEquals(pages.find(pages.cursor(0)), 1);
  for (const json of ["a", "b", "c"]) pages.add([event(json)]);
  assertEquals(pages.cursor(3), "Ab-_9.3");
  for (const seq of [1, 2, 3]) {
    assertEquals(pages.find(pages.cursor(seq)), seq + 1);
  }
  for (
    const text of [
      ...[undefined, "", "12", "Ab-_9.-1", "Ab-_9.2.2", " Ab-_9.2"],
      ...["other.2", "Ab-_9.0", "Ab-_9.4"],
    ]
  ) assertEquals(pages.find(text), undefined, text);
  const nameless = new EventPages({ events: 1, bytes: 1 }, "");
  assertEquals(nameless.find(".0"), undefined);
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
  event: "call_began",
  office: "north",
  agent: "planner",
  computer: "pc",
  request: "client:tool_call",
  req_id,
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

Deno.test("EventTap: a request that is too late shows that events were missed", async () => {
  using node = newTap();
  const { cursor } = await node.tap.take(undefined) ?? {};
  for (let i = 0; i < 40_000; i++) node.tell(began(`r${i}`));
  const late = await node.tap.take(cursor);
  assert(late?.missed);
  const stranger = await node.tap.take("another.1");
  assertEquals([stranger?.missed, idsOf(stranger)], [true, []]);
});

Deno.test("EventTap: its end answers pending requests, and stops recording", async () => {
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

function newFeed() {
  const journal = new Journal();
  const feed = new EventFeed(new Recorder(journal));
  const view = { key: "all", sees: (_?: string) => true };
  const open = (isPacked = false, onEnd = () => {}, seen = view) =>
    feed.open(seen, undefined, isPacked, onEnd).stream;
  return { journal, feed, open };
}

const textOf = (bytes: Uint8Array | undefined) =>
  new TextDecoder().decode(bytes);

async function* readAll(reader: ReadableStreamDefaultReader<Uint8Array>) {
  for (let at = await reader.read(); !at.done; at = await reader.read()) {
    yield at.value;
  }
}

Deno.test("EventFeed observes only while there are streams, and a while longer", async () => {
  const { journal, feed, open } = newFeed();
  assertEquals(journal.observer, undefined);
  let ended = 0;
  const stream = open(false, () => ended++);
  assert(journal.observer !== undefined);
  assertEquals(feed.streams, 1);
  await stream.cancel();
  assertEquals([feed.streams, ended], [0, 1]);
  assert(
    journal.observer !== undefined,
    "a reader that reconnects misses nothing",
  );
  feed.close();
  assertEquals(journal.observer, undefined);
  assert(feed.isFull, "no streams after the end");
});

Deno.test("EventFeed ends a stream that is read too slowly, with the reason; others continue", async () => {
  const { journal, feed, open } = newFeed();
  let ended = 0;
  const slow = open(false, () => ended++).getReader();
  assert(textOf((await slow.read()).value).includes("event: open"));
  for (let i = 0; i < 34_000; i++) journal.observer?.(began(`r${i}`));
  let all = "";
  for await (const bytes of readAll(slow)) all += textOf(bytes);
  const [, last] = /event: (\w+)\ndata: [^\n]*\n\n$/.exec(all) ?? [];
  assertEquals([last, ended], ["end", 1]);
  assert(all.includes("too slow"));
  feed.close();
});

Deno.test("EventFeed gives streams with the same view the same bytes", async () => {
  const { journal, feed, open } = newFeed();
  const readers = [open().getReader(), open().getReader()];
  const none = { key: "none", sees: (office?: string) => office === undefined };
  const other = open(false, undefined, none).getReader();
  for (const reader of [...readers, other]) await reader.read();
  const reads = readers.map((reader) => reader.read());
  journal.observer?.(began("r1"));
  const [a, b] = await Promise.all(reads);
  assert(a?.value !== undefined && a.value === b?.value);
  feed.close();
  // It may have got lines of the log, which belong to no office.
  const rest = (await Array.fromAsync(readAll(other), textOf)).join("");
  assert(rest.includes("event: end") && !rest.includes("r1"), rest);
});

Deno.test("EventFeed gives streams of gzip the same packed bytes, and ends them well", async () => {
  const { journal, feed, open } = newFeed();
  const readers = [open(true).getReader(), open(true).getReader()];
  const parts = await Promise.all(readers.map(async (reader) => {
    const { value: head } = await reader.read();
    const { value: begin } = await reader.read();
    return [head, begin];
  }));
  const reads = readers.map((reader) => reader.read());
  journal.observer?.(began("r1"));
  const [a, b] = await Promise.all(reads);
  assert(a?.value !== undefined && a.value === b?.value);
  const [reader] = readers;
  assert(reader);
  // All that was sent so far can be read, before the stream has ended.
  const sent = [...parts[0] ?? [], a.value].map((part) =>
    part ?? new Uint8Array()
  );
  const early = gunzipSync(Buffer.concat(sent), {
    finishFlush: constants.Z_SYNC_FLUSH,
  }).toString();
  assert(early.includes("event: open") && early.includes('"req_id":"r1"'));
  feed.close();
  for await (const bytes of readAll(reader)) sent.push(bytes);
  const whole = gunzipSync(Buffer.concat(sent)).toString(); // checks its checksum
  assert(whole.startsWith(early) && whole.includes("event: end"));
});

Deno.test("acceptsGzip() reads Accept-Encoding", () => {
  for (const yes of ["gzip", "br, GZIP ;q=0.5", "deflate,gzip;q=1"]) {
    assert(acceptsGzip(yes), yes);
  }
  for (const no of [undefined, "", "identity", "gzip;q=0", "x-gzip, br"]) {
    assert(!acceptsGzip(no), no);
  }
});
