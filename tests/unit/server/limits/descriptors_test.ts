import { assertEquals } from "@std/assert";
import {
  DescriptorBudget,
  type DescriptorSource,
  readOpenFiles,
  socketsWithin,
} from "../../../../server/limits/descriptors.ts";

const LIMITS = (soft: string) =>
  `Limit                     Soft Limit           Hard Limit           Units
Max processes             7                    7                    processes
Max open files            ${soft.padEnd(21)}4096                 files
Max locked memory         8388608              8388608              bytes
`;

Deno.test("readOpenFiles() parses the soft limit of open files", () => {
  assertEquals(readOpenFiles(LIMITS("256")), 256);
  assertEquals(readOpenFiles(LIMITS("unlimited")), Infinity);
  assertEquals(readOpenFiles("Max processes 7 7 processes\n"), undefined);
  assertEquals(readOpenFiles(""), undefined);
});

Deno.test("socketsWithin() reserves a quarter for everything else, from 192 to 1024", () => {
  const table = [
    [30, 1],
    [200, 8],
    [256, 64],
    [1024, 768],
    [20_000, 18_976],
    [Infinity, Infinity],
  ] as const;
  for (const [descriptors, sockets] of table) {
    assertEquals(socketsWithin(descriptors), sockets);
  }
});

/** Returns how many sockets a budget allows, one by one. */
function fill(room: DescriptorBudget, most: number): number {
  let open = 0;
  while (open < most && room.allows(open)) open++;
  return open;
}

Deno.test("DescriptorBudget uses a known limit without trials", () => {
  let tried = 0;
  const source: DescriptorSource = {
    limit: () => 256,
    openable: (count) => tried += count,
  };
  assertEquals(fill(new DescriptorBudget(source), 1000), 64);
  assertEquals(tried, 0);
});

Deno.test("DescriptorBudget finds an unknown limit before it is reached, with few trials", () => {
  for (const limit of [220, 256, 1000, 5000]) {
    let open = 0;
    let tried = 0;
    const own = 20;
    const room = new DescriptorBudget({
      limit: () => undefined,
      openable(count) {
        const found = Math.min(count, limit - own - open);
        tried += found;
        return found;
      },
    });
    while (room.allows(open)) open++;
    assertEquals(open, socketsWithin(limit - own), `of ${limit}`);
    assertEquals(tried <= 4 * limit, true, `${tried} trials`);
    assertEquals(room.allows(open - 1), true);
  }
});

Deno.test("DescriptorBudget sets no limit where none can be determined", () => {
  const room = new DescriptorBudget({
    limit: () => undefined,
    openable: () => undefined,
  });
  assertEquals(fill(room, 10_000), 10_000);
});
