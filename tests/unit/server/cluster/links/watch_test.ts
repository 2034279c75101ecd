import { assert, assertEquals } from "@std/assert";
import { Watch } from "../../../../../server/cluster/links/watch.ts";

const limits = { silentMs: 6_000, goneMs: 500 };

Deno.test("Watch tells once that a node became silent, and again after it was heard", () => {
  const watch = new Watch(limits, 0);
  assertEquals(
    [5_999, 6_000, 6_500].map((now) => watch.becameSilent(now)),
    [false, true, false],
  );
  watch.heard(7_000);
  assertEquals(
    [12_999, 13_000].map((now) => watch.becameSilent(now)),
    [false, true],
  );
});

Deno.test("Watch does not blame a node for the time in which this process did not run", () => {
  const watch = new Watch(limits, 0);
  watch.excuse(10_000);
  assert(!watch.becameSilent(15_999));
  assert(watch.becameSilent(16_000));
});

Deno.test("Watch takes an end for proved by two looks that are far enough apart", () => {
  const watch = new Watch(limits, 0);
  watch.present();
  assert(!watch.looked(0, 1_000));
  assert(!watch.looked(0, 1_499));
  assert(watch.looked(0, 1_500));
});

Deno.test("Watch begins anew when the node has a receiver in between, or looks are not to be trusted", () => {
  const watch = new Watch(limits, 0);
  watch.present();
  watch.looked(0, 1_000);
  assert(!watch.looked(1, 1_400), "it has subscribed again");
  assert(!watch.looked(0, 1_600));
  watch.forgetLooks();
  watch.present();
  assert(!watch.looked(0, 2_200));
  assert(watch.looked(0, 2_700));
});

Deno.test("Watch proves no end of a node that was not there: it may be cut off, and serve", () => {
  const watch = new Watch(limits, 0);
  assert(!watch.looked(0, 1_000));
  assert(!watch.looked(0, 9_000));
  watch.present();
  watch.forgetLooks(); // after a fail-over, for example
  assert(!watch.looked(0, 10_000));
  assert(!watch.looked(0, 19_000));
});
