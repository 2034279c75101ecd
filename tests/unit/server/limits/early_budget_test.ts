import { assertEquals } from "@std/assert";
import {
  EarlyBudget,
  earlyBytes,
  MAX_EARLY_PACKETS,
} from "../../../../server/limits/guards.ts";
import { MAX_CONNECT_BYTES } from "../../../../server/shared/ws_settings.ts";

Deno.test("EarlyBudget.take() allows 32 packets, and four of the largest CONNECTs, without a session", () => {
  assertEquals([MAX_EARLY_PACKETS, earlyBytes(MAX_CONNECT_BYTES)], [
    32,
    65_536,
  ]);
  const many = new EarlyBudget(MAX_CONNECT_BYTES);
  for (let i = 0; i < 32; i++) assertEquals(many.take(1), undefined);
  assertEquals(many.take(1), "more than 32 packets without a session");

  const large = new EarlyBudget(MAX_CONNECT_BYTES);
  for (let i = 0; i < 4; i++) {
    assertEquals(large.take(MAX_CONNECT_BYTES), undefined);
  }
  assertEquals(large.bytesLeft, 0);
  assertEquals(large.take(1), "more than 65536 bytes without a session");
});
