import { assertEquals } from "@std/assert";
import { CallClock, timesOf } from "../../../../computer/tools/call_clock.ts";
import { confirmSeconds } from "../../../../shared/time/call_time.ts";

/** A clock that the test moves. */
function clock() {
  let at = 1_000;
  return { now: () => at, pass: (ms: number) => void (at += ms) };
}

Deno.test("CallClock: the tool's time stands still while a person is asked, and theirs while it runs", () => {
  const { now, pass } = clock();
  const time = new CallClock({ runMs: 60_000, confirmMs: 300_000 }, now);
  pass(10_000);
  assertEquals([time.leftMs, time.confirmLeftMs], [50_000, 300_000]);
  time.confirms(true);
  pass(200_000);
  time.confirms(true);
  assertEquals([time.leftMs, time.confirmLeftMs], [100_000, 100_000]);
  time.confirms(false);
  pass(20_000);
  assertEquals([time.leftMs, time.confirmLeftMs], [30_000, 100_000]);
  time.confirms(true); // again: what is left of it
  pass(100_001);
  assertEquals([time.isConfirming, time.leftMs], [true, -1]);
});

Deno.test("CallClock: without a time of its own a confirmation counts as running", () => {
  const { now, pass } = clock();
  const time = new CallClock({ runMs: 60_000, confirmMs: 0 }, now);
  time.confirms(true);
  pass(59_000);
  assertEquals(
    [time.isConfirming, time.leftMs, time.confirmLeftMs],
    [false, 1_000, 1_000],
  );
});

Deno.test("confirmSeconds: at most an hour with the tool's", () => {
  for (
    const [seconds, runSeconds, expected] of [
      [300, 60, 300],
      [0, 60, 0],
      [3_600, 60, 3_540],
      [300, 3_599, 1],
      [300, 3_600, 0],
    ] as const
  ) assertEquals(confirmSeconds(seconds, runSeconds), expected);
});

Deno.test("timesOf: a part that leaves the tool no time, or is no number of seconds, counts as absent", () => {
  assertEquals(timesOf(360, 300), { runMs: 60_000, confirmMs: 300_000 });
  for (const part of [undefined, null, 0, -1, 1.5, 60, 61, "30", NaN]) {
    assertEquals(timesOf(60, part), { runMs: 60_000, confirmMs: 0 });
  }
});
