import { assert, assertEquals } from "@std/assert";
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

/** What happened in a run: at which step each message was sent, and each loss reported. */
interface History {
  readonly sentAt: Map<string, number>;
  readonly lostAt: [number[], number[]];
}

function play(
  ends: readonly [End, End],
  steps: readonly (readonly [string, 0 | 1, number])[],
): History {
  const history: History = { sentAt: new Map(), lostAt: [[], []] };
  steps.forEach(([kind, index, n], time) => {
    const end = ends[index];
    switch (kind) {
      case "send": {
        const stream = `${index}${"abc"[n % 3]}`;
        history.sentAt.set(`${stream}/${end.sent.get(stream) ?? 0}`, time);
        assert(end.send(stream, n));
        if (n % 2) end.flush();
        break;
      }
      case "pass":
        end.flush();
        for (let i = 0; i < n; i++) end.take(end.incoming.shift());
        break;
      case "drop":
        end.incoming.splice(0, n);
        break;
      case "double":
        end.incoming.unshift(...end.incoming.slice(0, n));
        break;
      case "late":
        end.incoming.push(...end.incoming.slice(0, n));
        break;
      case "restart":
        end.link.restart();
        break;
      case "beat":
        end.link.beat();
    }
    ends.forEach((each, i) => noteLosses(each.heard, history, i, time));
  });
  return history;
}

function noteLosses(
  heard: readonly Heard[],
  { lostAt }: History,
  index: number,
  time: number,
): void {
  const losses = lostAt[index];
  if (losses === undefined) return;
  const count = heard.filter((each) => each === "lost").length;
  while (losses.length < count) losses.push(time);
}

/** Checks that each stream goes on without a gap, but after a loss that was reported. */
function checkOrder(heard: readonly Heard[]): void {
  const next = new Map<string, number>();
  let known = new Set<string>();
  let isFirstLink = true;
  let opened = 0;
  let lost = 0;
  for (const each of heard) {
    if (each === "opened") opened++;
    else if (each === "lost") {
      lost++;
      known = new Set();
      isFirstLink = false;
    } else {
      const [stream = "", text] = each.split("/");
      const index = Number(text);
      const expected = next.get(stream) ?? 0;
      if (known.has(stream) || isFirstLink) {
        assertEquals(index, expected, `stream ${stream} in ${heard}`);
      } else assert(index >= expected, `${each} came again in ${heard}`);
      known.add(stream);
      next.set(stream, index + 1);
    }
  }
  assert(lost <= opened, "a loss is reported once for each link");
}

Deno.test("Link delivers gapless prefixes and reports each loss at both ends, whatever is lost, doubled or late", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 150, size: "max" }), (steps) => {
      const ends = pairOf(limits, WINDOW);
      ends[0].link.greet();
      const history = play(ends, steps);
      const end = steps.length;
      // From here on nothing is lost any more: the links must come to agree, and all must flow.
      for (let round = 0; round < 6; round++) {
        for (const each of ends) each.link.beat();
        settle(ends);
      }
      ends.forEach((each, i) => noteLosses(each.heard, history, i, end));
      for (const each of ends) checkOrder(each.heard);

      const arrived = new Set(ends.flatMap((each) => each.heard));
      for (const [message, time] of history.sentAt) {
        if (arrived.has(message as Heard)) continue;
        for (const losses of history.lostAt) {
          assert(
            losses.some((lost) => lost >= time),
            `${message} is missing, which nobody was told after ${time}: ${losses}`,
          );
        }
      }
      ends.forEach((each, i) => each.send(`${i}last`, 700));
      settle(ends);
      assert(ends[1].heard.includes("0last/0"));
      assert(ends[0].heard.includes("1last/0"));
    }),
    { numRuns: 3_000 },
  );
});
