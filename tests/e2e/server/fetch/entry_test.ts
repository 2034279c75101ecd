import { assert, assertEquals, assertThrows } from "@std/assert";
import { SmcpAgent } from "../../../../agent/mod.ts";
import { LIST_ROOM_EVENT, TOOL_CALL_EVENT } from "../../../../protocol/mod.ts";
import { deno } from "../../../../server/fetch/deno.ts";
import {
  apiKeys,
  createFetchServer,
  createMetrics,
} from "../../../../server/fetch/mod.ts";
import { createSmcpServer } from "../../../../server/mod.ts";
import { ANY_REQUEST } from "../../../support/any_request.ts";
import { modulesOf } from "../../../support/modules.ts";
import { startFetchServer } from "../../../support/server/fetch_server.ts";
import { pollingEnds } from "../../../support/wire/polling_ends.ts";
import {
  connectRaw,
  joinRaw,
  type RawClient,
  rawPair,
} from "../../../support/wire/raw_client.ts";
import { rawHttp, upgradeHead } from "../../../support/wire/raw_http.ts";

const CLIENTS = 60;

const upgraded = ({ socket }: RawClient): Promise<void> =>
  new Promise((resolve) => {
    const { engine } = socket.io;
    if (engine.transport.name === "websocket") resolve();
    else engine.once("upgrade", () => resolve());
  });

for (
  const transports of [["websocket"], ["polling", "websocket"], [
    "polling",
  ]] as const
) {
  Deno.test(`${CLIENTS} clients at once join over ${transports.join(" and then ")}, and are found`, async () => {
    await using _ends = pollingEnds();
    await using server = startFetchServer();
    await using stack = new AsyncDisposableStack();
    const join = async (i: number) => {
      const role = i === 0 ? "agent" : "computer";
      const client = stack.use(
        await joinRaw(
          { url: server.url, transports: [...transports] },
          role,
          `m${i}`,
          "office",
        ),
      );
      if (transports.length > 1) await upgraded(client);
      return client;
    };
    const [agent] = await Promise.all(
      Array.from({ length: CLIENTS }, (_, i) => join(i)),
    );
    assertEquals(server.smcp.stats, {
      connections: CLIENTS,
      offices: 1,
      members: CLIENTS,
    });
    const room = await agent?.ask(LIST_ROOM_EVENT, {
      agent: "m0",
      req_id: "r",
      office_id: "office",
    });
    const { sessions } = room as { sessions: readonly unknown[] };
    assertEquals(sessions.length, CLIENTS);
  });
}

for (const text of ["plain", "é 中 \u{1F600} \u2028"]) {
  Deno.test(`a call passes arguments and result unchanged: ${JSON.stringify(text)}`, async () => {
    await using server = startFetchServer();
    await using pair = await rawPair(server.url);
    const params = { text, deep: [{ [text]: text.repeat(1000) }], n: 1e-7 };
    pair.computer.handle(
      TOOL_CALL_EVENT,
      (payload, ack) => ack({ content: [], got: payload, more: text }, text),
    );
    const call = { ...ANY_REQUEST, params };
    assertEquals(await pair.agent.ask(TOOL_CALL_EVENT, call), {
      content: [],
      got: call,
      more: text,
    });
  });
}

Deno.test("the gate answers GET and upgrade with 4008, its header and body", async () => {
  await using server = startFetchServer();
  const target = (transport: string) =>
    `/smcp/?EIO=4&transport=${transport}&a2c_version=0.9.0`;
  for (
    const head of [
      [`GET ${target("polling")} HTTP/1.1`, "Host: 127.0.0.1"],
      upgradeHead(target("websocket")),
    ]
  ) {
    const answer = await rawHttp(server.port, head);
    assertEquals(
      [answer.status, answer.headers["x-a2c-error-code"]],
      [400, "4008"],
    );
    assertEquals(JSON.parse(answer.body).code, 4008);
  }
});

Deno.test("an upgrade that is none, or of an unknown session, gets 400", async () => {
  await using server = startFetchServer();
  const target = "/smcp/?EIO=4&transport=websocket&a2c_version=0.2.0";
  const without = (name: string) =>
    upgradeHead(target).filter((line) => !line.startsWith(name));
  for (
    const head of [
      without("Sec-WebSocket-Key"),
      without("Sec-WebSocket-Version"),
      without("Connection"),
      upgradeHead(`${target}&sid=unknown`),
    ]
  ) {
    assertEquals((await rawHttp(server.port, head)).status, 400, head.join());
  }
  await using client = await connectRaw(server.url);
  assertEquals(client.socket.connected, true);
});

Deno.test("/health, /ready and /metrics answer, and count bytes of messages", async () => {
  await using server = startFetchServer({ metrics: createMetrics() });
  await using _client = await joinRaw(server.url, "agent", "a", "o");
  const get = async (path: string) => {
    const response = await fetch(`${server.url}${path}`);
    return [response.status, await response.text()] as const;
  };
  const [, health] = await get("/health");
  assertEquals(JSON.parse(health).members, 1);
  assertEquals(await get("/ready"), [200, '{"status":"ready"}']);
  const [status, metrics] = await get("/metrics");
  assertEquals(status, 200);
  for (const direction of ["received", "sent"]) {
    const line = `smcp_network_bytes_total{direction="${direction}"} `;
    const [, after = ""] = metrics.split(line);
    assert(parseInt(after) > 50, metrics);
  }
  assertEquals((await get("/other"))[0], 404);
});

Deno.test("without an authenticator other machines get 403, until insecure says otherwise", async () => {
  const health = (info?: { transport: string; hostname?: string }) =>
    [
      new Request("http://localhost/health"),
      ...(info ? [{ remoteAddr: info }] : []),
    ] as const;
  const stranger = { transport: "tcp", hostname: "203.0.113.5" };
  const local = { transport: "tcp", hostname: "::ffff:127.0.0.1" };
  const keys = apiKeys([{ id: "p", key: "0123456789abcdef" }]);
  await using closed = createFetchServer();
  await using open = createFetchServer({ insecure: true });
  await using keyed = createFetchServer({ authenticator: keys });
  const statusOf = async (
    { fetch }: typeof closed,
    info?: { transport: string; hostname?: string },
  ) => {
    const response = await fetch(...health(info));
    await response.body?.cancel();
    return response.status;
  };
  assertEquals(await statusOf(closed, stranger), 403);
  assertEquals(await statusOf(closed), 403, "an unknown address");
  assertEquals(await statusOf(closed, local), 200);
  assertEquals(await statusOf(closed, { transport: "unix" }), 200);
  assertEquals(await statusOf(open, stranger), 200);
  assertEquals(await statusOf(keyed, stranger), 200);
});

Deno.test("a request over loopback must name this machine, as with listen()", async () => {
  await using server = startFetchServer();
  for (
    const [host, status] of [["evil.example", 403], ["localhost", 200]] as const
  ) {
    const answer = await rawHttp(server.port, [
      "GET /health HTTP/1.1",
      `Host: ${host}`,
    ]);
    assertEquals(answer.status, status, host);
  }
});

Deno.test("options that cannot be kept are refused by name", () => {
  const refused: [object, string][] = [
    [{ minUploadRate: 1 }, "with minUploadRate: the platform shows a message"],
    [{ headerTimeoutMs: 1 }, "with headerTimeoutMs"],
    [{ wsEngine: "fast" }, "with wsEngine"],
    [{ limits: { unfinishedBytes: 1 } }, "with limits.unfinishedBytes"],
  ];
  for (const [options, text] of refused) {
    assertThrows(() => createFetchServer(options), TypeError, text);
  }
});

Deno.test("the entry loads no listener of node:http, nor a cluster", async () => {
  const entry = await modulesOf("server/fetch/mod.ts", { dynamic: true });
  const listens = /^server\/(server|http\/listen|cluster\/)|^npm:redis@/;
  assertEquals(entry.filter((module) => listens.test(module)), []);
});

Deno.test("without an adapter it loads neither stock Engine.IO nor modules that edge platforms lack", async () => {
  const entry = await modulesOf("server/fetch/fetch_server.ts", {
    dynamic: true,
  });
  const stock =
    /^server\/wire\/stock\/|^npm:\/?(@hono\/node-server|engine\.io|socket\.io|ws)@/;
  assertEquals(entry.filter((module) => stock.test(module)), []);
  const has = /^node:(buffer|crypto|events|net|process|timers|zlib)$/;
  const builtIn = entry.filter((module) => module.startsWith("node:"));
  assertEquals(builtIn.filter((module) => !has.test(module)), []);
});

Deno.test("createSmcpServer() with an adapter is the same server", async () => {
  const options = { adapter: deno() };
  await using smcp = createSmcpServer(options);
  const served = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    smcp.fetch,
  );
  const url = `http://127.0.0.1:${served.addr.port}`;
  await using agent = new SmcpAgent({ url, name: "planner" });
  await agent.connect();
  await agent.join("office-1");
  assertEquals(smcp.stats.members, 1);
  assertThrows(
    () => createSmcpServer(Object.assign(options, { wsEngine: "fast" })),
    TypeError,
    "with wsEngine",
  );
  await agent.close();
  await smcp.close();
  await served.shutdown();
});
