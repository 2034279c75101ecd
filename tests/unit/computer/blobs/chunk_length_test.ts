import { assertEquals } from "@std/assert";
import { chunkLength } from "../../../../computer/requests/contents.ts";

const MOST = 262_144;

Deno.test("a chunk has what is wanted, what is left, or what has room, whichever is least (0.4 §7.2)", () => {
  const table: [
    wanted: number | undefined,
    left: number,
    room: number,
    length: number,
  ][] = [
    [undefined, 10, Infinity, 10],
    [undefined, MOST + 1, Infinity, MOST],
    [0, MOST + 1, Infinity, MOST],
    [MOST + 1, MOST + 1, Infinity, MOST],
    [3, 10, Infinity, 3],
    [5, 10, 4, 4],
    [5, 0, 4, 0],
    // A reader could not go on from an empty chunk.
    [5, 10, 0, 1],
    [5, 10, -7, 1],
    [5, 0, -7, 0],
  ];
  for (const [wanted, left, room, length] of table) {
    assertEquals(
      chunkLength(wanted, left, room),
      length,
      `${wanted} ${left} ${room}`,
    );
  }
});
