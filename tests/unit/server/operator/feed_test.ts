import { assert, assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import { constants, gunzipSync } from "node:zlib";
import {
  acceptsGzip,
  EventFeed,
} from "../../../../server/operator/event_feed.ts";
import { Recorder } from "../../../../server/operator/event_pages.ts";
import { Journal, type SeenEvent } from "../../../../server/shared/audit.ts";

const view = { key: "all", sees: () => true };

const event = (req_id: string): SeenEvent => ({
  event: "call_began",
  office: "north",
  agent: "planner",
  computer: "pc",
  request: "client:tool_call",
  req_id,
});

Deno.test("EventFeed looks in only while there are streams, and a while longer", async () => {
  const journal = new Journal();
  const feed = new EventFeed(new Recorder(journal));
  assertEquals(journal.observer, undefined);
  let ended = 0;
  const { stream } = feed.open(view, undefined, false, () => ended++);
  assert(journal.observer !== undefined);
  assertEquals(feed.streams, 1);
  await stream.cancel();
  assertEquals([feed.streams, ended], [0, 1]);
  assert(journal.observer !== undefined, "one who comes back misses nothing");
  feed.close();
  assertEquals(journal.observer, undefined);
  assert(feed.isFull, "no streams after the end");
});

Deno.test("EventFeed ends a stream that is read too slowly, and says so; others go on", async () => {
  const journal = new Journal();
  const feed = new EventFeed(new Recorder(journal));
  let ended = 0;
  const slow = feed.open(view, undefined, false, () => ended++).stream
    .getReader();
  const first = await slow.read();
  const text = (bytes: Uint8Array | undefined) =>
    new TextDecoder().decode(bytes);
  assert(text(first.value).includes("event: open"));
  for (let i = 0; i < 34_000; i++) journal.observer?.(event(`r${i}`));
  let all = "";
  for await (const bytes of readAll(slow)) all += text(bytes);
  const [, last] = /event: (\w+)\ndata: [^\n]*\n\n$/.exec(all) ?? [];
  assertEquals([last, ended], ["end", 1]);
  assert(all.includes("too slow"));
  feed.close();
});

async function* readAll(reader: ReadableStreamDefaultReader<Uint8Array>) {
  while (true) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}

Deno.test("EventFeed gives those who see the same the same bytes", async () => {
  const journal = new Journal();
  const feed = new EventFeed(new Recorder(journal));
  const readers = [1, 2].map(() =>
    feed.open(view, undefined, false, () => {}).stream.getReader()
  );
  const other = feed.open(
    { key: "none", sees: (office) => office === undefined },
    undefined,
    false,
    () => {},
  ).stream.getReader();
  for (const reader of [...readers, other]) await reader.read();
  const reads = readers.map((reader) => reader.read());
  journal.observer?.(event("r1"));
  const [a, b] = await Promise.all(reads);
  assert(a?.value !== undefined && a.value === b?.value);
  feed.close();
  // It may have got lines of the log, which belong to no office.
  const rest = (await Array.fromAsync(readAll(other)))
    .map((part) => new TextDecoder().decode(part)).join("");
  assert(rest.includes("event: end") && !rest.includes("r1"), rest);
});

Deno.test("EventFeed gives those who read gzip the same packed bytes, and ends them well", async () => {
  const journal = new Journal();
  const feed = new EventFeed(new Recorder(journal));
  const open = () => feed.open(view, undefined, true, () => {}).stream;
  const readers = [open(), open()].map((stream) => stream.getReader());
  const parts = await Promise.all(readers.map(async (reader) => {
    const { value: head } = await reader.read();
    const { value: begin } = await reader.read();
    return [head, begin];
  }));
  const reads = readers.map((reader) => reader.read());
  journal.observer?.(event("r1"));
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
