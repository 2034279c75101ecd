import { assert, assertEquals, assertNotEquals } from "@std/assert";
import type { Socket } from "socket.io";
import { SmcpAgent, type SmcpAgentOptions } from "../../../agent/mod.ts";
import { officeLinkOf } from "../../../computer/computer.ts";
import { SmcpComputer } from "../../../computer/mod.ts";
import { ProtocolError } from "../../../protocol/mod.ts";
import { ANY_REQUEST } from "../../support/any_request.ts";
import { startComputer } from "../../support/computer/computer.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { createFixture } from "../../support/fixtures/sdk_fixture.ts";
import { OFFICE, startOffice } from "../../support/office.ts";
import { startProxy } from "../../support/proxy.ts";
import { startBareServer } from "../../support/server/bare_server.ts";
import { joinRaw } from "../../support/wire/raw_client.ts";

const JOIN = "server:join_office";
const LEAVE = "server:leave_office";
const CALL = "client:tool_call";
const TOOLS = "client:get_tools";

type More = Pick<SmcpAgentOptions, "auth" | "transports">;

/** For tests independent of polling: a client that is closed during its upgrade leaks timers of its library. */
const WEBSOCKET: More = { transports: ["websocket"] };

const agentAt = (url: string, more: More = WEBSOCKET) =>
  new SmcpAgent({ url, name: "planner", ...more });

const computerAt = (url: string, more: More = WEBSOCKET) =>
  new SmcpComputer({ url, name: "pc", servers: {}, ...more });

/** Resolves when the connection has upgraded to WebSocket. */
const upgraded = ({ conn }: Socket): Promise<void> =>
  new Promise((resolve) => {
    if (conn.transport.name === "websocket") resolve();
    else conn.once("upgrade", () => resolve());
  });

const CLIENTS = [["Agent", agentAt], ["Computer", computerAt]] as const;
for (const [role, clientAt] of CLIENTS) {
  Deno.test(`${role}: every Engine.IO request carries a2c_version once, regardless of the user's URL, and polling comes first (protocol §2)`, async () => {
    await using server = await startBareServer();
    const url = `${server.url}/?a2c_version=9.9.9&tenant=x`;
    await using client = clientAt(url, {});
    await client.connect();
    await upgraded(await server.connection(0));
    // Beside the question to /health, which versions the server lets in.
    const engine = server.requests.filter(({ query }) =>
      query.has("transport")
    );
    const seen = engine.map(({ method, query }) =>
      `${method} ${query.get("transport")}`
    );
    assertEquals(seen[0], "GET polling");
    for (const kind of ["POST polling", "GET websocket"]) {
      assert(seen.includes(kind), kind);
    }
    for (const { query } of engine) {
      assertEquals(query.getAll("a2c_version"), ["0.2.0"]);
      assertEquals(query.get("tenant"), "x");
    }
  });

  Deno.test(`${role}: the user's credentials go into the auth object, and cannot set version, role or instance_id (protocol §2)`, async () => {
    await using server = await startBareServer();
    const forged = { a2c_version: "9.9.9", role: "boss", instance_id: "mine" };
    const auth = { api_key: "k", ...forged };
    await using client = clientAt(server.url, { ...WEBSOCKET, auth });
    await client.connect();
    const sent = (await server.connection(0)).handshake.auth;
    assertEquals([sent.api_key, sent.role], ["k", role.toLowerCase()]);
    assertNotEquals(sent.instance_id, "mine");
    for (const { query } of server.requests) {
      assertEquals(query.get("a2c_version"), "0.2.0");
      assertEquals(query.has("api_key"), false);
    }
  });

  Deno.test(`${role}: every instance sends its own random instance_id, and the same one when it reconnects (protocol §9)`, async () => {
    await using server = await startBareServer();
    await using first = clientAt(server.url);
    await first.connect();
    await using second = clientAt(server.url);
    await second.connect();
    const id = async (index: number) =>
      String((await server.connection(index)).handshake.auth.instance_id);
    for (const index of [0, 1]) {
      assert(/^[0-9a-f-]{36}$/.test(await id(index)));
    }
    assertNotEquals(await id(0), await id(1));
    (await server.connection(0)).conn.close();
    assertEquals(await id(2), await id(0));
  });

  Deno.test(`${role}: unknown and invalid notifications are ignored (protocol §3)`, async () => {
    await using server = await startBareServer();
    await using client = clientAt(server.url);
    await client.connect();
    const socket = await server.connection(0);
    socket.emit("notify:of_a_later_version", { any: "thing" });
    socket.emit("notify:update_config", { computer: 7 });
    socket.emit("notify:update_finder");
    // It still answers requests, with an error for unknown ones.
    const answer = await socket.emitWithAck("other:thing", {});
    assertEquals([answer.code, socket.connected], [400, true]);
  });
}

const ECHO = {
  ...ANY_REQUEST,
  agent: "a",
  computer: "pc",
  params: { text: "hi" },
};

Deno.test({
  name:
    "a call directly after the ack of a join belongs to the new office, and runs (protocol §7)",
  timeout: 120_000,
}, async () => {
  const answer = Promise.withResolvers<unknown>();
  await using server = await startBareServer((socket, event, ack) => {
    ack(true, null);
    if (event === JOIN) socket.emit(CALL, ECHO, answer.resolve);
  });
  await using computer = new SmcpComputer({
    url: server.url,
    name: "pc",
    servers: { a: fixture({ only: ["echo"] }) },
    transports: ["websocket"],
    confirm: () => "once",
  });
  await computer.connect();
  await computer.serversSettled();
  await computer.join(OFFICE);
  const content = [{ type: "text", text: "hi" }];
  assertEquals(await answer.promise, { content });
});

Deno.test("a call that arrives after the end of a membership does not run (protocol §5)", async () => {
  const codes: unknown[] = [];
  await using server = await startBareServer((socket, event, ack) => {
    if (event !== LEAVE) return ack(true, null);
    socket.emit(CALL, ECHO, (answer: unknown) => {
      codes.push(Object(answer).code);
      ack(true, null);
    });
  });
  await using computer = computerAt(server.url);
  let calls = 0;
  computer.on("callStarted", () => calls++);
  const ways = [
    () => computer.leave(),
    () => officeLinkOf(computer).switchServer({ name: "other" }),
  ];
  for (const leave of ways) {
    await computer.connect();
    await computer.join(OFFICE);
    await leave();
  }
  assertEquals([codes, calls], [[4103, 4103], 0]);
});

Deno.test("a Computer that rejoins its office announces its configuration and tools again (protocol §9)", async () => {
  await using office = await startOffice();
  await using proxy = await startProxy(office.url);
  await using computer = office.use(computerAt(proxy.url));
  await computer.connect();
  const announced = () =>
    Promise.all(
      (["updateConfig", "updateToolList"] as const).map((event) =>
        new Promise((resolve) => {
          const off = office.agent.on(event, (payload) => {
            off();
            resolve(payload);
          });
        })
      ),
    );
  for (const join of [() => computer.join(OFFICE), () => proxy.cut()]) {
    const both = announced();
    await join();
    assertEquals(await both, [{ computer: "pc" }, { computer: "pc" }]);
  }
});

Deno.test("an Agent's calls have a req_id each, unless the caller gives one; an error of a handler is not revealed (protocol §6, §7)", async () => {
  const ids: unknown[] = [];
  await using office = await startOffice({
    computers: {
      pc: (event, payload) => {
        const { req_id } = Object(payload);
        if (event === TOOLS) return { tools: [], req_id };
        ids.push(req_id);
        if (event === CALL) return { content: [] };
        throw new Error("redis://user:secret@10.0.0.1 is gone");
      },
    },
  });
  const { agent } = office;
  for (let i = 0; i < 50; i++) await agent.callTool("pc", "echo");
  const error = await agent.getConfig("pc").catch((error) => error);
  assert(error instanceof ProtocolError);
  assertEquals(error.toPayload(), { code: 500, message: "Internal error" });
  assertEquals(new Set(ids).size, 51);
  await agent.callTool("pc", "echo", {}, { reqId: "mine" });
  assertEquals(ids.at(-1), "mine");
});

Deno.test("a Computer writes resources in both spellings (protocol §8.2)", async () => {
  const lastModified = "2026-11-22T00:00:00Z";
  const resource = { uri: "a://b", name: "b", mimeType: "text/plain" };
  const resourceList = [{ ...resource, annotations: { lastModified } }];
  await using pc = await startComputer({
    files: { type: "in-process", server: createFixture({ resourceList }) },
  });
  const { agent, url } = pc.office;
  await agent.leave();
  await using raw = await joinRaw(url, "agent", "agent", OFFICE);
  const request = { ...ANY_REQUEST, computer: "pc" };
  const both = { lastModified, last_modified: lastModified };
  assertEquals(await raw.ask("client:get_resources", request), {
    resources: [{ ...resource, mime_type: "text/plain", annotations: both }],
    req_id: "r1",
  });
});
