import { assert, assertEquals } from "@std/assert";
import { EventTap } from "../../../../server/operator/feed/event_pages.ts";
import { Recorder } from "../../../../server/operator/feed/recorder.ts";
import { Journal, type SeenEvent } from "../../../../server/shared/audit.ts";

const event = (req_id: string, params?: string): SeenEvent => ({
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
    tell: (event: SeenEvent) => journal.tell(event),
    [Symbol.dispose]: () => tap.close(),
  };
}

const idsOf = (answer: Awaited<ReturnType<EventTap["take"]>>) =>
  answer?.events.map(({ json }) => JSON.parse(json).req_id);

Deno.test("EventTap: the first answer comes at once, the next with the next event, each event once", async () => {
  using node = newTap();
  assertEquals(node.journal.onlooker, undefined);
  const first = await node.tap.take(undefined);
  assertEquals([first?.missed, idsOf(first)], [false, []]);
  const waiting = node.tap.take(first?.cursor);
  node.tell(event("r1"));
  node.tell(event("r2"));
  const second = await waiting;
  assertEquals([second?.missed, idsOf(second)], [false, ["r1", "r2"]]);
  assertEquals(second?.events[0]?.office, "north");
  node.tell(event("r3"));
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
  for (let i = 0; i < 40; i++) node.tell(event(`r${i}`, "x".repeat(60_000)));
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
  for (let i = 0; i < 40_000; i++) node.tell(event(`r${i}`));
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
  assertEquals(node.journal.onlooker, undefined);
});
