import { assert, assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import fc from "fast-check";
import { type End, type Heard, pairOf, settle } from "./pair.ts";

const limits = {
  pieceBytes: 256,
  queueBytes: Infinity,
  maxMessageBytes: 10_000,
};
const WINDOW = 1_024;

const side = fc.constantFrom(0 as const, 1 as const);
const step = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(fc.constant("send"), side, fc.nat(900)) },
  { weight: 8, arbitrary: fc.tuple(fc.constant("pass"), side, fc.nat(4)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant("drop"), side, fc.nat(3)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant("double"), side, fc.nat(3)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant("late"), side, fc.nat(3)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant("restart"), side, fc.nat(2)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant("beat"), side, fc.nat(2)) },
);

/** Copies of the next frames: whoever takes a frame may free it. */
const again = ({ incoming }: End, count: number) =>
  incoming.slice(0, count).map((frame) => Buffer.from(frame));

function play(
  ends: readonly [End, End],
  steps: readonly (readonly [string, 0 | 1, number])[],
): void {
  for (const [kind, index, n] of steps) {
    const end = ends[index];
    switch (kind) {
      case "send":
        assert(end.send(`${index}${"abc"[n % 3]}`, n));
        if (n % 2) end.flush();
        break;
      case "pass":
        end.flush();
        for (let i = 0; i < n; i++) end.take(end.incoming.shift());
        break;
      case "drop":
        end.incoming.splice(0, n);
        break;
      case "double":
        end.incoming.unshift(...again(end, n));
        break;
      case "late":
        end.incoming.push(...again(end, n));
        break;
      case "restart":
        end.link.reset();
        end.link.greet();
        break;
      case "beat":
        end.link.beat();
    }
  }
}

/** All messages of each stream that the other end has sent, in order. */
const sentBy = ({ sent }: End): Record<string, Heard[]> =>
  Object.fromEntries(
    [...sent].map(([stream, count]) => [
      stream,
      Array.from({ length: count }, (_, i): Heard => `${stream}/${i}`),
    ]),
  );

Deno.test("Link delivers every message of each stream once and in order, whatever is lost, doubled or late", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 150, size: "max" }), (steps) => {
      const ends = pairOf(limits, WINDOW);
      ends[0].link.greet();
      play(ends, steps);
      // From here on nothing is lost any more: the links must come to agree, and all must flow.
      for (let round = 0; round < 6; round++) {
        for (const each of ends) each.link.beat();
        settle(ends);
      }
      for (const [end, other] of [ends, ends.toReversed()]) {
        assert(end && other);
        const messages = other.heard.filter((each) => each.includes("/"));
        const heard = Object.groupBy(messages, (each) => each.split("/")[0]!);
        assertEquals({ ...heard }, sentBy(end));
        assertEquals(other.heard.includes("lost"), false);
      }
    }),
    { numRuns: 3_000 },
  );
});
