import { Buffer } from "node:buffer";
import { assertEquals } from "@std/assert";
import {
  aboutOf,
  differences,
  Neighbours,
  readAbout,
} from "../../../../server/cluster/node_log.ts";
import {
  aboutNode,
  beginTerm,
  LEASE_MS,
  SETTINGS,
} from "../../../support/cluster/fake_node.ts";
import { captureLog } from "../../../support/log_capture.ts";

const AWAY = new Error("Redis does not answer");

Deno.test("Term beats four times in a lease, and every 500 ms after a beat that was not answered", async () => {
  const { term, clock, directory } = await beginTerm();
  await clock.turn(9000);
  assertEquals(directory.beats, [0, 3000, 6000, 9000]);
  directory.answers = [AWAY, AWAY, {}];
  await clock.turn(7000);
  assertEquals(directory.beats.slice(4), [12000, 12500, 13000, 16000]);
  assertEquals([term.isServing(), term.isReached], [true, true]);
  await term.leave();
});

Deno.test("Term stops serving a second before its lease ends, counted from the last answered beat", async () => {
  const { term, clock, directory, fenced, tally } = await beginTerm();
  await clock.turn(3000);
  directory.answers = [AWAY];
  await clock.turn(10_900);
  assertEquals([fenced, term.isServing(), term.isReached], [[], true, false]);
  await clock.turn(100);
  assertEquals([fenced, term.isServing()], [["lease over"], false]);
  const { length } = directory.beats;
  await clock.turn(60_000);
  assertEquals(directory.beats.length, length, "it beats no more");
  assertEquals(tally.beatsFailed, length - 2);
});

Deno.test("Term stops serving synchronously when Redis says that its lease has ended", async () => {
  const { term, clock, directory, fenced, tunnel } = await beginTerm();
  directory.answers = ["reaped"];
  await clock.turn(3000);
  assertEquals([fenced, term.isServing()], [["reaped"], false]);
  term.events.received("other", Buffer.alloc(1));
  term.events.failed("other", "gone");
  assertEquals(tunnel.calls, []);
});

Deno.test("Term of a process that was frozen longer than its lease passes nothing on before it is fenced", async () => {
  const { term, clock, fenced, tunnel } = await beginTerm();
  clock.freeze(30_000);
  assertEquals(term.isServing(), false);
  term.events.received("other", Buffer.alloc(1));
  assertEquals([fenced, tunnel.calls], [[], []]);
  await Promise.resolve();
  assertEquals(fenced, ["lease over"]);
});

Deno.test("Term refuses while its clocks disagree, and beats at once to find out", async () => {
  const { term, clock, directory, fenced } = await beginTerm();
  await clock.turn(1000);
  clock.ahead = 20_000; // the machine slept, or its clock was set
  assertEquals(term.isServing(), false);
  await clock.turn(1);
  assertEquals(directory.beats, [0, 1000]);
  assertEquals([term.isServing(), fenced], [true, []]);
  await term.leave();
});

Deno.test("Term beats at once when Redis is connected again", async () => {
  const { term, clock, directory, tunnel } = await beginTerm();
  await clock.turn(1000);
  term.events.connected(false);
  assertEquals([term.isReached, term.isServing()], [false, true]);
  term.events.connected(true);
  await clock.turn(1);
  assertEquals(directory.beats, [0, 1000]);
  assertEquals(tunnel.calls, []);
  await term.leave();
});

Deno.test("Term ends the homes that another node has after lost data, and logs the loss", async () => {
  using log = captureLog();
  const { term, clock, directory, tunnel, tally } = await beginTerm();
  directory.homes.set("kept", 1);
  directory.answers = [{ isNew: true, isEmpty: true, lost: ["lost"] }, {}];
  await clock.turn(3000);
  assertEquals(tunnel.calls, ["lost home lost"]);
  assertEquals([tally.dataLost, tally.homesLost], [1, 1]);
  const lines = log.records.map(({ message }) => message.join(""));
  assertEquals(
    lines.filter((line) => line.includes("lost its data")).length,
    1,
  );
  assertEquals(lines.filter((line) => /^1 offices that lived/.test(line)), [
    "1 offices that lived here live at other nodes by now: their members are disconnected. Give all nodes the same lease",
  ]);
  await term.leave();
});

Deno.test("Term counts no lost data when Redis has failed over", async () => {
  const { term, clock, directory, tally } = await beginTerm();
  directory.answers = [{ isNew: true, isEmpty: false }, {}];
  await clock.turn(3000);
  assertEquals([tally.dataLost, tally.homesLost], [0, 0]);
  await term.leave();
});

Deno.test("Term logs that the first joins wait where Redis has no data", async () => {
  using log = captureLog();
  const { term } = await beginTerm({ settleMs: 5200, isEmpty: true });
  const { properties } = log.records.at(-1) ?? {};
  assertEquals(properties, { place: "redis:6379", seconds: 6 });
  await term.leave();
});

Deno.test("Term passes on that a node is gone, and keeps it until its lease ends: it may be back", async () => {
  const nodes = new Map([["dead", aboutNode("dead")]]);
  const { term, clock, links, tunnel, tally } = await beginTerm({ nodes });
  links.peers.delete("dead");
  term.events.failed("dead", "gone");
  await clock.turn(6000);
  assertEquals(tunnel.calls, ["gone dead"]);
  assertEquals([links.asked, tally.nodesGone], [["meet dead"], 1]);
  await term.leave();
});

Deno.test("Term meets nodes that are new, and drops those whose lease has ended", async () => {
  const nodes = new Map([["b", aboutNode("b")]]);
  const { term, clock, directory, links, tunnel } = await beginTerm({ nodes });
  assertEquals(links.asked, ["meet b"]);
  directory.answers = [
    { nodes: new Map([...nodes, ["c", aboutNode("c")]]) },
    { nodes: new Map([["c", ""]]) },
  ];
  await clock.turn(6000);
  assertEquals(links.asked, ["meet b", "meet c"]);
  await clock.turn(3000);
  assertEquals(links.asked, ["meet b", "meet c", "drop b"]);
  assertEquals(tunnel.calls, ["gone b"]);
  await term.leave();
});

Deno.test("Term keeps nodes that are missing while homes are not known again", async () => {
  const nodes = new Map([["b", aboutNode("b")]]);
  const { term, clock, directory, links } = await beginTerm({ nodes });
  directory.answers = [
    { isNew: true, settleMs: 6000 },
    { settleMs: 3000 },
    { settleMs: 1 },
    { nodes },
  ];
  await clock.turn(18_000);
  assertEquals(links.asked, ["meet b"]);
  await term.leave();
});

Deno.test("Term says once which settings differ, with both values and the remedy", async () => {
  using log = captureLog();
  const nodes = new Map([
    ["b", aboutNode("b", { maxMessageBytes: 4096 })],
    ["c", aboutNode("c", { maxMessageBytes: 4096 })],
  ]);
  const { term } = await beginTerm({ nodes });
  const warnings = log.records.filter(({ level }) => level === "warning");
  assertEquals(warnings.map(({ properties }) => properties), [{
    setting: "--max-message-bytes",
    own: "8388608",
    other: "4096",
    node: "b",
    name: "b",
  }]);
  await term.leave();
});

Deno.test("Term gives up its lease before it closes; where it is over it is tried, and lost it is not", async () => {
  const { term, directory } = await beginTerm();
  await term.leave();
  assertEquals(directory.asked, ["leave"]);
  const late = await beginTerm();
  late.directory.answers = [AWAY];
  await late.clock.turn(20_000);
  await late.term.leave();
  assertEquals(late.directory.asked, ["leave"]);
  const reaped = await beginTerm();
  reaped.directory.answers = ["reaped"];
  await reaped.clock.turn(3000);
  await reaped.term.leave();
  assertEquals(reaped.directory.asked, []);
});

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
