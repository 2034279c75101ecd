import { assert, assertEquals, assertMatch } from "@std/assert";
import { startCluster, timeoutOf, times } from "../support/cluster/cluster.ts";
import {
  askForSeat,
  callTool,
  comings,
  heard,
  joinAgent,
  joinComputer,
  roomOf,
} from "../support/cluster/members.ts";
import { until } from "../support/cluster/programs.ts";
import { openEvents, operate } from "../support/server/operator_client.ts";
import { connectRaw } from "../support/wire/raw_client.ts";

const TIMEOUT_MS = 120_000;
const RACES = times("SMCP_CLUSTER_RACES", { short: 20, long: 1000 });
const MOVES = times("SMCP_CLUSTER_MOVES", { short: 20, long: 500 });
const SIZES = [0, 100, 10_000, 100_000, 300_000, 1_000_000];

Deno.test({
  name:
    "calls pass between all nodes in both directions and sizes, and are heard by their office alone",
  timeout: TIMEOUT_MS,
}, async () => {
  await using cluster = await startCluster();
  await using stack = new AsyncDisposableStack();
  for (const [i, node] of cluster.nodes.entries()) {
    const agent = stack.use(await joinAgent(node.url, "planner", `o${i}`));
    for (const [j, other] of cluster.nodes.entries()) {
      const pc = stack.use(await joinComputer(other.url, `pc${j}`, `o${i}`));
      await heard(agent, `enter pc${j}`);
      for (const size of SIZES) {
        const answer = await callTool(agent, "planner", `pc${j}`, { size });
        assertEquals(answer.content?.[0]?.text.length, size);
      }
      assertEquals(pc.called.length, SIZES.length);
    }
    const computers = ["computer pc0", "computer pc1", "computer pc2"];
    assertEquals(
      await roomOf(agent, "planner", `o${i}`),
      ["agent planner", ...computers],
    );
    assertEquals(comings(agent), ["enter pc0", "enter pc1", "enter pc2"]);
    const far = await callTool(agent, "planner", "pc7");
    assertEquals(far.code, 404, "of no node");
  }
  await cluster.proved();
});

Deno.test({
  name: "members of different versions meet in one office, on different nodes",
  timeout: TIMEOUT_MS,
}, async () => {
  await using cluster = await startCluster({
    nodes: 2,
    flags: ["--protocol", "0.2,0.4"],
  });
  const a = cluster.node(0).url;
  const b = cluster.node(1).url;
  const young = { url: b, version: "0.4.0" };
  await using agent = await joinAgent(a, "planner", "o");
  await using one = await joinComputer(b, "old", "o");
  await using two = await joinComputer(young, "young", "o");
  await using far = await joinAgent(young, "far", "p");
  await using near = await joinComputer(a, "near", "p");
  await Promise.all([heard(agent, "enter young"), heard(far, "enter near")]);
  const answers = [
    await callTool(agent, "planner", "old"),
    await callTool(agent, "planner", "young"),
    await callTool(far, "far", "near"),
  ];
  assertEquals(
    [
      answers.map(({ code }) => code),
      [one, two, near].map(({ called }) => called.length),
    ],
    [[undefined, undefined, undefined], [1, 1, 1]],
  );
  assertEquals(
    await roomOf(agent, "planner", "o"),
    ["agent planner", "computer old", "computer young"],
  );
  assertEquals(
    await askForSeat(young, "agent", "second", "o"),
    { refusal: "Room already has an agent" },
  );
  await cluster.proved();
});

Deno.test({
  name:
    `12 Agents and 12 Computers of one name over three nodes: one winner each in ${RACES} races`,
  timeout: timeoutOf(RACES, 1000),
}, async () => {
  await using cluster = await startCluster();
  await using stack = new AsyncDisposableStack();
  const clients = await Promise.all(
    Array.from(
      { length: 24 },
      async (_, i) => stack.use(await connectRaw(cluster.node(i % 3).url)),
    ),
  );
  for (let race = 0; race < RACES; race++) {
    const office = `race ${race}`;
    const answers = await Promise.all(clients.map(async (client, i) => {
      const seat = i < 12 ? ["agent", `a${i}`] as const : ["computer", "pc"];
      const [role, name] = seat as ["agent" | "computer", string];
      const [ok, reason] = await client.join(role, name, office);
      return ok === true ? "won" : String(reason);
    }));
    for (
      const [half, refusal] of [
        [answers.slice(0, 12), "Room already has an agent"],
        [answers.slice(12), 'Computer "pc" already exists in the room'],
      ] as const
    ) {
      assertEquals(
        [...half].sort(),
        [...Array(11).fill(refusal), "won"].sort(),
      );
    }
    const winner = answers.indexOf("won");
    const agent = clients[winner];
    assert(agent);
    assertEquals(
      await roomOf(agent, `a${winner}`, office),
      [`agent a${winner}`, "computer pc"],
    );
    const winners = clients.filter((_, i) => answers[i] === "won");
    await Promise.all(
      winners.map((client) =>
        client.request("server:leave_office", { office_id: office })
      ),
    );
  }
  await cluster.proved();
});

Deno.test({
  name:
    `an instance takes its seat over on another node ${MOVES} times: leave, enter, and its old socket is closed`,
  timeout: timeoutOf(MOVES, 1000),
}, async () => {
  await using cluster = await startCluster();
  await using stack = new AsyncDisposableStack();
  const agent = stack.use(
    await joinAgent(cluster.node(0).url, "planner", "o"),
  );
  const watchers = [agent];
  for (const [i, { url }] of cluster.nodes.entries()) {
    const other = stack.use(await joinComputer(url, `other${i}`, "o"));
    watchers.push(other.client);
  }
  const auth = { instance_id: "instance-1", role: "computer" };
  const join = async (i: number) => {
    const { url } = cluster.node(i % 3);
    return stack.use(await joinComputer({ url, auth }, "pc", "o"));
  };
  let last = await join(0);
  for (let i = 1; i <= MOVES; i++) {
    const closed = last.client.disconnected();
    last = await join(i);
    await closed;
    await heard(agent, "enter pc", i + 1);
    const answer = await callTool(agent, "planner", "pc");
    assertEquals(answer.code, undefined, JSON.stringify(answer));
    assertEquals(last.called.length, 1, "the call reached the new one");
    const { url } = cluster.node((i + 1) % 3);
    assertEquals(
      await askForSeat(url, "computer", "pc", "o"),
      { refusal: 'Computer "pc" already exists in the room' },
    );
  }
  // One that leaves may come back elsewhere.
  await last.client.request("server:leave_office", { office_id: "o" });
  await join(1);
  const moves = Array(MOVES + 1).fill(["leave pc", "enter pc"]).flat();
  for (const watcher of watchers) {
    const hears = () => comings(watcher).filter((text) => / pc$/.test(text));
    await until(() => hears().length > moves.length);
    assertEquals(hears(), ["enter pc", ...moves]);
  }
  await cluster.proved();
});

Deno.test({
  name:
    "an operator of one node sees the members and calls of all; a node that is killed ends its stream, which goes on with missed events, and is not waited for",
  timeout: 120_000,
}, async () => {
  await using cluster = await startCluster();
  const a = cluster.node(0);
  const b = cluster.node(1);
  const c = cluster.node(2);
  await using agent = await joinAgent(a.url, "planner", "north");
  await using pc = await joinComputer(b.url, "pc", "north");
  await heard(agent, "enter pc");
  const [, token = ""] = await c.line(/#token=(\S+)/);
  await cluster.grown();
  await using events = await openEvents(c.url, { token });
  const { id } = await events.nextOf("open");
  // An answer of the others says that they take part in the stream, too.
  const status = (await operate(c.url, "/status", { token })).body;
  assertEquals([status.offices, status.members], [1, 2]);
  callTool(agent, "planner", "pc", { hold: true }).catch(() => {});
  await events.nextOf("call_began");
  await a.kill();
  const end = await events.nextOf("end");
  assertMatch(String(end.data.reason), /were missed/);
  await using again = await openEvents(c.url, { token, lastEventId: id });
  assert((await again.nextOf("open")).data.missed);
  const { body } = await operate(c.url, "/offices", { token });
  assertEquals(body.unanswered, undefined);
  assertEquals(body.offices, [], "its home has ended");
  assertEquals(pc.called.length, 1);
  await cluster.proved();
});
