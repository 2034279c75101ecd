import { assertEquals, assertMatch } from "@std/assert";
import { SMCP_NAMESPACE } from "../../../protocol/mod.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import { Link } from "../../../server/wire/link.ts";
import {
  StockConnection,
  StockSocket,
} from "../../../server/wire/stock_engine.ts";
import { ANY_REQUEST } from "../../support/any_request.ts";
import { startBareEngine } from "../../support/server/bare_engine.ts";
import { joinRaw } from "../../support/wire/raw_client.ts";
import { RawFrames } from "../../support/wire/raw_frames.ts";

const CALL = "client:tool_call";

const request = (req_id: string) => ({ ...ANY_REQUEST, req_id });

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

/** A member of "office" with handwritten frames, named after its role. */
async function joinFrames(url: string, role: "agent" | "computer") {
  const raw = await RawFrames.open(url, SMCP_NAMESPACE);
  const seat = JSON.stringify({ role, name: role, office_id: "office" });
  raw.send(`42/smcp,0["server:join_office",${seat}]`);
  await raw.frame("43/smcp,0[true");
  return raw;
}

/** Resolves with the frame of a Computer's next call, and its ack id. */
async function nextCall(computer: RawFrames) {
  const call = await computer.frame("42/smcp,");
  const [, id = ""] = /^42\/smcp,(\d+)\[/.exec(call) ?? [];
  assertMatch(id, /^\d+$/);
  return { call, id };
}

Deno.test({
  name:
    "a malformed answer closes the computer's connection, never the agent's (protocol §7)",
  timeout: 120_000,
}, async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using agent = await joinRaw(url, "agent", "agent", "office");
  for (const body of MALFORMED) {
    await using raw = await joinFrames(url, "computer");
    const answer = agent.ask(CALL, request("1"));
    const { id } = await nextCall(raw);
    raw.send(`43/smcp,${id}${body}`);
    await raw.closed;
    const { code, reason } = Object(await answer);
    assertEquals([code, reason], [404, "computer disconnected"], body);
    assertEquals(agent.socket.connected, true, body);
  }
  assertEquals(server.stats.members, 1);
});

Deno.test("an answer is relayed byte for byte: spaces, escapes, numbers beyond JavaScript's precision (protocol §7)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using agent = await joinFrames(url, "agent");
  await using computer = await joinFrames(url, "computer");
  const params =
    '{ "big" : 12345678901234567890.0 , "text":"\\u0041\\/é" , "same":1,"same":2 }';
  const event =
    `["client:tool_call",{"agent":"agent","req_id":"1","computer":"computer","tool_name":"t","params":${params},"timeout":60}`;
  agent.send(`42/smcp,7${event},"dropped"]`);
  const { call, id } = await nextCall(computer);
  assertEquals(call, `42/smcp,${id}${event}]`);
  const body = '{ "content":[ ],"n":1e400, "later":[1.50,"\\ud83e\\udd8a"] }';
  computer.send(`43/smcp,${id}[${body} , {"smuggled":true}]`);
  assertEquals(await agent.frame("43/smcp,7"), `43/smcp,7[${body}]`);
});

Deno.test("calls continue over polling, and over the WebSocket after the upgrade, in order", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  const ways: ("polling" | "websocket")[][] = [
    ["polling"],
    ["polling", "websocket"],
  ];
  for (const transports of ways) {
    const by = { url, transports };
    await using agent = await joinRaw(by, "agent", "agent", "office");
    await using pc = await joinRaw(by, "computer", "computer", "office");
    const seen: unknown[] = [];
    pc.handle(CALL, (payload, ack) => {
      seen.push(Object(payload).req_id);
      ack({ content: [], payload });
    });
    const engines = [agent, pc].map(({ socket }) => socket.io.engine);
    const upgraded = Promise.all(
      engines.map((engine) =>
        transports.length > 1 && engine.transport.name === "polling" &&
        new Promise<void>((resolve) => engine.once("upgrade", () => resolve()))
      ),
    );
    const ids = Array.from({ length: 60 }, (_, i) => `${i}`);
    const ask = (req_id: string) => agent.ask(CALL, request(req_id));
    const first = ids.slice(0, 30).map(ask);
    await upgraded;
    const answers = await Promise.all([...first, ...ids.slice(30).map(ask)]);
    assertEquals(seen, ids);
    assertEquals(
      answers,
      ids.map((id) => ({ content: [], payload: request(id) })),
    );
    const names = engines.map(({ transport }) => transport.name);
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
      }(client, new Map());
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
