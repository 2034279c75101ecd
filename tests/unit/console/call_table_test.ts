/**
 * Lists of calls in flight and the stream of events, in the orders in which they can come.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { runningText } from "../../../console/page/kit/text.js";
import { CallTable } from "../../../console/page/server/call_table.js";

const NORTH = { office: "north", agent: "planner", computer: "pc" };
const CALL = { ...NORTH, req_id: "r1", request: "client:tool_call", ms: 50 };
const SOUTH_CALL = { ...CALL, office: "south" };

type Step = (table: CallTable) => void;

const began: Step = (table) =>
  table.began(Date.now(), { ...CALL, event: "call_began" });
const ended: Step = (table) =>
  table.ended(Date.now(), { ...CALL, event: "call_ended", outcome: "ok" });
const missed: Step = (table) => table.forgetPending();

/** A list that is answered before anything else happens. */
const listed = (calls: readonly (typeof CALL)[], more = {}): Step => (table) =>
  table.adopt({ calls, lastKey: table.lastKey, ...more });
const lacking = listed([]);

/** A list of the call, during whose request the steps happen. */
const listedAfter = (...steps: readonly Step[]): Step => (table) => {
  const { lastKey } = table;
  for (const step of steps) step(table);
  table.adopt({ calls: [CALL], lastKey });
};

const ORDERS: Readonly<Record<string, readonly [Step[], string[]]>> = {
  "a call from before the page was opened is listed": [
    [listed([CALL])],
    ["north: running"],
  ],
  "it ends with its end": [[listed([CALL]), ended], ["north: ok"]],
  "a list before the stream adds nothing": [
    [listed([CALL]), began, listed([CALL])],
    ["north: running"],
  ],
  "a list that is slower than the end adds nothing": [
    [began, listedAfter(ended), lacking],
    ["north: ok"],
  ],
  "nor does one that is slower than both": [
    [listedAfter(began, ended)],
    ["north: ok"],
  ],
  "a request with the id of one that ended before is another call": [
    [began, ended, listed([CALL])],
    ["north: ok", "north: running"],
  ],
  "a call that one list lacks may be about to end": [
    [listed([CALL]), lacking, ended],
    ["north: ok"],
  ],
  "a call that began after the request of a list is not in it": [
    [(table) => {
      const { lastKey } = table;
      began(table);
      table.adopt({ calls: [], lastKey });
      table.adopt({ calls: [], lastKey });
    }],
    ["north: running"],
  ],
  "a call that two lists lack has ended before the stream was open": [
    [listed([CALL]), lacking, lacking],
    [],
  ],
  "lists that lack it by turns are not two in a row": [
    [listed([CALL]), lacking, listed([CALL]), lacking],
    ["north: running"],
  ],
  "a partial list, and one without some nodes, end nothing": [
    [
      listed([CALL]),
      listed([], { partial: true }),
      listed([], { partial: true }),
      listed([], { unanswered: ["b"] }),
      listed([], { not_operated: ["b"] }),
    ],
    ["north: running"],
  ],
  "a list of one office ends no call of another": [
    [
      listed([CALL, SOUTH_CALL]),
      ...Array.from(
        { length: 2 },
        (): Step => (table) =>
          table.adopt({ calls: [CALL], lastKey: table.lastKey }, "north"),
      ),
    ],
    ["north: running", "south: running"],
  ],
  "what was missed is listed again": [
    [began, missed, listed([CALL])],
    ["north: running"],
  ],
};

for (const [name, [steps, expected]] of Object.entries(ORDERS)) {
  Deno.test(`calls in flight: ${name}`, () => {
    const table = new CallTable();
    for (const step of steps) step(table);
    assertEquals(
      table.all.map(({ office, outcome = "running" }) =>
        `${office}: ${outcome}`
      ),
      expected,
    );
  });
}

Deno.test("a call that waits has the time of the first report of it, from the stream or a list", () => {
  const waits = { ...CALL, event: "call_waiting", waiting: "confirmation" };
  const began = Date.now() - 10_000;
  const streamed = new CallTable();
  streamed.began(began, { ...CALL, event: "call_began" });
  streamed.waits(began + 1_000, waits);
  streamed.waits(began + 2_000, waits);
  streamed.adopt({
    calls: [{ ...CALL, waiting: "confirmation", waiting_ms: 5 }],
    lastKey: streamed.lastKey,
  });
  assertEquals(streamed.all[0]?.waitingSince, began + 1_000);
  streamed.waits(began + 3_000, { ...waits, waiting: null });
  streamed.waits(began + 4_000, waits);
  assertEquals(streamed.all[0]?.waitingSince, began + 4_000);

  const listed = new CallTable();
  listed.adopt({
    calls: [{ ...CALL, waiting: "confirmation", waiting_ms: 5_000 }],
    lastKey: 0,
  });
  const [call] = listed.all;
  const agoMs = Date.now() - (call?.waitingSince ?? 0);
  assertEquals([call?.waiting, Math.floor(agoMs / 1_000)], ["confirmation", 5]);
});

Deno.test("what a call waits for is written with the seconds since then", () => {
  const call = { waiting: "confirmation", waitingSince: 1_000 };
  assertEquals(runningText(call), "waits for confirmation");
  assertEquals(runningText(call, 13_900), "waits for confirmation, 12 s");
  assertEquals(
    runningText({ ...call, waiting: "answer" }, 200_000),
    "waits for an answer, 3 min 19 s",
  );
  assertEquals(runningText({ waiting: null, waitingSince: 1 }, 2), "running");
});
