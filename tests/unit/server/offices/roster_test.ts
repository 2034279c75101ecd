import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { Roster, type SeatChange } from "../../../../server/offices/roster.ts";
import type { Seat } from "../../../../server/shared/member.ts";
import { member } from "../../../support/member.ts";

const seat = (rev: number, about: Partial<Seat> = {}): Seat => ({
  ...member({ socket: `s${rev}` }),
  rev,
  ...about,
});

const told = (changes: readonly SeatChange[]) =>
  changes.map(({ kind, seat }) => `${kind} ${seat.rev}`);

/** A notice of a node, in the order in which that node sends them. */
type News = readonly [kind: "enter" | "leave", seat: Seat];

Deno.test("Roster tells a move as leave and enter, whichever notice comes first", () => {
  const inOrder = new Roster();
  assertEquals(told(inOrder.enter(seat(5))), ["enter 5"]);
  assertEquals(told(inOrder.leave(seat(5))), ["leave 5"]);
  assertEquals(told(inOrder.enter(seat(7))), ["enter 7"]);

  const late = new Roster();
  late.enter(seat(5));
  assertEquals(told(late.enter(seat(7))), ["leave 5", "enter 7"]);
  assertEquals(told(late.leave(seat(5))), []);
  assertEquals(late.computer("pc")?.rev, 7);
});

Deno.test("Roster ignores what it has heard, and what is older than what it has heard", () => {
  const roster = new Roster();
  roster.enter(seat(5));
  assertEquals(told(roster.enter(seat(5))), []);
  assertEquals(told(roster.leave(seat(7))), ["leave 5"]);
  assertEquals(told(roster.enter(seat(6))), []);
  assertEquals(roster.seats(), []);
});

Deno.test("Roster has one seat for the Agent, whatever its name, and one for each name of a Computer", () => {
  const roster = new Roster();
  roster.enter(seat(1, { role: "agent", name: "A" }));
  assertEquals(
    told(roster.enter(seat(2, { role: "agent", name: "B" }))),
    ["leave 1", "enter 2"],
  );
  roster.enter(seat(3, { name: "A" }));
  roster.enter(seat(4, { name: "B" }));
  assertEquals(roster.seats().map(({ rev }) => rev), [2, 3, 4]);
});

Deno.test("Roster.load() tells what was missed, and keeps what is newer than the list", () => {
  const isLocal = ({ node }: Seat) => node === "here";
  const roster = new Roster();
  roster.enter(seat(1, { name: "gone" }));
  roster.enter(seat(2, { name: "own", node: "here" }));
  roster.enter(seat(3, { name: "back" }));
  const since = roster.stamp;
  // Heard while the registry was asked; its list is from before.
  roster.enter(seat(9, { name: "new" }));
  roster.leave(seat(4, { name: "left" }));
  const changes = roster.load(
    [
      seat(4, { name: "left" }),
      seat(6, { name: "back" }),
      seat(7, { name: "missed" }),
    ],
    since,
    isLocal,
  );
  assertEquals(told(changes), [
    "leave 1",
    "leave 3",
    "enter 6",
    "enter 7",
  ]);
  assertEquals(
    roster.seats().map(({ name }) => name),
    ["own", "new", "back", "missed"],
  );
});

Deno.test("Roster ends as the registry, and never tells a leave without an enter, in whatever order the notices of the nodes arrive", () => {
  const step = fc.record({
    node: fc.nat(2),
    name: fc.constantFrom("a", "b"),
    joins: fc.boolean(),
    repeats: fc.boolean(),
  });
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 30 }),
      fc.infiniteStream(fc.nat(2)),
      (steps, order) => {
        const { news, seats } = history(steps);
        const roster = new Roster();
        const present = new Map<string, number>();
        for (const [kind, about] of interleaved(news, order)) {
          const changes = kind === "enter"
            ? roster.enter(about)
            : roster.leave(about);
          for (const { kind, seat: { name, rev } } of changes) {
            assertEquals(present.has(name), kind === "leave");
            if (kind === "enter") present.set(name, rev);
            else present.delete(name);
          }
        }
        const ended = new Map(roster.seats().map((s) => [s.name, s.rev]));
        assertEquals(ended, present);
        assertEquals(
          [...ended].sort(),
          [...seats].map(([name, { rev }]) => [name, rev] as const).sort(),
        );
      },
    ),
    { numRuns: 2000 },
  );
});

/** Plays joins and leaves in the registry; returns what each node sends, and who sits there then. */
function history(
  steps: readonly {
    node: number;
    name: string;
    joins: boolean;
    repeats: boolean;
  }[],
) {
  const news: News[][] = [[], [], []];
  const seats = new Map<string, Seat>();
  let rev = 0;
  for (const { node, name, joins, repeats } of steps) {
    const holder = seats.get(name);
    if (joins) {
      const taken = seat(++rev, { name, node: String(node) });
      // Who takes a seat over tells the leave, too; its former node may tell it again.
      if (holder) news[node]?.push(["leave", holder]);
      news[node]?.push(["enter", taken]);
      if (holder && repeats) news[Number(holder.node)]?.push(["leave", holder]);
      seats.set(name, taken);
    } else if (holder) {
      rev++;
      news[Number(holder.node)]?.push(["leave", holder]);
      seats.delete(name);
    }
  }
  return { news, seats };
}

/** Takes the notices of the nodes in any order, each node's in its own. */
function* interleaved(
  news: readonly News[][],
  order: Iterable<number>,
): Iterable<News> {
  const left = news.map((each) => [...each]);
  for (const node of order) {
    if (left.every(({ length }) => length === 0)) return;
    const next = left[node]?.shift() ??
      left.find(({ length }) => length > 0)?.shift();
    if (next) yield next;
  }
}
