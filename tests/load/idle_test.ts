import { assert, assertEquals } from "@std/assert";
import { LeanClient } from "./support/lean_client.ts";
import { mib, pool, Victim } from "./support/victim.ts";

const OFFICES = 1000;
const PER_OFFICE = 10;
const MEMBERS = OFFICES * PER_OFFICE;

const cancel = { agent: "agent", req_id: "1" };

Deno.test("10,000 idle members in 1,000 offices on one process: memory of a connection, time of a broadcast", async () => {
  await using victim = await Victim.start("--no-limits");
  const before = await victim.memory();
  const began = performance.now();
  const clients = await pool(MEMBERS, 40, async (i) => {
    const client = await LeanClient.connect(victim.url);
    const office = `office ${i % OFFICES}`;
    const first = i < OFFICES;
    assert(
      await client.join(first ? "agent" : "computer", `m${i}`, office),
      `member ${i}`,
    );
    return client;
  });
  const joined = performance.now() - began;
  assertEquals(await victim.counts(), {
    connections: MEMBERS,
    offices: OFFICES,
    members: MEMBERS,
  });
  const idle = await victim.memory();

  const agents = clients.slice(0, OFFICES);
  const one = await timeOf(clients, PER_OFFICE, () => shout(agents, 1));
  const all = await timeOf(clients, MEMBERS, () => shout(agents, OFFICES));

  const leaving = performance.now();
  await Promise.all(clients.map((client) => client.close()));
  await victim.empty();
  const left = performance.now() - leaving;
  const after = await victim.memory();
  console.table({
    "joining, s": (joined / 1000).toFixed(1),
    "leaving, s": (left / 1000).toFixed(1),
    "RSS before / idle / after, MiB": [before, idle, after]
      .map(({ rss }) => mib(rss)).join(" / "),
    "heap before / idle / after, MiB": [before, idle, after]
      .map(({ heap }) => mib(heap)).join(" / "),
    "RSS of a connection, KiB": ((idle.rss - before.rss) / MEMBERS / 1024)
      .toFixed(1),
    "broadcast to 10 members, ms": one.toFixed(1),
    "1,000 broadcasts, 10,000 deliveries, ms": all.toFixed(0),
  });
  await victim.healthy();
  const kib = (idle.rss - before.rss) / MEMBERS / 1024;
  assert(kib < 150, `${kib} KiB of a connection`);
  assert(after.heap < before.heap + 20 * 2 ** 20, "the heap is back");
});

/** Makes the agents of the first `count` offices send a notification. */
function shout(agents: readonly LeanClient[], count: number): void {
  for (const [i, agent] of agents.slice(0, count).entries()) {
    const payload = { ...cancel, agent: `m${i}` };
    agent.send(
      `42/smcp,${JSON.stringify(["server:tool_call_cancel", payload])}`,
    );
  }
}

/** Returns the milliseconds until a number of notifications were received. */
async function timeOf(
  clients: readonly LeanClient[],
  deliveries: number,
  act: () => void,
): Promise<number> {
  let heard = 0;
  const done = Promise.withResolvers<void>();
  for (const client of clients) {
    client.onNotification = () => {
      if (++heard === deliveries) done.resolve();
    };
  }
  const began = performance.now();
  act();
  await done.promise;
  return performance.now() - began;
}
