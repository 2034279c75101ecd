import { assertEquals, assertRejects } from "@std/assert";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { ProtocolError, SmcpAgent } from "../../../agent/mod.ts";
import {
  ENTER_OFFICE_NOTIFICATION,
  GET_TOOLS_EVENT,
  LIST_ROOM_EVENT,
  TOOL_CALL_EVENT,
} from "../../../protocol/mod.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import { startBareServer } from "../../support/server/bare_server.ts";
import { OFFICE, scriptedComputer } from "../../support/office.ts";

Deno.test('a call made with `offline: "wait"` waits for its Computer that comes back after the Agent when the Server restarts', async () => {
  await using stack = new AsyncDisposableStack();
  const start = async () => {
    const server = stack.use(createSmcpServer());
    return { server, port: (await server.listen({ port: 0 })).port };
  };
  const first = await start();
  const second = await start();
  const near = stack.use(await startSwitch(first.port));
  const far = stack.use(await startSwitch(first.port));
  const timeouts: unknown[] = [];
  const computer = stack.use(
    scriptedComputer({
      url: far.url,
      name: "pc",
      script: (event, payload) => {
        if (event === GET_TOOLS_EVENT) return { tools: [], req_id: "1" };
        timeouts.push((payload as { timeout: number }).timeout);
        return { content: [] };
      },
    }),
  );
  await computer.connect();
  await computer.join(OFFICE);
  const agent = stack.use(
    new SmcpAgent({ url: near.url, name: "planner", offline: "wait" }),
  );
  await agent.connect();
  await agent.join(OFFICE);
  await agent.toolsSettled();
  const rejoined = new Promise<void>((resolve) =>
    agent.on("joined", () => resolve())
  );
  const lost = new Promise((resolve) => agent.on("disconnected", resolve));
  far.switchTo(undefined);
  near.switchTo(second.port);
  await lost;
  await first.server.close();
  const offline = agent.callTool("pc", "echo", {}, { timeoutMs: 60_000 });
  await rejoined;
  const early = agent.callTool("pc", "echo", {}, { timeoutMs: 60_000 });
  assertEquals((await agent.listRoom()).length, 1); // the calls were answered before
  far.switchTo(second.port);
  assertEquals((await offline).content, []);
  assertEquals((await early).content, []);
  assertEquals(timeouts.length, 2);
  assertEquals(
    timeouts.every((seconds) => Number(seconds) > 30 && Number(seconds) <= 60),
    true,
    String(timeouts),
  );
});

/** A Server whose Computer "pc" is away; counts the calls, and can connect the Computer. */
async function startAway() {
  let present = false;
  let calls = 0;
  const bare = await startBareServer((_socket, event, ack) => {
    if (event === LIST_ROOM_EVENT) return ack({ sessions: [], req_id: "1" });
    if (event !== TOOL_CALL_EVENT) return ack(true, null);
    calls++;
    if (present) ack({ content: [] });
    else ack({ code: 404, message: "not in your office", computer: "pc" });
  });
  return {
    bare,
    calls: () => calls,
    enter: (index: number, computer: string) => {
      present ||= computer === "pc";
      bare.sockets[index]?.emit(ENTER_OFFICE_NOTIFICATION, {
        office_id: OFFICE,
        computer,
      });
    },
  };
}

async function returned(url: string, offline: "wait" | "fail") {
  const agent = new SmcpAgent({
    url,
    name: "planner",
    offline,
    transports: ["websocket"],
  });
  await agent.connect();
  await agent.join(OFFICE);
  return agent;
}

Deno.test("an unknown Computer is a 404 at once, unless the Agent has just reconnected", async () => {
  const { bare, calls, enter } = await startAway();
  await using server = bare;
  await using agent = await returned(server.url, "wait");
  const call = (timeoutMs: number) =>
    agent.callTool("pc", "t", {}, { timeoutMs });
  await assertRejects(() => call(60_000), ProtocolError, "not in your office");
  const rejoined = new Promise<void>((resolve) =>
    agent.on("joined", () => resolve())
  );
  (await server.connection(0)).conn.close();
  await rejoined;
  // At the timeout too, the error is the Server's.
  await assertRejects(() => call(3_000), ProtocolError, "not in your office");
  const waiting = call(60_000);
  assertEquals(await agent.listRoom(), []);
  enter(1, "other");
  assertEquals(await agent.listRoom(), []);
  const before = calls();
  enter(1, "pc");
  assertEquals((await waiting).content, []);
  assertEquals(calls(), before + 1);
});

Deno.test("a call that waits for a Computer ends with its signal, and with the Agent", async () => {
  const { bare } = await startAway();
  await using server = bare;
  await using agent = await returned(server.url, "wait");
  const rejoined = new Promise<void>((resolve) =>
    agent.on("joined", () => resolve())
  );
  (await server.connection(0)).conn.close();
  await rejoined;
  const abort = new AbortController();
  const aborted = assertRejects(
    () => agent.callTool("pc", "t", {}, { signal: abort.signal }),
    Error,
    "no more",
  );
  const left = assertRejects(() => agent.callTool("pc", "t"));
  await agent.listRoom();
  abort.abort(new Error("no more"));
  await aborted;
  await agent.close();
  await left;
});

Deno.test("an Agent that does not wait gets 404 right after a reconnect", async () => {
  const { bare } = await startAway();
  await using server = bare;
  await using agent = await returned(server.url, "fail");
  const rejoined = new Promise<void>((resolve) =>
    agent.on("joined", () => resolve())
  );
  (await server.connection(0)).conn.close();
  await rejoined;
  await assertRejects(() => agent.callTool("pc", "t"), ProtocolError, "not in");
});

/** A TCP proxy with a changeable target: a change cuts open connections; without a target, new ones too. */
async function startSwitch(first: number) {
  let target: number | undefined = first;
  const open = new Set<Socket>();
  const server = createServer((client) => {
    if (target === undefined) return client.destroy();
    const upstream = connect(target, "127.0.0.1");
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        open.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.pipe(upstream).pipe(client);
  });
  await new Promise<void>((resolve) =>
    server.listen(0, "127.0.0.1", () => resolve())
  );
  const { port } = server.address() as AddressInfo;
  const cut = () => open.forEach((socket) => socket.destroy());
  return {
    url: `http://127.0.0.1:${port}`,
    switchTo(port: number | undefined) {
      target = port;
      cut();
    },
    async [Symbol.asyncDispose]() {
      const closed = [...open].map((socket) =>
        new Promise((resolve) => socket.once("close", resolve))
      );
      cut();
      await Promise.all(closed);
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
