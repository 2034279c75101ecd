import { assertEquals, assertMatch } from "@std/assert";
import { Buffer } from "node:buffer";
import {
  JOIN_OFFICE_EVENT,
  SMCP_NAMESPACE,
  TOOL_CALL_EVENT,
} from "../../../protocol/mod.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import { Link } from "../../../server/wire/link.ts";
import {
  StockConnection,
  StockSocket,
} from "../../../server/wire/stock_engine.ts";
import { startBareEngine } from "../../support/server/bare_engine.ts";
import { joinRaw, type RawClient } from "../../support/wire/raw_client.ts";
import { RawFrames } from "../../support/wire/raw_frames.ts";
import { SlowClient } from "../../support/wire/slow_client.ts";

const request = (req_id: string) => ({
  agent: "agent",
  req_id,
  computer: "computer",
  tool_name: "echo",
  params: {},
  timeout: 60,
});

/** Malformed answers, which would close a careless Agent's connection. */
const MALFORMED: readonly string[] = [
  "[{",
  "[{]",
  '[{"a":1]',
  '[{"a":1}]]',
  '[{"a":tru}]',
  '[{"a":01}]',
  '[{"a":1.}]',
  '[{"a":-}]',
  '[{"a":"\u0001"}]',
  '[{"a":"line\nbreak"}]',
  '[{"a":"\\x"}]',
  '[{"a":"\\u12g4"}]',
  '[{"a":1,}]',
  '[{"a" 1}]',
  "[{a:1}]",
  "[{'a':1}]",
  '[{"a":NaN}]',
  `[${'{"a":'.repeat(64)}1${"}".repeat(64)}]`,
  `[{"a":"${"x".repeat(5000)}\u0002"}]`,
  "[{}] more",
];

/** A Computer with handwritten frames, and the ack id of its call. */
async function calledComputer(
  url: string,
  agent: RawClient,
): Promise<{ raw: RawFrames; id: string; answer: Promise<unknown> }> {
  const raw = await RawFrames.open(url, SMCP_NAMESPACE);
  const seat = { role: "computer", name: "computer", office_id: "office" };
  raw.send(
    `42${SMCP_NAMESPACE},0${JSON.stringify([JOIN_OFFICE_EVENT, seat])}`,
  );
  await raw.frame(`43${SMCP_NAMESPACE},0[true`);
  const answer = agent.ask(TOOL_CALL_EVENT, request("1"));
  const call = await raw.frame(`42${SMCP_NAMESPACE},`);
  const id = /^42\/smcp,(\d+)\[/.exec(call)?.[1] ?? "";
  assertMatch(id, /^\d+$/);
  return { raw, id, answer };
}

Deno.test({
  name:
    "a malformed answer closes the computer's connection, never the agent's (spec §7)",
  timeout: 120_000,
}, async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using agent = await joinRaw(url, "agent", "agent", "office");
  for (const body of MALFORMED) {
    const { raw, id, answer } = await calledComputer(url, agent);
    await using _ = raw;
    const text = `43${SMCP_NAMESPACE},${id}${body}`;
    raw.send(text);
    await raw.closed;
    const { code, reason } = await answer as { code: number; reason: string };
    assertEquals([code, reason], [404, "computer disconnected"], text);
    assertEquals(agent.socket.connected, true, text);
  }
  assertEquals(server.stats.members, 1);
});

Deno.test("an answer is relayed byte for byte: spaces, escapes, numbers beyond JavaScript's precision (spec §7)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using agent = await RawFrames.open(url, SMCP_NAMESPACE);
  await using helper = await joinRaw(url, "computer", "helper", "office");
  const seat = { role: "agent", name: "agent", office_id: "office" };
  agent.send(
    `42${SMCP_NAMESPACE},0${JSON.stringify([JOIN_OFFICE_EVENT, seat])}`,
  );
  await agent.frame(`43${SMCP_NAMESPACE},0[true`);
  await using computer = await RawFrames.open(url, SMCP_NAMESPACE);
  const place = { role: "computer", name: "computer", office_id: "office" };
  computer.send(
    `42${SMCP_NAMESPACE},0${JSON.stringify([JOIN_OFFICE_EVENT, place])}`,
  );
  await computer.frame(`43${SMCP_NAMESPACE},0[true`);
  const params =
    '{ "big" : 12345678901234567890.0 , "text":"\\u0041\\/é" , "same":1,"same":2 }';
  agent.send(
    `42${SMCP_NAMESPACE},7["${TOOL_CALL_EVENT}",{"agent":"agent","req_id":"1","computer":"computer","tool_name":"t","params":${params},"timeout":60},"dropped"]`,
  );
  const call = await computer.frame(`42${SMCP_NAMESPACE},`);
  const id = /^42\/smcp,(\d+)/.exec(call)?.[1];
  assertEquals(
    call,
    `42${SMCP_NAMESPACE},${id}["${TOOL_CALL_EVENT}",{"agent":"agent","req_id":"1","computer":"computer","tool_name":"t","params":${params},"timeout":60}]`,
  );
  const body = '{ "content":[ ],"n":1e400, "later":[1.50,"\\ud83e\\udd8a"] }';
  computer.send(`43${SMCP_NAMESPACE},${id}[${body} , {"smuggled":true}]`);
  assertEquals(
    await agent.frame(`43${SMCP_NAMESPACE},7`),
    `43${SMCP_NAMESPACE},7[${body}]`,
  );
  assertEquals(helper.socket.connected, true);
});

Deno.test("invalid UTF-8 closes only its sender, with 1007", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using agent = await joinRaw(url, "agent", "agent", "office");
  await using computer = await SlowClient.open(url);
  await computer.join("computer", "computer", "office");
  const answer = agent.ask(TOOL_CALL_EVENT, request("1"));
  await computer.heard(TOOL_CALL_EVENT);
  computer.sendBytes(
    Buffer.concat([
      Buffer.from(`43${SMCP_NAMESPACE},0[{"a":"`),
      Buffer.from([0xc3, 0x28]),
      Buffer.from('"}]'),
    ]),
  );
  await computer.closed;
  assertEquals((await answer as { code: number }).code, 404);
  assertEquals(agent.socket.connected, true);
});

Deno.test("calls continue over polling, and over the WebSocket after the upgrade, in order", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  for (
    const transports of [["polling"], ["polling", "websocket"]] satisfies (
      "polling" | "websocket"
    )[][]
  ) {
    await using agent = await joinRaw(
      { url, transports },
      "agent",
      "agent",
      "office",
    );
    await using computer = await joinRaw(
      { url, transports },
      "computer",
      "computer",
      "office",
    );
    const seen: unknown[] = [];
    computer.handle(TOOL_CALL_EVENT, (payload, ack) => {
      seen.push((payload as { req_id: string }).req_id);
      ack({ content: [], payload });
    });
    const upgraded = Promise.all(
      [agent, computer].map(({ socket }) => {
        const { engine } = socket.io;
        return transports.length === 1 ||
            engine.transport.name === "websocket"
          ? undefined
          : new Promise<void>((resolve) =>
            engine.once("upgrade", () => resolve())
          );
      }),
    );
    const ids = Array.from({ length: 60 }, (_, i) => `${i}`);
    const ask = (req_id: string) => agent.ask(TOOL_CALL_EVENT, request(req_id));
    const first = ids.slice(0, 30).map(ask);
    await upgraded;
    const answers = await Promise.all([...first, ...ids.slice(30).map(ask)]);
    assertEquals(seen, ids);
    assertEquals(
      answers,
      ids.map((id) => ({ content: [], payload: request(id) })),
    );
    const names = [agent, computer].map(({ socket }) =>
      socket.io.engine.transport.name
    );
    assertEquals(names, Array(2).fill(transports.at(-1)));
  }
});

Deno.test("ended sessions leave nothing on their connection, however often the client rejoins over it", async () => {
  const listening: number[] = [];
  let ended = Promise.withResolvers<void>();
  await using engine = await startBareEngine((io) =>
    io.of(SMCP_NAMESPACE).on("connection", (socket) => {
      listening.push(socket.conn.listenerCount("upgrade"));
      const conn = new StockConnection(socket.conn);
      const client = new StockSocket(socket, conn);
      const link = new class extends Link {
        override receive() {}
      }(client, new Set());
      socket.on("disconnect", () => {
        link.unlink();
        ended.resolve();
      });
    })
  );
  await using raw = await RawFrames.open(engine.url);
  for (let round = 0; round < 3; round++) {
    raw.send(`40${SMCP_NAMESPACE},`);
    await raw.frame(`40${SMCP_NAMESPACE},{`);
    raw.send(`41${SMCP_NAMESPACE},`);
    await ended.promise;
    ended = Promise.withResolvers();
  }
  assertEquals(listening, [0, 0, 0]);
});
