import { assertEquals } from "@std/assert";
import { slotOf } from "../../../../../server/cluster/redis/servers.ts";

// What CLUSTER KEYSLOT of a Redis 7 answers.
const SLOTS: Readonly<Record<string, number>> = {
  "": 0,
  "a": 15495,
  "smcp1:{0123456789abcdef}": 10405,
  "{smcp1}:rev": 16144,
  "{}x": 10595,
  "a{b}c{d}": 3300,
  "a{b": 13340,
  "é{ü}": 9552,
  "{smcp1}:o:a2c/1.0:büro": 16144,
};

for (const [key, slot] of Object.entries(SLOTS)) {
  Deno.test(`slotOf() agrees with Redis about ${JSON.stringify(key)}`, () => {
    assertEquals(slotOf(key), slot);
  });
}
