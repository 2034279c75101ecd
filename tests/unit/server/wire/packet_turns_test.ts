import { assert, assertEquals } from "@std/assert";
import { setImmediate } from "node:timers";
import { PacketTurns } from "../../../../server/wire/packet/packet_decoder.ts";

const PACKETS = 1000;

/** Resolves after the packets of one turn of the event loop. */
const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

Deno.test("PacketTurns: many connections that are behind share each turn, so that others wait for one share", async () => {
  const handled = Array.from({ length: 20 }, (): unknown[] => []);
  const held = new Set<number>();
  handled.forEach((list, index) => {
    const turns = new PacketTurns(
      (packet) => list.push(packet),
      (isHeld) => isHeld ? held.add(index) : held.delete(index),
    );
    for (let packet = 0; packet < PACKETS; packet++) turns.wait(packet);
  });
  assertEquals(held.size, handled.length);

  const total = () => handled.reduce((sum, list) => sum + list.length, 0);
  let most = 0;
  while (held.size > 0) {
    const before = total();
    await nextTurn();
    most = Math.max(most, total() - before);
    const lengths = handled.map((list) => list.length);
    assert(
      Math.max(...lengths) - Math.min(...lengths) <= 100,
      "each has its turn",
    );
  }
  assert(most <= 200, `${most} packets in one turn`);
  const all = Array.from({ length: PACKETS }, (_, packet) => packet);
  for (const list of handled) assertEquals(list, all);
});

Deno.test("PacketTurns: one that ends leaves the turns to the others", async () => {
  const handled: string[] = [];
  const connections = ["a", "b"].map((name) => {
    const turns: PacketTurns = new PacketTurns((packet) => {
      handled.push(`${name}${packet}`);
      if (name === "a") turns.end(); // its packet closed it
    }, () => {});
    return turns;
  });
  for (const turns of connections) {
    for (const packet of [1, 2]) turns.wait(packet);
  }
  await nextTurn();
  assertEquals(handled, ["a1", "b1", "b2"]);
  const [, b] = connections;
  b?.wait(3);
  b?.end();
  b?.wait(4);
  await nextTurn();
  assertEquals(handled.slice(3), ["b4"]);
});
