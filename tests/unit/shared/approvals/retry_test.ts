import { assert, assertEquals } from "@std/assert";
import {
  NotPassedError,
  retryMs,
} from "../../../../shared/approvals/device.ts";

Deno.test("a device tries again later with each failure, and never sooner than the Server allows", () => {
  const out = new NotPassedError(404, undefined);
  for (
    const [failures, least] of [[0, 500], [1, 1_000], [5, 15_000]] as const
  ) {
    for (let i = 0; i < 100; i++) {
      const ms = retryMs(failures, out);
      assert(ms >= least && ms <= 1.5 * least, String(ms));
    }
  }
  assertEquals(retryMs(1_000, new Error("no network")) <= 22_500, true);
  const busy = new NotPassedError(429, "60");
  for (const failures of [0, 20]) {
    const ms = retryMs(failures, busy);
    assert(ms >= 60_000 && ms <= 90_000, String(ms));
  }
});

Deno.test("devices whose Computer is out leave an address most of its wrong tokens", () => {
  const out = new NotPassedError(404, null);
  let now = 0;
  let sent = 0;
  while (now < 60_000) now += retryMs(sent++, out);
  assert(sent <= 10, String(sent));
});

Deno.test("a Server that lies keeps no device away for longer than a minute and a half", () => {
  for (
    const value of ["1e9", "Infinity", "99999999999999999999", "61"]
  ) {
    const error = new NotPassedError(429, value);
    assertEquals(error.waitMs, 60_000, value);
  }
  for (
    const value of [
      "-5",
      "",
      "NaN",
      "soon",
      "Wed, 21 Oct 2037 07:28:00 GMT",
      null,
      undefined,
      ["60", "70"],
    ]
  ) {
    const { waitMs } = new NotPassedError(429, value);
    assert(waitMs <= 0, String(value));
  }
});
