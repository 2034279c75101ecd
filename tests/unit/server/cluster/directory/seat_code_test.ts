import { assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import {
  claimKey,
  memberCode,
  readSeat,
  readSeated,
  slotCode,
} from "../../../../../server/cluster/directory/seat_code.ts";
import { member } from "../../../../support/member.ts";

Deno.test("claimKey() is equal for the same instance of the same principal only, and reveals neither", () => {
  const key = claimKey(member({ instance: "secret", principal: "me" }));
  assertEquals(key, claimKey(member({ instance: "secret", principal: "me" })));
  const others = [
    { instance: "secret", principal: "you" },
    { instance: "secret" },
    { instance: "other", principal: "me" },
    { instance: "", principal: "me" },
    { instance: "me", principal: "secret" },
  ];
  for (const other of others) assertNotEquals(claimKey(member(other)), key);
  assertEquals(
    /secret|me/.test(claimKey(member({ instance: "secret" }))),
    false,
  );
  assertNotEquals(claimKey(member({ instance: "" })), "");
});

Deno.test("claimKey() is empty without an instance, also for a known principal", () => {
  assertEquals(claimKey(member({ principal: "me" })), "");
});

Deno.test("readSeat() reads what the scripts keep, with any name", () => {
  for (const name of ["pc", "\u2028", '"\\', "ä\u{1f4bb}", "A"]) {
    const kept = member({ name });
    const lines = ["n1", "42", "s1", "key", "7", "", memberCode(kept)];
    assertEquals(readSeat("north", slotCode(kept), lines.join("\n")), {
      ...kept,
      rev: 42,
      node: "n1",
    });
  }
  assertThrows(() => readSeat("north", "A", "n1\n42"), TypeError, "n1");
});

Deno.test("readSeated() skips offices of a version that only a later node serves", () => {
  const code = ["n1", "42", "s1", "", "7", "", '["boss","0.2.0"]'].join("\n");
  assertEquals(readSeated("0.2:a:b\nA\n42", code)?.member.office, "a:b");
  assertEquals(readSeated("9.9:a:b\nA\n42", code), undefined);
});
