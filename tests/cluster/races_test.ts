import { assertEquals } from "@std/assert";
import { startCluster } from "../support/cluster/rig/cluster.ts";
import { timeoutOf, times } from "../support/cluster/rig/long.ts";
import {
  callTool,
  comings,
  heard,
  joinAgent,
  joinComputer,
  roomOf,
} from "../support/cluster/rig/members.ts";
import { until } from "../support/cluster/programs.ts";
import { connectRaw, type RawClient } from "../support/wire/raw_client.ts";

const RACES = times("SMCP_CLUSTER_RACES", { short: 20, long: 1000 });
const MOVES = times("SMCP_CLUSTER_MOVES", { short: 20, long: 500 });

Deno.test({
  name:
    `12 Agents and 12 Computers of one name over three nodes: one winner each in ${RACES} races`,
  timeout: timeoutOf(RACES, 1000),
}, async () => {
  await using cluster = await startCluster();
  await using stack = new AsyncDisposableStack();
  const clients: RawClient[] = [];
  for (let i = 0; i < 24; i++) {
    const { url } = cluster.node(i % 3);
    clients.push(stack.use(await connectRaw(url)));
  }
  const agents = clients.slice(0, 12);
  const computers = clients.slice(12);
  for (let race = 0; race < RACES; race++) {
    const office = `race ${race}`;
    const answers = await Promise.all([
      ...agents.map((client, i) => client.join("agent", `a${i}`, office)),
      ...computers.map((client) => client.join("computer", "pc", office)),
    ]);
    const won = answers.map(([ok]) => ok === true);
    const refusals = answers.filter(([ok]) => ok !== true).map(([, why]) =>
      why
    );
    assertEquals(won.slice(0, 12).filter(Boolean).length, 1, "Agents");
    assertEquals(won.slice(12).filter(Boolean).length, 1, "Computers");
    assertEquals(
      Object.keys(Object.groupBy(refusals, (why) => String(why))).sort(),
      [
        'Computer "pc" already exists in the room',
        "Room already has an agent",
      ],
    );
    const winner = won.indexOf(true);
    const agent = clients[winner];
    if (agent === undefined) throw new Error("no winner");
    assertEquals(await roomOf(agent, `a${winner}`, office), [
      `agent a${winner}`,
      "computer pc",
    ]);
    await Promise.all(
      clients.filter((_, i) => won[i]).map((client) =>
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
  const office = "o";
  await using agent = await joinAgent(cluster.node(0).url, "planner", office);
  const others = await Promise.all(
    cluster.nodes.map(({ url }, i) => joinComputer(url, `other${i}`, office)),
  );
  await using stack = new AsyncDisposableStack();
  others.forEach((other) => stack.use(other));
  const auth = { instance_id: "instance-1", role: "computer" };
  let last = stack.use(
    await joinComputer(cluster.node(1).url, "pc", office, { auth }),
  );
  const hears = (client: RawClient) =>
    comings(client).filter((text) => text.endsWith(" pc"));
  const watchers = [agent, ...others.map(({ client }) => client)];
  for (let i = 0; i < MOVES; i++) {
    const old = last;
    const closed = old.client.disconnected();
    last = stack.use(
      await joinComputer(cluster.node(i % 3).url, "pc", office, { auth }),
    );
    await closed;
    await heard(agent, "enter pc", i + 2);
    const answer = await callTool(agent, "planner", "pc");
    assertEquals(answer.code, undefined, JSON.stringify(answer));
    assertEquals(last.called.length, 1, "the call reached the new one");
    const stranger = await connectRaw(cluster.node((i + 1) % 3).url);
    assertEquals(await stranger.join("computer", "pc", office), [
      false,
      'Computer "pc" already exists in the room',
    ]);
    await stranger[Symbol.asyncDispose]();
  }
  const moves = Array.from({ length: MOVES }, () => ["leave pc", "enter pc"]);
  for (const watcher of watchers) {
    await until(() => Promise.resolve(hears(watcher).length === 2 * MOVES + 1));
    assertEquals(hears(watcher), ["enter pc", ...moves.flat()]);
  }
  await cluster.proved();
});
