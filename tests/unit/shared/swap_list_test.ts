import { assertEquals } from "@std/assert";
import { type Placed, SwapList } from "../../../shared/swap_list.ts";

Deno.test("SwapList has what was added and not removed, whatever the order", () => {
  const list = new SwapList<Placed & { readonly id: number }>();
  const all = Array.from({ length: 50 }, (_, id) => ({ id }));
  const held = new Set<{ readonly id: number }>();
  let seed = 7;
  const random = (below: number) =>
    (seed = seed * 48_271 % 2_147_483_647) % below;
  for (let step = 0; step < 5_000; step++) {
    const item = all[random(all.length)];
    if (item === undefined) continue;
    if (held.has(item)) {
      assertEquals(list.remove(item), true);
      held.delete(item);
      assertEquals(list.remove(item), false);
    } else {
      assertEquals(list.has(item), false);
      list.add(item);
      held.add(item);
    }
    assertEquals(list.items.length, held.size);
    for (const each of all) assertEquals(list.has(each), held.has(each));
  }
  list.clear();
  assertEquals(all.some((each) => list.has(each)), false);
});
