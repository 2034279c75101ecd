import {
  assert,
  assertEquals,
  assertNotStrictEquals,
  assertStrictEquals,
} from "@std/assert";
import { Buffer } from "node:buffer";
import { FramePool } from "../../../../../server/cluster/links/frame_pool.ts";

const PIECE = 256 * 1024;

Deno.test("FramePool gives the memory of a large frame to another one, when it was given back", () => {
  const pool = new FramePool(PIECE);
  const first = pool.take(PIECE);
  const second = pool.take(PIECE);
  assertNotStrictEquals(second.buffer, first.buffer);
  pool.give(first);
  const third = pool.take(100_000);
  assertStrictEquals(third.buffer, first.buffer);
  assertEquals([third.byteOffset, third.length], [0, 100_000]);
  assertNotStrictEquals(pool.take(PIECE).buffer, first.buffer);
});

Deno.test("FramePool keeps no memory that is not its own, and not too much", () => {
  const pool = new FramePool(PIECE);
  const small = pool.take(100);
  const huge = pool.take(2 * PIECE);
  const strange = Buffer.alloc(PIECE);
  for (const frame of [small, huge, strange]) {
    pool.give(frame);
    assertNotStrictEquals(pool.take(PIECE).buffer, frame.buffer);
  }
  const frames = Array.from({ length: 40 }, () => pool.take(PIECE));
  for (const frame of frames) pool.give(frame);
  const own = new Set(frames.map(({ buffer }) => buffer));
  const again = frames.map(() => pool.take(PIECE).buffer);
  const kept = again.filter((buffer) => own.has(buffer)).length;
  assert(kept === 16, `${kept} were kept`);
});

Deno.test("FramePool with frames of the size of Node's slab does not take that for its own", () => {
  const pool = new FramePool(4 * 1024);
  const small = Buffer.allocUnsafe(100);
  pool.give(small);
  assertNotStrictEquals(pool.take(8 * 1024).buffer, small.buffer);
});
