import { assertEquals } from "@std/assert";
import { EventRoom, SessionEvents } from "../../../mcp/http/kept_events.ts";

const MIB = 2 ** 20;

const answer = (id: number, text: string) => ({
  jsonrpc: "2.0" as const,
  id,
  result: { content: [{ type: "text", text }] },
});

const notice = (text: string) => ({
  jsonrpc: "2.0" as const,
  method: "notifications/progress",
  params: { message: text },
});

/** What a stream sends again after an event: the ids of messages, with the codes of errors. */
async function replayed(events: SessionEvents, last: string) {
  const sent: unknown[] = [];
  await events.replayEventsAfter(last, {
    send: (_, message) => {
      const { id, method, error } = Object(message);
      sent.push(error ? [id, error.code] : id ?? method);
      return Promise.resolve();
    },
  });
  return sent;
}

Deno.test("a session keeps 1,000 events, of which only those of the stream are sent again", async () => {
  const events = new SessionEvents(new EventRoom());
  const first = await events.storeEvent("a", notice("0"));
  await events.storeEvent("b", answer(-1, "other"));
  for (let id = 0; id < 999; id++) await events.storeEvent("a", answer(id, ""));
  const sent = await replayed(events, first);
  assertEquals([sent.length, sent[0], sent.at(-1)], [999, 0, 998]);
  await events.storeEvent("a", answer(999, ""));
  await events.storeEvent("a", answer(1_000, ""));
  assertEquals((await replayed(events, first))[0], 1);
  const other = await events.storeEvent("b", answer(-2, "other"));
  assertEquals(events.has(other), true);
  for (let id = 0; id < 1_000; id++) {
    await events.storeEvent("a", answer(id, ""));
  }
  assertEquals([events.has(other), events.has(first)], [false, true]);
});

Deno.test("answers that have no room any more become errors, and the newest is always kept", async () => {
  const events = new SessionEvents(new EventRoom());
  const first = await events.storeEvent("a", {} as never); // nothing but an id
  assertEquals([events.has(first), events.has("1-b")], [true, false]);
  await events.storeEvent("a", notice("x".repeat(MIB)));
  await events.storeEvent("a", answer(1, "x".repeat(5 * MIB)));
  assertEquals(await replayed(events, first), ["notifications/progress", 1]);
  await events.storeEvent("a", answer(2, "x".repeat(4 * MIB)));
  assertEquals(await replayed(events, first), [[1, -32603], 2]);
  await events.storeEvent("a", answer(3, "x".repeat(20 * MIB)));
  assertEquals(await replayed(events, first), [[1, -32603], [2, -32603], 3]);
});

Deno.test("all sessions of an office share 64 Mi letters, which ended ones give back", async () => {
  const room = new EventRoom();
  const sessions = Array.from({ length: 9 }, () => new SessionEvents(room));
  const keep = (events: SessionEvents | undefined) =>
    events?.storeEvent("a", answer(1, "x".repeat(7 * MIB + 500_000)));
  const of = (at: number) => replayed(sessions[at]!, "0-a");
  for (const events of sessions.slice(0, 8)) await keep(events);
  assertEquals(await of(0), [1]);
  await keep(sessions[8]);
  assertEquals([await of(0), await of(1)], [[[1, -32603]], [1]]);
  sessions[1]?.clear();
  await keep(sessions[0]);
  assertEquals([await of(1), await of(2)], [[], [1]]);
});

Deno.test("events are sent again with the ids that the client knows", async () => {
  const events = new SessionEvents(new EventRoom());
  const own = Object.defineProperty({ ...answer(7, "") }, "toJSON", {
    value: () => answer(1, ""),
  });
  await events.storeEvent("a", own);
  assertEquals(await replayed(events, "0-a"), [1]);
});
