import { assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  decideRoom,
  type HeldView,
  MAX_TOOLS,
  MAX_VIEWS,
} from "../../../mcp/http/view_room.ts";

const views = (
  count: number,
  principal: string | undefined,
  more: Partial<HeldView> = {},
): HeldView[] =>
  Array.from(
    { length: count },
    () => ({ principal, tools: 1, isIdle: true, ...more }),
  );

const busy = { isIdle: false };

Deno.test("a new view replaces the one that was unused longest, once the room is full", () => {
  assertEquals(decideRoom([], undefined, 1), "free");
  assertEquals(
    decideRoom(views(MAX_VIEWS - 1, undefined), undefined, 1),
    "free",
  );
  const full = [
    ...views(3, undefined, busy),
    ...views(MAX_VIEWS - 3, undefined),
  ];
  assertEquals(decideRoom(full, undefined, 1), { drop: 3 });
  const used = views(MAX_VIEWS, undefined, busy);
  assertEquals(decideRoom(used, undefined, 1), "full");
  const heavy = views(2, undefined, { tools: MAX_TOOLS });
  assertEquals(decideRoom(heavy, undefined, 1), { drop: 0 });
});

Deno.test("a principal has a part of the room, in which its own views give way", () => {
  const flood = views(20, "ann", busy);
  assertEquals(decideRoom(flood, "ann", 5), "full");
  assertEquals(decideRoom(flood, "bob", 5), "free");
  assertEquals(
    decideRoom([...views(1, "bob"), ...views(20, "ann")], "ann", 5),
    { drop: 1 },
  );
  const heavy = views(1, "ann", { tools: MAX_TOOLS / 4, ...busy });
  assertEquals(decideRoom(heavy, "ann", 5), "full");
  assertEquals(decideRoom(heavy, "bob", 5), "free");
});

Deno.test("where all of the room is taken, a view of who has most of it gives way", () => {
  const held = [
    ...views(10, "ann"),
    ...views(20, "bob", busy),
    ...views(19, "cid"),
    ...views(20, "dan", busy),
    ...views(31, "eve", { tools: 0 }),
  ];
  assertEquals(decideRoom(held, "new", 5), { drop: 69 });
  assertEquals(decideRoom(held.slice(0, 69), "new", 5), "free");
});

Deno.test("decideRoom() never drops a view in use, and a principal with less than its part is refused only for views in use", () => {
  const view = fc.record({
    principal: fc.constantFrom("a", "b", "c", undefined),
    tools: fc.nat(MAX_TOOLS / 4),
    isIdle: fc.boolean(),
  });
  fc.assert(fc.property(
    fc.array(view, { maxLength: 2 * MAX_VIEWS }),
    fc.constantFrom("a", "new", undefined),
    fc.constantFrom(1, 5),
    (held, principal, parts) => {
      const decision = decideRoom(held, principal, parts);
      if (decision === "free") return held.length < MAX_VIEWS;
      if (decision !== "full") return held[decision.drop]?.isIdle === true;
      const own = held.filter((each) => each.principal === principal);
      return !held.some(({ isIdle }) => isIdle) ||
        own.length > 0 && !own.some(({ isIdle }) => isIdle);
    },
  ));
});
