import { assert, assertEquals, assertMatch } from "@std/assert";
import { startBoundedServer } from "../../../support/server/bounded_server.ts";
import { joinRaw } from "../../../support/wire/raw_client.ts";
import { RawFrames } from "../../../support/wire/raw_frames.ts";
import { TOOL_CALL_EVENT } from "../../../../protocol/mod.ts";

const MEBIBYTE = 2 ** 20;
const SEPARATOR = "\x1e";

/** Requires a key, so that other clients have no session. */
const WITH_KEYS = {
  env: { SMCP_API_KEYS: JSON.stringify([{ id: "us", key: "k".repeat(32) }]) },
  auth: { api_key: "k".repeat(32) },
};

const ENGINES = ["fast", "stock"] as const;

/** A session over polling, by hand. */
class Polling {
  readonly #url: string;

  private constructor(url: string) {
    this.#url = url;
  }

  static async open(url: string): Promise<Polling> {
    const base = `${url}/smcp/?EIO=4&transport=polling&a2c_version=0.2.0`;
    const opened = await fetch(base);
    const { sid } = JSON.parse((await opened.text()).slice(1));
    return new Polling(`${base}&sid=${sid}`);
  }

  /** The status; 0 when the connection was cut off. */
  async post(body: string): Promise<number> {
    try {
      const response = await fetch(this.#url, { method: "POST", body });
      await response.body?.cancel();
      return response.status;
    } catch {
      return 0;
    }
  }

  /** Returns the queued packets; `undefined` when the session has ended. */
  async get(): Promise<string | undefined> {
    try {
      const response = await fetch(this.#url);
      const text = await response.text();
      return response.ok ? text : undefined;
    } catch {
      return undefined;
    }
  }

  /** Resolves when the session has ended; bounded, since each answer empties the queue. */
  async gone(): Promise<void> {
    for (let i = 0; i < 20; i++) if (await this.get() === undefined) return;
    throw new Error("The session goes on");
  }
}

/** A CONNECT of a number of bytes that takes far more memory when parsed. */
const heavyConnect = (bytes: number) =>
  `40/smcp,{"a":[${"[],".repeat(bytes / 3)}[]]}`;

for (const engine of ENGINES) {
  Deno.test({
    name:
      `35 sessions with 7.7 MiB of auth are refused, over WebSocket [${engine}]`,
    timeout: 120_000,
  }, async () => {
    await using server = await startBoundedServer([`--ws-engine=${engine}`]);
    const heavy = heavyConnect(7.7 * MEBIBYTE);
    await Promise.all(Array.from({ length: 35 }, async () => {
      await using raw = await RawFrames.open(server.url);
      raw.send(heavy);
      await raw.closed;
    }));
    await server.unharmed();
  });

  Deno.test({
    name:
      `attachments without a session are refused, over WebSocket [${engine}]`,
    timeout: 120_000,
  }, async () => {
    await using server = await startBoundedServer(
      [`--ws-engine=${engine}`],
      WITH_KEYS,
    );
    const attachment = new Uint8Array(8 * MEBIBYTE - 1);
    await Promise.all(Array.from({ length: 10 }, async () => {
      await using raw = await RawFrames.open(server.url);
      raw.send('4510-/smcp,["x"]');
      for (let i = 0; i < 3; i++) raw.send(attachment);
      await raw.closed;
    }));
    await server.command.logged("attachments without a session");
    await server.unharmed();
  });

  Deno.test({
    name:
      `600,000 events of one session delay no other client, over WebSocket [${engine}]`,
    timeout: 120_000,
  }, async () => {
    await using server = await startBoundedServer([
      `--ws-engine=${engine}`,
      "--ping-timeout=300", // its answers to pings are read behind its events
    ]);
    await using raw = await RawFrames.open(server.url, "/smcp");
    for (let i = 0; i < 600_000; i++) raw.send("42/smcp,[0]");
    raw.send('42/smcp,1["notify:barrier"]');
    await raw.frame("43/smcp,1["); // all are taken
    await server.unharmed();
  });
}

Deno.test({
  name: "35 sessions with 7.7 MiB of auth are refused, over polling",
  timeout: 120_000,
}, async () => {
  await using server = await startBoundedServer();
  const heavy = heavyConnect(7.7 * MEBIBYTE);
  await Promise.all(Array.from({ length: 35 }, async () => {
    const polling = await Polling.open(server.url);
    await polling.post(heavy);
    await polling.gone();
  }));
  await server.command.logged("handshake_refused");
  await server.unharmed();
});

Deno.test({
  name: "an oversized CONNECT is answered with the reason, and closed",
}, async () => {
  await using server = await startBoundedServer();
  await using raw = await RawFrames.open(server.url);
  raw.send(`40/smcp,{"api_key":"${"x".repeat(16_384)}"}`);
  assertMatch(
    await raw.frame("44/smcp,"),
    /"code":400,"message":"Invalid auth: the CONNECT packet has \d+ bytes, this server accepts 16384; send less"/,
  );
  await raw.closed;
  await server.unharmed();
});

Deno.test({
  name: "auth is not kept in memory after the session is open",
  timeout: 120_000,
}, async () => {
  await using server = await startBoundedServer([
    "--max-connect-bytes=1048576",
  ]);
  const heavy = heavyConnect(MEBIBYTE - 1000);
  const sessions: Polling[] = [];
  // Kept, each would be some 10 MiB.
  while (sessions.length < 60) {
    const polling = await Polling.open(server.url);
    assertEquals(await polling.post(heavy), 200);
    assertMatch(String(await polling.get()), /40\/smcp,\{"sid"/);
    sessions.push(polling);
  }
  await server.unharmed();
});

Deno.test({
  name: "a POST of 8 MiB of packets whose type is a space is refused",
  timeout: 120_000,
}, async () => {
  await using server = await startBoundedServer([], WITH_KEYS);
  const polling = await Polling.open(server.url);
  const packet = `4 /x,${SEPARATOR}`;
  await polling.post(packet.repeat(8 * MEBIBYTE / packet.length));
  await polling.gone();
  await server.command.logged("handshake_refused");
  await server.unharmed();
});

Deno.test({
  name: "a packet of an unknown type is not a CONNECT",
}, async () => {
  await using server = await startBoundedServer();
  const polling = await Polling.open(server.url);
  await polling.post("4 /smcp,");
  await polling.gone();
  await server.command.logged("no packet of Socket.IO begins like this");
  await server.unharmed();
});

Deno.test({
  name: "a POST of 600,000 events is refused, and its session ends",
  timeout: 120_000,
}, async () => {
  await using server = await startBoundedServer();
  const polling = await Polling.open(server.url);
  await polling.post("40/smcp,");
  await polling.post(`42/smcp,[0]${SEPARATOR}`.repeat(600_000));
  await polling.gone();
  await server.command.logged("packet_refused");
  await server.unharmed();
});

Deno.test({
  name: "20 sessions that repeatedly POST 1,900 events delay no other client",
  timeout: 120_000,
}, async () => {
  await using server = await startBoundedServer();
  const body = Array.from({ length: 1900 }, () => "42/smcp,[0]").join(
    SEPARATOR,
  );
  await Promise.all(Array.from({ length: 20 }, async () => {
    const polling = await Polling.open(server.url);
    await polling.post("40/smcp,");
    for (let i = 0; i < 20; i++) await polling.post(body);
  }));
  await server.unharmed();
});

Deno.test({
  name: "placeholders that multiply an attachment close only their sender",
  timeout: 120_000,
}, async () => {
  await using server = await startBoundedServer();
  await using computer = await joinRaw(
    server.url,
    "computer",
    "computer",
    "attachments",
  );
  let calls = 0;
  computer.handle(TOOL_CALL_EVENT, (payload, ack) => {
    calls++;
    ack({ payload });
  });
  const packet = (head: string, params: unknown) => {
    const call = {
      agent: "agent",
      req_id: "1",
      computer: "computer",
      tool_name: "t",
      params: { params },
      timeout: 60,
    };
    return `${head}/smcp,1${JSON.stringify([TOOL_CALL_EVENT, call])}`;
  };
  const at = (num: unknown) => ({ _placeholder: true, num });
  const hostile: [string, unknown][] = [
    ["451-", Array.from({ length: 30_000 }, () => at(0))],
    ["451-", Array.from({ length: 11 }, () => at(0))],
    ["451-", [at(0), at(0)]],
    ["452-", [at(0), at(1), at(2)]],
    ["451-", [at(1)]],
    ["451-", [at(-1)]],
    ["4511-", Array.from({ length: 11 }, (_, i) => at(i))],
  ];
  for (const [head, params] of hostile) {
    await using agent = await RawFrames.open(server.url, "/smcp");
    const seat = { role: "agent", name: "agent", office_id: "attachments" };
    agent.send(`42/smcp,0${JSON.stringify(["server:join_office", seat])}`);
    assertMatch(await agent.frame("43/smcp,0"), /true/);
    agent.send(packet(head, params));
    agent.send(new Uint8Array(1000));
    await agent.closed;
  }
  await server.command.logged("packet_refused");
  // Packets of stock clients are relayed, to the Computer and back.
  await using agent = await joinRaw(
    server.url,
    "agent",
    "agent",
    "attachments",
  );
  assertEquals(calls, 0);
  const parts = Array.from({ length: 10 }, (_, i) => new Uint8Array([i]));
  const answer = await agent.ask(TOOL_CALL_EVENT, {
    agent: "agent",
    req_id: "2",
    computer: "computer",
    tool_name: "t",
    params: { parts },
    timeout: 60,
  }) as { payload: { params: { parts: Uint8Array[] } } };
  assertEquals(
    answer.payload.params.parts.map((part) => [...part]),
    parts.map((part) => [...part]),
  );
  assert(computer.socket.connected);
  await server.unharmed();
});
