import { assert, assertEquals } from "@std/assert";
import { seeded } from "../support/wire/hostile_payloads.ts";
import { SlowClient } from "../support/wire/slow_client.ts";
import { LeanClient } from "./lean_client.ts";
import { type Memory, MIB, pool, Victim } from "./victim.ts";

const call = (agent: string, req_id: string, params: unknown = {}) => ({
  agent,
  req_id,
  computer: "computer",
  tool_name: "echo",
  params,
  timeout: 60,
});

/**
 * Loads a Server, of which nothing is left afterwards: no member, no ghost in these offices, no heap over
 * the bound and no line of log; two members of another office are not affected meanwhile.
 */
async function endure(
  flags: readonly string[],
  { offices = [], heapMiB = Infinity }: {
    offices?: readonly string[];
    heapMiB?: number;
  },
  load: (victim: Victim, before: Memory) => Promise<void>,
): Promise<void> {
  await using victim = await Victim.start(...flags);
  const agent = await LeanClient.connect(victim.url);
  const computer = await LeanClient.connect(victim.url);
  assert(await agent.join("agent", "by", "bystanders"));
  assert(await computer.join("computer", "computer", "bystanders"));
  await agent.barrier();
  agent.heard = computer.heard = 0;
  const before = await victim.memory();
  await load(victim, before);
  const answer = await agent.ask("client:tool_call", call("by", "1"));
  assertEquals(answer, '[{"content":[]}]');
  assertEquals([agent.heard, computer.heard], [0, 0]);
  await Promise.all([agent.close(), computer.close()]);
  await victim.empty();
  await victim.noGhosts([...offices, "bystanders"]);
  const grown = (await victim.memory()).heap - before.heap;
  assert(grown < heapMiB * MIB, `the heap grew by ${grown / MIB} MiB`);
  await victim.healthy();
}

Deno.test("5,000 connects and disconnects, at every stage of a handshake", async () => {
  const flags = ["--no-limits", "--handshake-timeout=2"];
  const random = seeded(3);
  await endure(flags, { offices: ["stages"], heapMiB: 8 }, async ({ url }) => {
    const { host, port } = new URL(url);
    const query = "EIO=4&a2c_version=0.2.0&transport=";
    await pool(5000, 40, async (i) => {
      const stage = random();
      if (stage < 0.2) { // TCP alone
        const to = { hostname: "127.0.0.1", port: Number(port) };
        const socket = await Deno.connect(to);
        if (stage < 0.1) {
          await socket.write(new TextEncoder().encode("GET /smcp/?EIO=4"));
        }
        socket.close();
      } else if (stage < 0.4) { // Engine.IO alone
        const socket = new WebSocket(`ws://${host}/smcp/?${query}websocket`);
        await new Promise((done) => socket.onclose = socket.onopen = done);
        const closed = new Promise((resolve) => socket.onclose = resolve);
        socket.close();
        await closed;
      } else if (stage < 0.5) { // a polling session that is never used again
        await (await fetch(`${url}/smcp/?${query}polling`)).text();
      } else {
        const client = await LeanClient.connect(url);
        if (stage > 0.7) void client.join("computer", `c${i}`, "stages");
        await client.close();
      }
    });
  });
});

Deno.test("2,000 joins racing with disconnects and with each other leave no ghost members members", async () => {
  const offices = Array.from({ length: 5 }, (_, i) => `race ${i}`);
  const random = seeded(5);
  await endure(
    ["--no-limits"],
    { offices },
    ({ url }) =>
      pool(2000, 30, async (i) => {
        const client = await LeanClient.connect(url);
        const role = random() < 0.5 ? "agent" : "computer";
        const first = client.join(role, `n${i % 7}`, offices[i % 5] ?? "");
        const second = client.join(
          role,
          `n${i % 7}`,
          offices[(i + 1) % 5] ?? "",
        );
        if (random() < 0.5) await Promise.race([first, second]);
        await client.close();
      }).then(() => {}),
  );
});

Deno.test("50 readers that do not read are disconnected, and memory is bounded meanwhile", async () => {
  const flags = [
    "--max-queued-bytes=1048576",
    "--max-events-per-second=100000",
  ];
  await endure(flags, { heapMiB: 4 }, async (victim, before) => {
    const params = { text: "x".repeat(2 ** 18) };
    let peak = 0;
    await pool(50, 2, async (i) => {
      const office = `slow ${i}`;
      const slow = await SlowClient.open(victim.url);
      await slow.join("computer", "computer", office);
      slow.pause();
      const agent = await LeanClient.connect(victim.url);
      assert(await agent.join("agent", "agent", office));
      const asked = Array.from(
        { length: 60 },
        (_, n) => agent.ask("client:tool_call", call("agent", `${n}`, params)),
      );
      for (const answer of await Promise.all(asked)) {
        assert(answer?.includes('"code":404'), `${answer}`);
      }
      const rss = await victim.sample("process_resident_memory_bytes");
      peak = Math.max(peak, rss);
      await agent.close();
      slow.resume();
      await slow.closed;
    });
    const cut = 'smcp_limits_hit_total{limit="queued_bytes"}';
    assertEquals(await victim.sample(cut), 50);
    assert(peak < before.rss + 300 * MIB, `${peak / MIB} MiB at worst`);
  });
});

Deno.test("500 half-open sockets are closed after a heartbeat, and their offices are notified", async () => {
  const HALF = 500;
  const flags = ["--no-limits", "--ping-interval=1", "--ping-timeout=1"];
  await endure(flags, { offices: ["half"] }, async (victim) => {
    const agent = await LeanClient.connect(victim.url);
    assert(await agent.join("agent", "agent", "half"));
    const gone = Promise.withResolvers<void>();
    agent.onNotification = () => {
      if (agent.heard === 2 * HALF) gone.resolve(); // each came, and went
    };
    const silent = await pool(HALF, 20, async (i) => {
      const client = await SlowClient.open(victim.url);
      await client.join("computer", `c${i}`, "half");
      client.pause();
      return client;
    });
    await gone.promise;
    assertEquals((await victim.counts()).members, 3);
    await Promise.all(silent.map((client) => client[Symbol.asyncDispose]()));
    await agent.close();
  });
});

Deno.test("floods of events: each requested ack is sent, most of them 429; other clients are not slowed down", async () => {
  const FLOODERS = 20;
  const EACH = 3000;
  const flags = ["--max-events-per-second=100"];
  await endure(flags, { offices: ["flood"] }, async (victim) => {
    let ok = 0;
    let limited = 0;
    await pool(FLOODERS, FLOODERS, async (i) => {
      const client = await LeanClient.connect(victim.url);
      await client.join("computer", `c${i}`, "flood");
      const asked = Array.from({ length: EACH }, (_, n) => {
        client.send(`42/smcp,${JSON.stringify(["server:update_desktop", {}])}`);
        return client.ask(
          n % 2 ? "server:update_desktop" : "client:nonsense",
          { computer: `c${i}` },
        );
      });
      for (const answer of await Promise.all(asked)) {
        if (answer?.includes('"code":429')) limited++;
        else if (answer !== undefined) ok++;
      }
      await client.close();
    });
    assertEquals(ok + limited, FLOODERS * EACH);
    assert(limited > ok, `${limited} limited, ${ok} not`);
    const hits = 'smcp_limits_hit_total{limit="events_per_second"}';
    assert(await victim.sample(hits) >= limited);
  });
});

Deno.test("1,000 connects over the limit are refused, and the slots are released", async () => {
  await using victim = await Victim.start();
  const clients = await pool(1000, 50, () => LeanClient.open(victim.url));
  assertEquals(clients.filter((client) => client === undefined).length, 900);
  await Promise.all(clients.map((client) => client?.close()));
  await victim.empty();
  const again = await pool(100, 20, () => LeanClient.connect(victim.url));
  await Promise.all(again.map((client) => client.close()));
  await victim.empty();
  await victim.healthy();
});

Deno.test("10,000 idle members in 1,000 offices on one process: memory of a connection, broadcasts to all", async () => {
  const OFFICES = 1000;
  const MEMBERS = 10_000;
  await using victim = await Victim.start("--no-limits");
  const before = await victim.memory();
  const clients = await pool(MEMBERS, 40, async (i) => {
    const client = await LeanClient.connect(victim.url);
    const role = i < OFFICES ? "agent" : "computer";
    assert(await client.join(role, `m${i}`, `office ${i % OFFICES}`), `${i}`);
    return client;
  });
  assertEquals(
    await victim.counts(),
    { connections: MEMBERS, offices: OFFICES, members: MEMBERS },
  );
  const kib = ((await victim.memory()).rss - before.rss) / MEMBERS / 1024;
  assert(kib < 150, `${kib} KiB of a connection`);
  let heard = 0;
  const all = Promise.withResolvers<void>();
  for (const client of clients) {
    client.onNotification = () => {
      if (++heard === MEMBERS) all.resolve();
    };
  }
  for (const [i, agent] of clients.slice(0, OFFICES).entries()) {
    const cancel = ["server:tool_call_cancel", { agent: `m${i}`, req_id: "1" }];
    agent.send(`42/smcp,${JSON.stringify(cancel)}`);
  }
  await all.promise;
  await Promise.all(clients.map((client) => client.close()));
  await victim.empty();
  const { heap } = await victim.memory();
  assert(heap < before.heap + 20 * MIB, "the heap is back");
  await victim.healthy();
});

Deno.test("30 minutes' worth of churn: memory stays flat, no member is left over, every ack is sent", async () => {
  // As many sessions as in thirty minutes of a busy server with five per second.
  const SESSIONS = 30 * 60 * 5;
  const ROUNDS = 6;
  const offices = Array.from({ length: 20 }, (_, i) => `churn ${i}`);
  const random = seeded(11);
  await using victim = await Victim.start("--no-limits");
  const steady = await pool(offices.length, 5, async (i) => {
    const client = await LeanClient.connect(victim.url);
    await client.join("computer", "computer", offices[i] ?? "");
    return client;
  });
  let asked = 0;
  let answered = 0;
  const ask = async (client: LeanClient, event: string, payload: unknown) => {
    asked++;
    if (await client.ask(event, payload) !== undefined) answered++;
  };
  const heaps: number[] = [];
  const params = { text: "x".repeat(500) };
  for (let round = 0; round < ROUNDS; round++) {
    await pool(SESSIONS / ROUNDS, 12, async (i) => {
      const office_id = offices[Math.floor(random() * offices.length)] ?? "";
      const name = `guest ${round} ${i}`;
      const client = await LeanClient.connect(victim.url);
      const role = random() < 0.5 ? "agent" : "computer";
      const joined = await client.join(role, name, office_id);
      if (joined && role === "agent") {
        for (let n = 0; n < 5; n++) {
          await ask(client, "client:tool_call", call(name, `${n}`, params));
        }
        const list = { agent: name, req_id: "l", office_id };
        await ask(client, "server:list_room", list);
      } else if (joined) {
        await ask(client, "server:update_tool_list", { computer: name });
      }
      // Some leave politely, some close, some go in the middle of a call.
      const way = random();
      if (way < 0.3) await ask(client, "server:leave_office", { office_id });
      else if (way < 0.6) {
        void client.ask("client:tool_call", call(name, "last", params));
      }
      await client.close();
    });
    heaps.push((await victim.memory()).heap);
  }
  assertEquals(answered, asked);
  await Promise.all(steady.map((client) => client.close()));
  await victim.empty();
  await victim.noGhosts(offices);
  await victim.healthy();
  const grown = (heaps.at(-1) ?? NaN) - (heaps[1] ?? NaN);
  assert(grown < 4 * MIB, `the heap grew by ${grown / MIB} MiB`);
});
