import { assertEquals, assertThrows } from "@std/assert";
import { resolveOptions } from "../../../mcp/options.ts";

Deno.test("resolveOptions() names the number that is out of its range", () => {
  const wrong = [
    [
      { nameLimit: 23 },
      "Cannot use nameLimit 23: expected a whole number from 24 to 128",
    ],
    [{ callTimeoutMs: 999 }, "from 1000 to 3600000"],
    [
      { callsPerSecond: 0 },
      "Cannot use callsPerSecond 0: expected a whole number from 1",
    ],
    [{ maxSessions: 1.5 }, "Cannot use maxSessions 1.5"],
    [{ heartbeatMs: NaN }, "Cannot use heartbeatMs NaN"],
  ] as const;
  for (const [options, message] of wrong) {
    assertThrows(() => resolveOptions(options), RangeError, message);
  }
});

Deno.test("resolveOptions() fills in defaults, and takes no limit for one", () => {
  assertEquals(resolveOptions({}).nameLimit, 48);
  assertEquals(
    resolveOptions({ callsPerSecond: Infinity }).callsPerSecond,
    Infinity,
  );
});
