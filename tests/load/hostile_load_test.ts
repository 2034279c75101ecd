import { assert, assertEquals } from "@std/assert";
import { seeded } from "../support/wire/hostile_payloads.ts";
import { SlowClient } from "../support/wire/slow_client.ts";
import { LeanClient } from "./support/lean_client.ts";
import { mib, pool, Victim } from "./support/victim.ts";

const call = (agent: string, req_id: string, params: unknown = {}) => ({
  agent,
  req_id,
  computer: "computer",
  tool_name: "echo",
  params,
  timeout: 60,
});

/** Two members of an office who must not be affected. */
async function bystanders(url: string) {
  const agent = await LeanClient.connect(url);
  const computer = await LeanClient.connect(url);
  assert(await agent.join("agent", "by", "bystanders"));
  assert(await computer.join("computer", "computer", "bystanders"));
  await agent.barrier();
  agent.heard = computer.heard = 0;
  return {
    async unharmed() {
      const answer = await agent.ask("client:tool_call", call("by", "1"));
      assertEquals(answer, '[{"content":[]}]');
      assertEquals([agent.heard, computer.heard], [0, 0]);
      await Promise.all([agent.close(), computer.close()]);
    },
  };
}

Deno.test("5,000 connects and disconnects, at every stage of a handshake", async () => {
  await using victim = await Victim.start(
    "--no-limits",
    "--handshake-timeout=2",
  );
  const others = await bystanders(victim.url);
  const before = await victim.memory();
  const random = seeded(3);
  const { host } = new URL(victim.url);
  await pool(5000, 40, async (i) => {
    const stage = random();
    if (stage < 0.2) { // TCP alone
      const socket = await Deno.connect({
        hostname: "127.0.0.1",
        port: Number(new URL(victim.url).port),
      });
      if (stage < 0.1) {
        await socket.write(new TextEncoder().encode("GET /smcp/?EIO=4"));
      }
      socket.close();
    } else if (stage < 0.4) { // Engine.IO alone
      const socket = new WebSocket(
        `ws://${host}/smcp/?EIO=4&transport=websocket&a2c_version=0.2.0`,
      );
      await new Promise((resolve) => socket.onclose = socket.onopen = resolve);
      const closed = new Promise((resolve) => socket.onclose = resolve);
      socket.close();
      await closed;
    } else if (stage < 0.5) { // a polling session that is never used again
      const response = await fetch(
        `${victim.url}/smcp/?EIO=4&transport=polling&a2c_version=0.2.0`,
      );
      await response.text();
    } else {
      const client = await LeanClient.connect(victim.url);
      if (stage > 0.7) void client.join("computer", `c${i}`, "stages");
      await client.close();
    }
  });
  await others.unharmed();
  await victim.empty();
  await victim.noGhosts(["stages", "bystanders"]);
  const after = await victim.memory();
  console.log(`heap before ${mib(before.heap)}, after ${mib(after.heap)} MiB`);
  assert(after.heap < before.heap + 8 * 2 ** 20);
  await victim.healthy();
});

Deno.test("2,000 joins racing with disconnects and with each other leave no ghost members members", async () => {
  await using victim = await Victim.start("--no-limits");
  const others = await bystanders(victim.url);
  const offices = Array.from({ length: 5 }, (_, i) => `race ${i}`);
  const random = seeded(5);
  await pool(2000, 30, async (i) => {
    const client = await LeanClient.connect(victim.url);
    const role = random() < 0.5 ? "agent" : "computer";
    const first = client.join(role, `n${i % 7}`, offices[i % 5] ?? "");
    const second = client.join(role, `n${i % 7}`, offices[(i + 1) % 5] ?? "");
    if (random() < 0.5) await Promise.race([first, second]);
    await client.close();
  });
  await others.unharmed();
  await victim.empty();
  await victim.noGhosts(offices);
  await victim.healthy();
});

Deno.test("300 agents that vanish during 20 calls each leave nothing in memory", async () => {
  await using victim = await Victim.start("--no-limits");
  const others = await bystanders(victim.url);
  const computer = await LeanClient.connect(victim.url);
  await computer.join("computer", "computer", "vanish");
  const before = await victim.memory();
  for (let i = 0; i < 300; i++) {
    const agent = await LeanClient.connect(victim.url);
    assert(
      await agent.join("agent", `a${i}`, "vanish"),
      `agent ${i} gets the seat`,
    );
    for (let n = 0; n < 20; n++) {
      void agent.ask("client:tool_call", call(`a${i}`, `${n}`));
    }
    await (i % 2 === 0
      ? agent.close()
      : agent.barrier().then(() => agent.close()));
    // The seat is free as soon as the server heard of it.
    await computer.barrier();
    while ((await victim.counts()).members > 3);
  }
  await computer.close();
  await others.unharmed();
  await victim.empty();
  const after = await victim.memory();
  console.log(`heap before ${mib(before.heap)}, after ${mib(after.heap)} MiB`);
  assert(after.heap < before.heap + 4 * 2 ** 20);
  await victim.healthy();
});

Deno.test("50 readers that do not read are disconnected, and memory is bounded meanwhile", async () => {
  await using victim = await Victim.start(
    "--max-queued-bytes=1048576",
    "--max-events-per-second=100000",
  );
  const others = await bystanders(victim.url);
  const before = await victim.memory();
  const params = { text: "x".repeat(2 ** 18) };
  const peak = { rss: 0, heap: 0 };
  await pool(50, 2, async (i) => {
    const office = `slow ${i}`;
    const slow = await SlowClient.open(victim.url);
    await slow.join("computer", "computer", office);
    slow.pause();
    const agent = await LeanClient.connect(victim.url);
    assert(await agent.join("agent", "agent", office));
    const answers = await Promise.all(
      Array.from(
        { length: 60 },
        (_, n) => agent.ask("client:tool_call", call("agent", `${n}`, params)),
      ),
    );
    for (const answer of answers) {
      assert(answer?.includes('"code":404'), `${answer}`);
    }
    peak.rss = Math.max(
      peak.rss,
      await victim.sample("process_resident_memory_bytes"),
    );
    await agent.close();
    slow.resume();
    await slow.closed;
  });
  assertEquals(
    await victim.sample('smcp_limits_hit_total{limit="queued_bytes"}'),
    50,
  );
  await others.unharmed();
  await victim.empty();
  const after = await victim.memory();
  console.log(
    `RSS before ${mib(before.rss)}, at worst ${mib(peak.rss)} MiB; heap after ${
      mib(after.heap)
    } MiB`,
  );
  assert(peak.rss < before.rss + 300 * 2 ** 20);
  assert(after.heap < before.heap + 4 * 2 ** 20);
  await victim.healthy();
});

Deno.test("500 half-open sockets are closed after a heartbeat, and their offices are notified", async () => {
  await using victim = await Victim.start(
    "--no-limits",
    "--ping-interval=1",
    "--ping-timeout=1",
  );
  const agent = await LeanClient.connect(victim.url);
  assert(await agent.join("agent", "agent", "half"));
  const gone = Promise.withResolvers<void>();
  const HALF = 500;
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
  assertEquals((await victim.counts()).members, 1);
  await Promise.all(silent.map((client) => client[Symbol.asyncDispose]()));
  await agent.close();
  await victim.empty();
  await victim.noGhosts(["half"]);
  await victim.healthy();
});

Deno.test("floods of events: each requested ack is sent, most of them 429; other clients are not slowed down", async () => {
  await using victim = await Victim.start("--max-events-per-second=100");
  const others = await bystanders(victim.url);
  const FLOODERS = 20;
  const EACH = 3000;
  const counts = { ok: 0, limited: 0, other: 0 };
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
      if (answer?.includes('"code":429')) counts.limited++;
      else if (answer !== undefined) counts.ok++;
      else counts.other++;
    }
    await client.close();
  });
  console.table({ ...counts });
  assertEquals(counts.ok + counts.limited, FLOODERS * EACH);
  assertEquals(counts.other, 0);
  assert(counts.limited > counts.ok);
  const hits = await victim.sample(
    'smcp_limits_hit_total{limit="events_per_second"}',
  );
  assert(hits >= counts.limited, `${hits} hits`);
  await others.unharmed();
  await victim.empty();
  await victim.noGhosts(["flood"]);
  await victim.healthy();
});

Deno.test("300 oversized and malformed frames close only their senders", async () => {
  await using victim = await Victim.start(
    "--no-limits",
    "--max-message-bytes=65536",
  );
  const others = await bystanders(victim.url);
  const before = await victim.memory();
  const frames = [
    `42/smcp,1["client:tool_call","${"x".repeat(70_000)}"]`,
    `42/smcp,1["x",${"[".repeat(5000)}${"]".repeat(5000)}]`,
    `42/smcp,1["x"${",0".repeat(5000)}]`,
    "4",
    "9",
    "42/smcp,{",
    `45199-/smcp,["x"]`,
  ];
  await pool(300, 20, async (i) => {
    const client = await LeanClient.connect(victim.url);
    await client.join("computer", `c${i}`, "malformed");
    client.send(frames[i % frames.length] ?? "");
    // Connections are either closed or still work.
    await client.barrier();
    await client.close();
  });
  await others.unharmed();
  await victim.empty();
  await victim.noGhosts(["malformed"]);
  const after = await victim.memory();
  assert(after.heap < before.heap + 4 * 2 ** 20);
  await victim.healthy();
});

Deno.test("1,000 connects over the limit are refused, and the slots are released", async () => {
  await using victim = await Victim.start();
  let refused = 0;
  const clients = await pool(1000, 50, async () => {
    const client = await LeanClient.open(victim.url);
    if (client === undefined) refused++;
    return client;
  });
  assertEquals(refused, 900);
  await Promise.all(clients.map((client) => client?.close()));
  await victim.empty();
  const again = await pool(100, 20, () => LeanClient.connect(victim.url));
  await Promise.all(again.map((client) => client.close()));
  await victim.empty();
  await victim.healthy();
});
