import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import {
  startBoundedServer,
  testBounded,
} from "../../../support/server/bounded_server.ts";
import { joinRaw } from "../../../support/wire/raw_client.ts";
import { RawFrames } from "../../../support/wire/raw_frames.ts";
import { RawPolling, SEPARATOR } from "../../../support/wire/raw_polling.ts";

const MEBIBYTE = 2 ** 20;

/** Requires a key, so that other clients have no session. */
const WITH_KEYS = {
  env: { SMCP_API_KEYS: JSON.stringify([{ id: "us", key: "k".repeat(32) }]) },
  auth: { api_key: "k".repeat(32) },
};

/** Opens a session over polling, and posts bodies; the server may cut them off. */
async function post(url: string, ...bodies: string[]): Promise<RawPolling> {
  const polling = await RawPolling.open(url);
  for (const body of bodies) await polling.post(body).catch(() => {});
  return polling;
}

/** Resolves when a session has ended; bounded, since each answer empties the queue. */
async function gone(polling: RawPolling): Promise<void> {
  for (let i = 0; i < 20; i++) {
    const answer = await polling.get().catch(() => undefined);
    if (answer?.status !== 200) return;
  }
  throw new Error("The session goes on");
}

const times = (count: number, run: () => Promise<void>): Promise<void[]> =>
  Promise.all(Array.from({ length: count }, run));

/** A CONNECT of a number of bytes that takes far more memory when parsed. */
const heavyConnect = (bytes: number) =>
  `40/smcp,{"a":[${"[],".repeat(bytes / 3)}[]]}`;
const HEAVY = heavyConnect(7.7 * MEBIBYTE);

for (const engine of ["fast", "stock"]) {
  testBounded(
    `35 sessions with 7.7 MiB of auth are refused, over WebSocket [${engine}]`,
    async ({ url }) => {
      await times(35, async () => {
        await using raw = await RawFrames.open(url);
        raw.send(HEAVY);
        await raw.closed;
      });
    },
    [`--ws-engine=${engine}`],
  );

  testBounded(
    `attachments without a session are refused, over WebSocket [${engine}]`,
    async ({ url, command }) => {
      const attachment = new Uint8Array(8 * MEBIBYTE - 1);
      await times(10, async () => {
        await using raw = await RawFrames.open(url);
        raw.send('4510-/smcp,["x"]');
        for (let i = 0; i < 3; i++) raw.send(attachment);
        await raw.closed;
      });
      await command.logged("attachments without a session");
    },
    [`--ws-engine=${engine}`],
    WITH_KEYS,
  );

  testBounded(
    `600,000 events of one session delay no other client, over WebSocket [${engine}]`,
    async ({ url }) => {
      await using raw = await RawFrames.open(url, "/smcp");
      for (let i = 0; i < 600_000; i++) raw.send("42/smcp,[0]");
      raw.send('42/smcp,1["notify:barrier"]');
      await raw.frame("43/smcp,1["); // all are taken
    },
    // Its answers to pings are read behind its events.
    [`--ws-engine=${engine}`, "--ping-timeout=300"],
  );
}

testBounded(
  "35 sessions with 7.7 MiB of auth are refused, over polling",
  async ({ url, command }) => {
    await times(35, async () => await gone(await post(url, HEAVY)));
    await command.logged("handshake_refused");
  },
);

testBounded(
  "an oversized CONNECT is answered with the reason, and closed",
  async ({ url }) => {
    await using raw = await RawFrames.open(url);
    raw.send(`40/smcp,{"api_key":"${"x".repeat(16_384)}"}`);
    assertMatch(
      await raw.frame("44/smcp,"),
      /"code":400,"message":"Invalid auth: the CONNECT packet has \d+ bytes, this server accepts 16384; send less"/,
    );
    await raw.closed;
  },
);

testBounded(
  "auth is not kept in memory after the session is open",
  async ({ url }) => {
    const heavy = heavyConnect(MEBIBYTE - 1000);
    // Kept, each would be some 10 MiB.
    for (let i = 0; i < 60; i++) {
      const polling = await RawPolling.open(url);
      assertEquals((await polling.post(heavy)).status, 200);
      assertMatch((await polling.get()).body, /40\/smcp,\{"sid"/);
    }
  },
  ["--max-connect-bytes=1048576"],
);

/** Defines a test of bodies that are refused, and end their session, with a line in the log. */
const testRefused = (name: string, logged: string, ...bodies: string[]) =>
  testBounded(name, async ({ url, command }) => {
    await gone(await post(url, ...bodies));
    await command.logged(logged);
  });

testRefused(
  "a POST of 8 MiB of packets whose type is a space is refused",
  "handshake_refused",
  `4 /x,${SEPARATOR}`.repeat(8 * MEBIBYTE / 6),
);

testRefused(
  "a packet of an unknown type is not a CONNECT",
  "no packet of Socket.IO begins like this",
  "4 /smcp,",
);

testRefused(
  "a POST of 600,000 events is refused, and its session ends",
  "packet_refused",
  "40/smcp,",
  `42/smcp,[0]${SEPARATOR}`.repeat(600_000),
);

testBounded(
  "20 sessions that repeatedly POST 1,900 events delay no other client",
  async ({ url }) => {
    const body = Array(1900).fill("42/smcp,[0]").join(SEPARATOR);
    await times(20, async () => {
      await post(url, "40/smcp,", ...Array(20).fill(body));
    });
  },
);

testBounded(
  "placeholders that multiply an attachment close only their sender",
  async ({ url, command }) => {
    await using computer = await joinRaw(url, "computer", "computer", "o");
    let calls = 0;
    computer.handle("client:tool_call", (payload, ack) => {
      calls++;
      ack({ payload });
    });
    const call = (params: unknown) => ({
      agent: "agent",
      req_id: "1",
      computer: "computer",
      tool_name: "t",
      params: { params },
      timeout: 60,
    });
    const at = (num: unknown) => ({ _placeholder: true, num });
    const hostile: [head: string, params: unknown][] = [
      ["451-", Array(30_000).fill(at(0))],
      ["451-", Array(11).fill(at(0))],
      ["451-", [at(0), at(0)]],
      ["452-", [at(0), at(1), at(2)]],
      ["451-", [at(1)]],
      ["451-", [at(-1)]],
      ["4511-", Array.from({ length: 11 }, (_, i) => at(i))],
    ];
    for (const [head, params] of hostile) {
      await using agent = await RawFrames.open(url, "/smcp");
      const seat = { role: "agent", name: "agent", office_id: "o" };
      agent.send(`42/smcp,0${JSON.stringify(["server:join_office", seat])}`);
      assertMatch(await agent.frame("43/smcp,0"), /true/);
      const event = JSON.stringify(["client:tool_call", call(params)]);
      agent.send(`${head}/smcp,1${event}`);
      agent.send(new Uint8Array(1000));
      await agent.closed;
    }
    await command.logged("packet_refused");
    assertEquals(calls, 0);
    // Packets of stock clients are relayed, to the Computer and back.
    await using agent = await joinRaw(url, "agent", "agent", "o");
    const parts = Array.from({ length: 10 }, (_, i) => new Uint8Array([i]));
    const answer = await agent.ask("client:tool_call", call(parts));
    const { params } = Object(answer).payload.params;
    const bytes = (list: Uint8Array[]) => list.map((part) => [...part]);
    assertEquals(bytes(params), bytes(parts));
    assert(computer.socket.connected);
  },
);

testBounded(
  "bystanders of an idle Server with little memory are unharmed",
  async (server) => {
    assert(await server.peakMiB() > 0 || Deno.build.os !== "linux");
  },
);

Deno.test({
  name: "bystanders notice when the Server is blocked for more than a second",
  ignore: Deno.build.os === "windows",
}, async () => {
  await using server = await startBoundedServer();
  const { pid } = server.command;
  Deno.kill(pid, "SIGSTOP");
  await server.bystanders.harmed();
  Deno.kill(pid, "SIGCONT");
  await assertRejects(() => server.unharmed(), Error, "harmed");
});

Deno.test("bystanders notice when the Server ends", async () => {
  await using server = await startBoundedServer();
  server.command.kill("SIGTERM");
  await server.command.exited;
  await assertRejects(() => server.unharmed(), Error, "harmed");
});
