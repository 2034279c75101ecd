import { assertEquals } from "@std/assert";
import { TimeText } from "../../../../server/shared/log.ts";

Deno.test("TimeText writes what Date does", () => {
  const times = new TimeText();
  for (const at of [0, 1, 999, 59_999, 60_000, 61_005, -1, 1_795_414_182_606]) {
    assertEquals(times.of(at), new Date(at).toISOString());
  }
  for (let i = 0; i < 10_000; i++) {
    const at = 1_795_414_182_606 + i * 37;
    assertEquals(times.of(at), new Date(at).toISOString());
  }
});
