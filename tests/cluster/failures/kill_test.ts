import { assert, assertEquals } from "@std/assert";
import {
  startCluster,
  type TestCluster,
} from "../../support/cluster/rig/cluster.ts";
import { IS_LONG, timeoutOf, times } from "../../support/cluster/rig/long.ts";
import {
  type Answer,
  askForSeat,
  callTool,
  comings,
  heard,
  joinAgent,
  joinComputer,
  roomOf,
} from "../../support/cluster/rig/members.ts";
import { until } from "../../support/cluster/programs.ts";
import { seeded } from "../../support/wire/hostile_payloads.ts";

const KILLS = times("SMCP_CLUSTER_KILLS", { short: 5, long: 50 });

/** The bound for answers and notices after a process has ended; like the next one for the long form alone. */
const ANSWERED_WITHIN_MS = 1500;

/** The lease of the nodes, and how much longer a join may wait for an office whose home was killed. */
const JOINED_WITHIN_MS = 6000 + 2000;

Deno.test({
  name:
    `kill -9 of a node ${KILLS} times in a row with calls running: each is answered at once, leave notices come once`,
  timeout: timeoutOf(KILLS, 25_000),
}, async () => {
  await using cluster = await startCluster();
  const random = seeded(7);
  const kills: Killed[] = [];
  for (let kill = 1; kill <= KILLS; kill++) {
    kills.push(await killOne(cluster, kill, random));
  }
  const slowest = (of: (killed: Killed) => number) =>
    kills.map(of).toSorted((a, b) => b - a).slice(0, 5).map((ms) =>
      ms.toFixed(0)
    ).join(", ");
  console.log(`of ${KILLS} kills, in ms after them, the slowest
  answers and notices: ${slowest(({ answeredMs }) => answeredMs)}
  joins to offices whose home was killed: ${
    slowest(({ joinedMs }) => joinedMs)
  }`);
  await cluster.proved();
});

/** What came so many milliseconds after a kill. */
interface Killed {
  /** The last answer and notice. */
  readonly answeredMs: number;
  /** The seats in an office whose home was killed. */
  readonly joinedMs: number;
}

async function killOne(
  cluster: TestCluster,
  kill: number,
  random: () => number,
): Promise<Killed> {
  const office = `kill ${kill}`;
  await cluster.grown();
  const living = cluster.nodes.filter(({ isRunning }) => isRunning);
  const victim = living[Math.floor(random() * living.length)];
  const [home, third] = living.filter((node) => node !== victim);
  assert(victim && home && third);
  await using stack = new AsyncDisposableStack();
  const agent = stack.use(await joinAgent(home.url, "planner", office));
  const join = async (url: string, name: string) =>
    stack.use(await joinComputer(url, name, office));
  const dying = [await join(victim.url, "v1"), await join(victim.url, "v2")];
  const safe = await join(third.url, "safe");
  const own = await join(home.url, "own");

  for (const name of ["v1", "v2", "safe", "own"]) {
    await heard(agent, `enter ${name}`);
  }
  const answers: Promise<Answer>[] = [];
  for (const computer of ["v1", "v2"]) {
    for (let i = 0; i < 5; i++) {
      answers.push(callTool(agent, "planner", computer, { hold: true }));
    }
  }
  const kept = [
    callTool(agent, "planner", "safe", { hold: true }),
    callTool(agent, "planner", "own", { hold: true }),
  ];
  await Promise.all([
    ...dying.map((pc) => pc.arrived(5)),
    safe.arrived(1),
    own.arrived(1),
  ]);
  // The home of this office is killed: its members come back elsewhere, to another home.
  const moved = `${office}, of the victim`;
  stack.use(await joinAgent(victim.url, "first", moved));
  const carried = stack.use(await joinComputer(home.url, "carried", moved));

  await victim.kill();
  const began = performance.now();
  const closed = carried.client.disconnected().then(() =>
    performance.now() - began
  );
  const ended = await Promise.all(answers);
  const leaves = () =>
    [agent, safe.client, own.client].map((client) =>
      comings(client).filter((text) => text.startsWith("leave")).sort().join()
    );
  await until(() =>
    Promise.resolve(leaves().every((text) => text === "leave v1,leave v2"))
  );
  const answeredMs = performance.now() - began;
  assert(
    !IS_LONG || answeredMs <= ANSWERED_WITHIN_MS,
    `took ${answeredMs.toFixed(0)} ms`,
  );
  for (const { code } of ended) assertEquals(code, 404);
  assertEquals(await roomOf(agent, "planner", office), [
    "agent planner",
    "computer own",
    "computer safe",
  ]);

  // Nobody else's call noticed anything, and names are free again at once.
  safe.release();
  own.release();
  assertEquals((await Promise.all(kept)).map(({ code }) => code), [
    undefined,
    undefined,
  ]);
  const again = await join(third.url, "v1");
  await heard(agent, "enter v1", 2);
  assertEquals((await callTool(agent, "planner", "v1")).code, undefined);
  assertEquals(again.called.length, 1);
  // One Agent gets the seat at the new home, when the lease of the old one has ended.
  const closedMs = await closed;
  assert(
    !IS_LONG || closedMs <= ANSWERED_WITHIN_MS,
    "members elsewhere come back",
  );
  const asked = await Promise.all(
    [home, third].map(({ url }, i) =>
      askForSeat(url, "agent", `next ${i}`, moved)
    ),
  );
  stack.use(await joinComputer(third.url, "carried", moved));
  const joinedMs = performance.now() - began;
  for (const one of asked) if ("client" in one) stack.use(one.client);
  const refusals = asked.filter((one) => "refusal" in one);
  assertEquals(refusals, [{ refusal: "Room already has an agent" }]);
  assert(
    !IS_LONG || joinedMs <= JOINED_WITHIN_MS,
    `joined after ${joinedMs.toFixed(0)} ms`,
  );
  await cluster.add();
  assertEquals(leaves()[0], "leave v1,leave v2", "exactly once");
  return { answeredMs, joinedMs };
}
