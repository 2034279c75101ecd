import { assert, assertEquals } from "@std/assert";
import { seeded } from "../support/wire/hostile_payloads.ts";
import { LeanClient } from "./support/lean_client.ts";
import { type Memory, mib, pool, Victim } from "./support/victim.ts";

/** As many sessions as in thirty minutes of a busy server with five per second. */
const SESSIONS = 30 * 60 * 5;
const ROUNDS = 6;
const OFFICES = Array.from({ length: 20 }, (_, i) => `churn ${i}`);

const call = (agent: string, req_id: string) => ({
  agent,
  req_id,
  computer: "steady",
  tool_name: "echo",
  params: { text: "x".repeat(500) },
  timeout: 60,
});

Deno.test("30 minutes' worth of churn: memory stays flat, no member is left over, every ack is sent", async () => {
  await using victim = await Victim.start("--no-limits");
  const steady = await pool(OFFICES.length, 5, async (i) => {
    const client = await LeanClient.connect(victim.url);
    await client.join("computer", "steady", OFFICES[i] ?? "");
    return client;
  });
  const random = seeded(11);
  const rows: { sessions: number; seconds: string; memory: Memory }[] = [];
  let asked = 0;
  let answered = 0;
  const ask = async (client: LeanClient, event: string, payload: unknown) => {
    asked++;
    const answer = await client.ask(event, payload);
    if (answer !== undefined) answered++;
  };
  for (let round = 0; round < ROUNDS; round++) {
    const began = performance.now();
    await pool(SESSIONS / ROUNDS, 12, async (i) => {
      const office = OFFICES[Math.floor(random() * OFFICES.length)] ?? "";
      const name = `guest ${round} ${i}`;
      const client = await LeanClient.connect(victim.url);
      const asAgent = random() < 0.5;
      const joined = await client.join(
        asAgent ? "agent" : "computer",
        name,
        office,
      );
      if (joined && asAgent) {
        for (let n = 0; n < 5; n++) {
          await ask(client, "client:tool_call", call(name, `${n}`));
        }
        await ask(client, "server:list_room", {
          agent: name,
          req_id: "l",
          office_id: office,
        });
      } else if (joined) {
        await ask(client, "server:update_tool_list", { computer: name });
      }
      // Some leave politely, some close, some go in the middle of a call.
      const way = random();
      if (way < 0.3) {
        await ask(client, "server:leave_office", { office_id: office });
      } else if (way < 0.6) {
        void client.ask("client:tool_call", call(name, "last"));
      }
      await client.close();
    });
    rows.push({
      sessions: (round + 1) * SESSIONS / ROUNDS,
      seconds: ((performance.now() - began) / 1000).toFixed(1),
      memory: await victim.memory(),
    });
  }
  console.table(rows.map(({ sessions, seconds, memory }) => ({
    sessions,
    seconds,
    "heap, MiB": mib(memory.heap),
    "RSS, MiB": mib(memory.rss),
  })));
  assertEquals(answered, asked);
  await Promise.all(steady.map((client) => client.close()));
  await victim.empty();
  await victim.noGhosts(OFFICES);
  await victim.healthy();
  const [first, last] = [rows[1], rows.at(-1)];
  assert(first && last);
  const grown = last.memory.heap - first.memory.heap;
  assert(grown < 4 * 2 ** 20, `the heap grew by ${mib(grown)} MiB`);
});
