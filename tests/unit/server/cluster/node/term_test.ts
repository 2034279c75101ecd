import { Buffer } from "node:buffer";
import { assertEquals } from "@std/assert";
import { captureLog } from "../../../../support/log_capture.ts";
import {
  aboutNode,
  beginTerm,
  seated,
} from "../../../../support/cluster/fake_node.ts";

const AWAY = new Error("Redis does not answer");

Deno.test("Term beats every 3 s, and every 500 ms after a beat that was not answered", async () => {
  const { term, clock, directory } = await beginTerm();
  await clock.turn(9000);
  assertEquals(directory.beats, [0, 3000, 6000, 9000]);
  directory.answers = [AWAY, AWAY, {}];
  await clock.turn(7000);
  assertEquals(directory.beats.slice(4), [12000, 12500, 13000, 16000]);
  assertEquals([term.isServing(), term.isReached], [true, true]);
  term.stop();
});

Deno.test("Term stops serving 14 s after the last answered beat was sent", async () => {
  const { term, clock, directory, fenced, tally } = await beginTerm();
  await clock.turn(3000);
  directory.answers = [AWAY];
  await clock.turn(13_900);
  assertEquals([fenced, term.isServing(), term.isReached], [[], true, false]);
  await clock.turn(100);
  assertEquals([fenced, term.isServing()], [["lease over"], false]);
  const { length } = directory.beats;
  await clock.turn(60_000);
  assertEquals(directory.beats.length, length, "it beats no more");
  assertEquals(tally.beatsFailed, length - 2);
});

Deno.test("Term stops serving at once when others were told that its members left", async () => {
  const { term, clock, directory, fenced, switchboard } = await beginTerm();
  directory.answers = ["reaped"];
  await clock.turn(3000);
  assertEquals([fenced, term.isServing()], [["reaped"], false]);
  term.events.received("other", Buffer.alloc(1));
  term.events.gone("other");
  assertEquals(switchboard.told, []);
});

Deno.test("Term of a process that was frozen longer than its lease passes nothing on before it is fenced", async () => {
  const { term, clock, fenced, switchboard } = await beginTerm();
  clock.freeze(30_000);
  assertEquals(term.isServing(), false);
  term.events.received("other", Buffer.alloc(1));
  assertEquals([fenced, switchboard.told], [[], []]);
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
  term.stop();
});

Deno.test("Term beats at once when Redis is connected again", async () => {
  const { term, clock, directory, switchboard } = await beginTerm();
  await clock.turn(1000);
  term.events.connected(false);
  assertEquals([term.isReached, term.isServing()], [false, true]);
  term.events.connected(true);
  await clock.turn(1);
  assertEquals(directory.beats, [0, 1000]);
  assertEquals(switchboard.told, ["connected false", "connected true"]);
  term.stop();
});

Deno.test("Term has all members take their seats again after the data was lost, and evicts who lost theirs", async () => {
  const { term, clock, directory, switchboard, tally } = await beginTerm();
  switchboard.members = [seated("a", "own"), seated("b", "own")];
  directory.taken = ["b"];
  directory.answers = [{ emptied: true, seats: 0 }, {}];
  await clock.turn(3000);
  assertEquals(directory.asked, ["restore a", "restore b"]);
  assertEquals(switchboard.told, ["evict b"]);
  const { dataLost, seatsRestored, seatsLost } = tally;
  assertEquals([dataLost, seatsRestored, seatsLost], [1, 1, 1]);
  term.stop();
});

Deno.test("Term takes seats again that Redis has not, and releases those that nobody holds the second time it sees them", async () => {
  const { term, clock, directory, switchboard, tally } = await beginTerm();
  switchboard.members = [seated("here", "own", 4)];
  directory.seats = [seated("ghost", "own", 5), seated("other", "own", 6)];
  await clock.turn(3000);
  assertEquals(directory.asked, ["restore here"]);
  switchboard.members.push(seated("other", "own", 6)); // its join has ended
  await clock.turn(3000);
  assertEquals(directory.asked, ["restore here", "release ghost"]);
  await clock.turn(9000);
  assertEquals(directory.asked.length, 2);
  assertEquals([tally.seatsRestored, tally.seatsReleased], [1, 1]);
  term.stop();
});

Deno.test("Term ends the calls to a node that is gone, frees its seats and tells of its members", async () => {
  const { term, clock, directory, switchboard, tally } = await beginTerm();
  directory.dead.set("dead", [seated("a", "dead"), seated("b", "dead")]);
  term.events.gone("dead");
  assertEquals(switchboard.told, ["gone dead"]);
  await clock.turn(0);
  assertEquals(directory.asked, ["reap dead"]);
  assertEquals(switchboard.told, ["gone dead", "left a", "left b"]);
  assertEquals([tally.nodesGone, tally.seatsReaped], [1, 2]);
  term.stop();
});

Deno.test("Term reads the offices anew when a node is gone of which Redis has lost the data", async () => {
  const { term, clock, directory, switchboard } = await beginTerm();
  directory.answers = [{ emptied: true }, {}];
  await clock.turn(3000);
  term.events.gone("dead");
  await clock.turn(0);
  assertEquals(switchboard.told, ["gone dead", "reload"]);
  term.stop();
});

Deno.test("Term meets nodes that are new, and drops those whose lease has ended", async () => {
  const nodes = new Map([["b", aboutNode("b")]]);
  const { term, clock, directory, links, switchboard } = await beginTerm({
    nodes,
  });
  assertEquals(links.asked, ["meet b"]);
  directory.answers = [
    { nodes: new Map([...nodes, ["c", aboutNode("c")]]) },
    { nodes: new Map([["c", ""]]), gone: [seated("x", "b")] },
  ];
  await clock.turn(6000);
  assertEquals(links.asked, ["meet b", "meet c", "drop b"]);
  assertEquals(switchboard.told, ["gone b", "left x"]);
  term.stop();
});

Deno.test("Term tells of members that its first beat has freed when it has met the others", async () => {
  const met: number[] = [];
  const { term, switchboard, links } = await beginTerm(
    { nodes: new Map([["b", aboutNode("b")]]), gone: [seated("x", "dead")] },
    ({ links, switchboard }) => {
      switchboard.left = () => void met.push(links.peers.size);
    },
  );
  assertEquals([met, links.asked, switchboard.told], [[1], ["meet b"], []]);
  term.stop();
});

Deno.test("Term keeps a node that is missing for less than a lease, as after lost data", async () => {
  const nodes = new Map([["b", aboutNode("b")]]);
  const { term, clock, directory, links, switchboard } = await beginTerm({
    nodes,
  });
  directory.answers = [{}, {}, { nodes }, {}];
  await clock.turn(18_000);
  assertEquals(links.asked, ["meet b"]);
  await clock.turn(12_000);
  assertEquals(links.asked, ["meet b", "drop b"]);
  await clock.turn(3000);
  assertEquals(switchboard.told, ["gone b", "reload"]);
  term.stop();
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
  term.stop();
});

Deno.test("Term gives up its lease before it closes, and not where it is over", async () => {
  const { term, directory } = await beginTerm();
  await term.leave();
  assertEquals(directory.asked, ["leave"]);
  const other = await beginTerm();
  other.directory.answers = ["reaped"];
  await other.clock.turn(3000);
  await other.term.leave();
  assertEquals(other.directory.asked, []);
});
