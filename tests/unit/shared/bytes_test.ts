import { assertEquals } from "@std/assert";
import { readAt } from "../../../shared/bytes.ts";

const CONTENT = Uint8Array.from({ length: 10 }, (_, index) => index);

/** A file of ten bytes that gives at most three at a time. */
const slow = {
  read(into: Uint8Array, offset: number, length: number, position: number) {
    const part = CONTENT.subarray(position, position + Math.min(length, 3));
    into.set(part, offset);
    return Promise.resolve({ bytesRead: part.length });
  },
};

Deno.test("readAt() reads on until it has all, or the file ends", async () => {
  const rows: [position: number, length: number, bytes: number[]][] = [
    [0, 10, [...CONTENT]],
    [4, 4, [4, 5, 6, 7]],
    [8, 10, [8, 9]],
    [10, 5, []],
    [3, 0, []],
  ];
  for (const [position, length, bytes] of rows) {
    assertEquals([...await readAt(slow, position, length)], bytes);
  }
});
