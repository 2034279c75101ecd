import { assertEquals } from "@std/assert";
import { EventRing } from "../../../../server/operator/feed/event_ring.ts";

const event = (json: string) => ({ office: undefined, kind: "k", json });

Deno.test("EventRing keeps the latest events, and as many characters as it may", () => {
  const ring = new EventRing({ events: 3, characters: 10 });
  for (const json of ["a", "b", "c", "d"]) ring.push(event(json));
  assertEquals([ring.first, ring.next], [2, 5]);
  assertEquals(ring.at(1), undefined);
  assertEquals(ring.at(2)?.json, "b");
  assertEquals(ring.at(5), undefined);
  ring.push(event("123456789"));
  assertEquals([ring.first, ring.next], [4, 6]);
  assertEquals([ring.at(4)?.json, ring.at(5)?.json], ["d", "123456789"]);
});

Deno.test("EventRing keeps the newest event, whatever its size", () => {
  const ring = new EventRing({ events: 3, characters: 4 });
  ring.push(event("a"));
  ring.push(event("longer than all"));
  assertEquals([ring.first, ring.next], [2, 3]);
  ring.push(event("b"));
  assertEquals([ring.first, ring.at(3)?.json], [3, "b"]);
});
