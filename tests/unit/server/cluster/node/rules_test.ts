import { assertEquals } from "@std/assert";
import {
  aboutOf,
  differences,
  Neighbours,
  readAbout,
} from "../../../../../server/cluster/node/neighbours.ts";
import {
  aboutNode,
  LEASE_MS,
  SETTINGS,
} from "../../../../support/cluster/fake_node.ts";

Deno.test("differences() names what two nodes have not alike, and nothing that one of them does not know", () => {
  const own = aboutOf("own", { ...SETTINGS, leaseMs: LEASE_MS });
  const text = aboutNode("b", { membersPerOffice: 10, protocols: ["0.4"] });
  assertEquals(differences(own, readAbout(text)), [
    { setting: "--protocol", own: "0.2", other: "0.4" },
    { setting: "--max-members-per-office", own: "1000", other: "10" },
  ]);
  for (const old of ["", "null", "{}", '{"settings":{"--protocol":1}}']) {
    assertEquals(differences(own, readAbout(old)), []);
  }
});

const newNeighbours = () => {
  const neighbours = new Neighbours();
  const take = (
    there: readonly string[],
    linked: readonly string[],
    isComplete = true,
  ) =>
    neighbours.take(
      new Map(there.map((node) => [node, "{}"])),
      isComplete,
      (node) => linked.includes(node),
    ).map(({ kind, node }) => `${kind} ${node}`);
  return { neighbours, take };
};

Deno.test("Neighbours distinguishes a node that said goodbye from one whose lease has ended", () => {
  const { neighbours, take } = newNeighbours();
  assertEquals(take(["a", "b"], []), ["joined a", "joined b"]);
  assertEquals(take(["b"], ["b"]), ["left a"]);
  // Its goodbye may be on its way.
  assertEquals(take([], ["b"]), []);
  assertEquals(take([], ["b"]), ["ended b"]);
  assertEquals(neighbours.size, 0);
});

Deno.test("Neighbours keeps a node that is missing while nodes come back to a Redis without data", () => {
  const { take } = newNeighbours();
  take(["a"], []);
  for (let beat = 0; beat < 5; beat++) assertEquals(take([], ["a"], false), []);
  assertEquals(take([], ["a"]), []);
  assertEquals(take(["a"], ["a"]), []);
  assertEquals([take([], ["a"]), take([], ["a"])], [[], ["ended a"]]);
});
