import { assert, assertEquals } from "@std/assert";
import {
  Histogram,
  KEPT_SECONDS,
  Seconds,
} from "../../../console/page/server/counts.js";

Deno.test("a histogram knows the durations that it counted, within 5 %", () => {
  const histogram = new Histogram();
  assertEquals(histogram.quantile(0.5), undefined);
  for (let ms = 1; ms <= 1000; ms++) histogram.add(ms);
  for (const [part, wanted] of [[0.5, 500], [0.99, 990], [1, 1000]] as const) {
    const found = histogram.quantile(part) ?? 0;
    assert(Math.abs(found / wanted - 1) < 0.05, `${part}: ${found}`);
  }
  const odd = new Histogram();
  for (const ms of [0, -1, 1e12]) odd.add(ms);
  assertEquals(odd.count, 3);
  assert((odd.quantile(0.5) ?? 1) < 0.06);
  assert((odd.quantile(1) ?? 0) > 900_000);
});

Deno.test("seconds count calls and failures where they ended, and forget the oldest", () => {
  const seconds = new Seconds();
  seconds.add(5_000, 1, "ok");
  seconds.add(5_999, 3, "error 404");
  seconds.add(4_000, 3, "ok"); // the clock went back
  const [first] = seconds.all;
  assertEquals([first?.at, first?.calls, [...first?.errors ?? []]], [
    5,
    2,
    [["error 404", 1]],
  ]);
  assertEquals(seconds.all.length, 2);
  seconds.add((5 + KEPT_SECONDS) * 1000, 1, "ok");
  assertEquals(seconds.all.map(({ at }) => at), [5 + KEPT_SECONDS]);
});
