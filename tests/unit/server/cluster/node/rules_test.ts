import { assertEquals } from "@std/assert";
import {
  aboutOf,
  differences,
  readAbout,
} from "../../../../../server/cluster/node/about.ts";
import { compareSeats } from "../../../../../server/cluster/node/compare_seats.ts";
import { Neighbours } from "../../../../../server/cluster/node/neighbours.ts";
import {
  aboutNode,
  seated,
  SETTINGS,
} from "../../../../support/cluster/fake_node.ts";

const names = (seats: readonly { member: { name: string } }[]) =>
  seats.map(({ member }) => member.name);

Deno.test("compareSeats() finds members without a seat, but none that came or left meanwhile", () => {
  const [stays, left, came] = [
    seated("stays", "n"),
    seated("left", "n"),
    seated("came", "n"),
  ];
  const { missing, unheld, suspects } = compareSeats(
    [stays, left],
    [stays, came],
    [],
    new Set(),
  );
  assertEquals(names(missing), ["stays"]);
  assertEquals([unheld, suspects.size], [[], 0]);
});

Deno.test("compareSeats() suspects a seat that nobody holds, and names it the next time", () => {
  const ghost = seated("ghost", "n", 7);
  const first = compareSeats([], [], [ghost], new Set());
  assertEquals([names(first.unheld), first.suspects.size], [[], 1]);
  const second = compareSeats([], [], [ghost], first.suspects);
  assertEquals([names(second.unheld), second.suspects.size], [["ghost"], 0]);
});

Deno.test("compareSeats() suspects a seat anew that was released and taken again", () => {
  const first = compareSeats([], [], [seated("a", "n", 7)], new Set());
  const second = compareSeats([], [], [seated("a", "n", 8)], first.suspects);
  assertEquals([second.unheld, second.suspects.size], [[], 1]);
});

Deno.test("differences() names what two nodes have not alike, and nothing that one of them does not know", () => {
  const own = aboutOf("own", { ...SETTINGS, leaseMs: 15_000 });
  const text = aboutNode("b", { membersPerOffice: 10, protocols: ["0.4"] });
  assertEquals(differences(own, readAbout(text)), [
    { setting: "--protocol", own: "0.2", other: "0.4" },
    { setting: "--max-members-per-office", own: "1000", other: "10" },
  ]);
  for (const old of ["", "null", "{}", '{"settings":{"--protocol":1}}']) {
    assertEquals(differences(own, readAbout(old)), []);
  }
});

Deno.test("Neighbours tells a node that said goodbye from one that is missing", () => {
  const neighbours = new Neighbours(15_000);
  const nodes = new Map([["a", "{}"], ["b", "{}"]]);
  const all = new Set<string>();
  const kinds = (linked: readonly string[], now: number, there = new Map()) =>
    neighbours.take(there, all, (node) => linked.includes(node), now)
      .map(({ kind, node }) => `${kind} ${node}`);
  assertEquals(kinds([], 0, nodes), ["joined a", "joined b"]);
  assertEquals(kinds(["b"], 3000), ["left a"]);
  assertEquals(kinds(["b"], 17_999), []);
  assertEquals(kinds(["b"], 18_000), ["missing b"]);
  assertEquals(neighbours.size, 0);
});
