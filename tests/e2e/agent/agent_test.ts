import { assertEquals, assertNotEquals, assertRejects } from "@std/assert";
import {
  type AgentEvents,
  ConnectionError,
  ProtocolError,
  ProtocolVersionError,
  resultMeta,
  SmcpAgent,
} from "../../../agent/mod.ts";
import type { RequestHandler } from "../../../client/options.ts";
import {
  CANCEL_TOOL_CALL_NOTIFICATION,
  GET_CONFIG_EVENT,
  GET_DESKTOP_EVENT,
  GET_DPE_EVENT,
  GET_FINDER_EVENT,
  GET_RESOURCES_EVENT,
  GET_TOOLS_EVENT,
  type SMCPTool,
  TOOL_CALL_EVENT,
  UPDATE_DESKTOP_EVENT,
  UPDATE_TOOL_LIST_EVENT,
} from "../../../protocol/mod.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import { startProxy } from "../../support/proxy.ts";
import { versionRefusingServer } from "../../support/wire/version_refusing_server.ts";
import { OFFICE, scriptedComputer, startOffice } from "../../support/office.ts";

Deno.test("SmcpAgent receives every kind of answer of a Computer", async () => {
  const asked: unknown[] = [];
  await using office = await startOffice({
    computers: {
      pc: (event, payload) => {
        if (event !== GET_TOOLS_EVENT) asked.push([event, without(payload)]);
        return answers[event];
      },
    },
  });
  const { agent } = office;
  assertEquals(await agent.getTools("pc"), [tool("echo")]);
  assertEquals(await agent.getConfig("pc"), { servers: {} });
  assertEquals(
    await agent.getDesktop("pc", { size: 3, window: "window://h" }),
    [
      "window://h",
    ],
  );
  const page = await agent.getResources("pc", "files", { cursor: "c1" });
  assertEquals(page.resources, [{ uri: "x:1", odd: null }]);
  assertEquals(
    (await agent.getDpe("pc", "dpe://h/d", { timeoutMs: 4_001 })).uri,
    "file:///d",
  );
  assertEquals(
    (await agent.getFinder("pc", {
      keywords: ["a"],
      fileType: "pdf",
      limit: 1,
    }))
      .total_count,
    0,
  );
  const result = await agent.callTool("pc", "echo", { a: [1, { b: null }] }, {
    timeoutMs: 6_500,
  });
  assertEquals(result.content, [{ type: "text", text: "done" }]);
  assertEquals(asked, [
    [GET_CONFIG_EVENT, { agent: "planner", computer: "pc" }],
    [GET_DESKTOP_EVENT, {
      agent: "planner",
      computer: "pc",
      desktop_size: 3,
      window: "window://h",
    }],
    [GET_RESOURCES_EVENT, {
      agent: "planner",
      computer: "pc",
      mcp_server: "files",
      cursor: "c1",
    }],
    [GET_DPE_EVENT, {
      agent: "planner",
      computer: "pc",
      uri: "dpe://h/d",
      timeout: 5,
    }],
    [GET_FINDER_EVENT, {
      agent: "planner",
      computer: "pc",
      keywords: ["a"],
      file_type: "pdf",
      limit: 1,
    }],
    [TOOL_CALL_EVENT, {
      agent: "planner",
      computer: "pc",
      tool_name: "echo",
      params: { a: [1, { b: null }] },
      timeout: 7,
      progress: "waiting",
    }],
  ]);
});

Deno.test("SmcpAgent.allResources() follows cursors, and stops when they repeat", async () => {
  const pages: Record<string, unknown> = {
    "": { resources: [{ uri: "x:1" }], next_cursor: "a" },
    a: { resources: [{ uri: "x:2" }], next_cursor: "b" },
    b: { resources: [{ uri: "x:3" }], next_cursor: "a" },
  };
  await using office = await startOffice({
    computers: {
      pc: (event, payload) => {
        if (event !== GET_RESOURCES_EVENT) return answers[event];
        const { cursor } = payload as { cursor?: string };
        return { ...pages[cursor ?? ""] as object, req_id: "1" };
      },
    },
  });
  const seen = [];
  for await (const { uri } of office.agent.allResources("pc", "files")) {
    seen.push(uri);
  }
  assertEquals(seen, ["x:1", "x:2", "x:3"]);
});

Deno.test("SmcpAgent requires an office for requests that need one: 4103", async () => {
  await using office = await startOffice({ computers: { pc: answering } });
  const { agent } = office;
  await agent.leave();
  assertEquals(agent.tools.size, 0);
  for (const ask of [() => agent.listRoom(), () => agent.getTools("pc")]) {
    assertEquals((await assertRejects(ask, ProtocolError)).code, 4103);
  }
});

Deno.test("SmcpAgent.listRoom() shows every member with its version", async () => {
  await using office = await startOffice({ computers: { pc: answering } });
  const members = await office.agent.listRoom();
  assertEquals(
    members.map(({ sid: _, ...member }) => member).sort((a, b) =>
      a.name.localeCompare(b.name)
    ),
    [
      {
        name: "pc",
        role: "computer",
        office_id: OFFICE,
        a2c_version: "0.2.0",
      },
      {
        name: "planner",
        role: "agent",
        office_id: OFFICE,
        a2c_version: "0.2.0",
      },
    ],
  );
});

Deno.test("SmcpAgent throws protocol errors, flat or in the nested form of 0.1", async () => {
  await using office = await startOffice({
    computers: {
      pc: (event) =>
        event === GET_CONFIG_EVENT
          ? { error: { code: 500, message: "old form" } }
          : answers[event],
    },
  });
  const { agent } = office;
  const unknown = await assertRejects(
    () => agent.callTool("nobody", "echo"),
    ProtocolError,
    "nobody",
  );
  assertEquals(unknown.code, 404);
  const nested = await assertRejects(
    () => agent.getConfig("pc"),
    ProtocolError,
    "old form",
  );
  assertEquals(nested.code, 500);
  await agent.leave();
  const outside = await assertRejects(
    () => agent.getTools("pc"),
    ProtocolError,
  );
  assertEquals(outside.code, 4103);
});

Deno.test("SmcpAgent sends no request that the protocol does not allow: 400 names the field (spec §4, §6)", async () => {
  // Not connected: a request that were sent would fail with `offline`.
  await using agent = new SmcpAgent({ url: "http://127.0.0.1:1", name: "a" });
  const bad: [field: string, ask: () => Promise<unknown>][] = [
    ["computer", () => agent.getTools("")],
    ["computer", () => agent.getConfig("c".repeat(257))],
    ["tool_name", () => agent.callTool("pc", "")],
    ["req_id", () => agent.callTool("pc", "echo", {}, { reqId: "" })],
    ["desktop_size", () => agent.getDesktop("pc", { size: 0.5 })],
    ["mcp_server", () => agent.getResources("pc", "")],
    ["limit", () => agent.getFinder("pc", { limit: 101 })],
  ];
  for (const timeoutMs of [0, -1, 3_600_001, Infinity, NaN]) {
    bad.push(
      ["timeoutMs", () => agent.callTool("pc", "echo", {}, { timeoutMs })],
      ["timeoutMs", () => agent.getDpe("pc", "dpe://h/d", { timeoutMs })],
      ["timeoutMs", () => agent.openDocument("pc", "dpe://h/d", { timeoutMs })],
    );
  }
  for (const [field, ask] of bad) {
    const error = await assertRejects(ask, ProtocolError, `${field}: `);
    assertEquals(error.code, 400);
  }
});

Deno.test("SmcpAgent.callTool() cancels a call at its timeout, and returns the timeout result", async () => {
  const cancelled = Promise.withResolvers<unknown>();
  await using office = await startOffice({ computers: { pc: hanging } });
  const pc = await office.addScriptedComputer("watcher", answering);
  pc.on("notification", ({ event, payload }) => {
    if (event === CANCEL_TOOL_CALL_NOTIFICATION) cancelled.resolve(payload);
  });
  const result = await office.agent.callTool("pc", "slow", {}, {
    timeoutMs: 1_000,
    reqId: "r1",
  });
  assertEquals(result.isError, true);
  assertEquals(resultMeta(result), {
    error_code: 4004,
    a2c_timeout: true,
    timeout: true,
  });
  assertEquals(result.meta, result._meta);
  assertEquals(await cancelled.promise, {
    agent: "planner",
    req_id: "r1",
    reason: "timeout",
  });
});

Deno.test("SmcpAgent.callTool() cancels the call when its signal is aborted, and rejects with the reason", async () => {
  const called = Promise.withResolvers<void>();
  const cancelled = Promise.withResolvers<unknown>();
  await using office = await startOffice({
    computers: {
      pc: (event, payload) => {
        if (event === TOOL_CALL_EVENT) called.resolve();
        return hanging(event, payload);
      },
    },
  });
  office.agent.on(
    "toolCallCancel",
    (payload) => cancelled.resolve(payload),
  );
  const abort = new AbortController();
  const call = office.agent.callTool("pc", "slow", {}, {
    signal: abort.signal,
    reqId: "r2",
  });
  await called.promise;
  abort.abort(new Error("changed my mind"));
  await assertRejects(() => call, Error, "changed my mind");
  assertEquals(await cancelled.promise, { agent: "planner", req_id: "r2" });
});

Deno.test("SmcpAgent aborts any request with its signal", async () => {
  const called = Promise.withResolvers<void>();
  await using office = await startOffice({
    computers: {
      pc: (event) => {
        if (event !== GET_CONFIG_EVENT) return answers[event];
        called.resolve();
        return new Promise(() => {});
      },
    },
  });
  const abort = new AbortController();
  const request = office.agent.getConfig("pc", { signal: abort.signal });
  await called.promise;
  abort.abort(new Error("enough"));
  await assertRejects(() => request, Error, "enough");
  await assertRejects(
    () => office.agent.getConfig("pc", { signal: abort.signal }),
    Error,
    "enough",
  );
});

Deno.test("SmcpAgent updates its tool catalogue on notifications", async () => {
  await using office = await startOffice({ computers: { pc: answering } });
  const { agent } = office;
  assertEquals([...agent.tools], [["pc", [tool("echo")]]]);

  const added = once(agent, "tools");
  let tools = [tool("one")];
  const second = await office.addScriptedComputer(
    "second",
    (event) => event === GET_TOOLS_EVENT ? { tools, req_id: "1" } : {},
  );
  assertEquals(await added, { computer: "second", tools: [tool("one")] });

  const changed = once(agent, "tools");
  tools = [tool("one"), tool("two")];
  second.send(UPDATE_TOOL_LIST_EVENT, { computer: "second" });
  assertEquals((await changed).tools?.map(({ name }) => name), ["one", "two"]);

  const gone = once(agent, "tools");
  const left = once(agent, "leaveOffice");
  await second.close();
  assertEquals(await left, { office_id: OFFICE, computer: "second" });
  assertEquals(await gone, { computer: "second", tools: undefined });
  assertEquals([...agent.tools.keys()], ["pc"]);
});

Deno.test("SmcpAgent.followDesktop() fetches the desktop again after each change (spec §9)", async () => {
  let desktops = ["window://h/1"];
  const script: RequestHandler = (event) =>
    event === GET_DESKTOP_EVENT ? { desktops, req_id: "1" } : answers[event];
  await using office = await startOffice();
  const pc = await office.addScriptedComputer("pc", script);
  const abort = new AbortController();
  const seen = office.agent.followDesktop("pc", { signal: abort.signal });
  assertEquals((await seen.next()).value, ["window://h/1"]);

  desktops = ["window://h/2"];
  pc.send(UPDATE_DESKTOP_EVENT, { computer: "pc" });
  assertEquals((await seen.next()).value, ["window://h/2"]);

  const next = seen.next();
  await pc.close(); // away for a while
  desktops = ["window://h/3"];
  await office.addScriptedComputer("pc", script);
  assertEquals((await next).value, ["window://h/3"]);

  const last = assertRejects(() => seen.next(), Error, "seen enough");
  abort.abort(new Error("seen enough"));
  await last;
});

Deno.test("SmcpAgent.followDesktop() ends when the Agent is closed, and throws for an unknown Computer", async () => {
  await using office = await startOffice({ computers: { pc: answering } });
  const unknown = office.agent.followDesktop("nobody");
  await assertRejects(() => unknown.next(), ProtocolError, "nobody");
  const seen = office.agent.followDesktop("pc");
  await seen.next();
  const last = assertRejects(() => seen.next(), ConnectionError);
  await office.agent.close();
  await last;
});

Deno.test("SmcpAgent emits every notification to its listeners", async () => {
  await using office = await startOffice();
  const entered = once(office.agent, "enterOffice");
  await office.addScriptedComputer("pc", answering);
  assertEquals(await entered, { office_id: OFFICE, computer: "pc" });
});

Deno.test("SmcpAgent.join() is refused with the Server's reason", async () => {
  await using office = await startOffice();
  const second = office.use(
    new SmcpAgent({ url: office.url, name: "second" }),
  );
  await second.connect();
  const refusal = await assertRejects(
    () => second.join(OFFICE),
    ConnectionError,
    "Room already has an agent",
  );
  assertEquals(refusal.code, "refused");
});

for (const transports of [["polling", "websocket"], ["websocket"]] as const) {
  Deno.test(`SmcpAgent.connect() throws ProtocolVersionError on 4008 without a reconnect loop (${transports})`, async () => {
    // It takes longer than Socket.IO waits before it tries again.
    await using server = await versionRefusingServer(() => "0.9.0", {
      delayMs: 1_500,
    });
    const agent = new SmcpAgent({
      url: server.url,
      name: "old",
      transports: [...transports],
    });
    const refused = once(agent, "refused");
    const error = await assertRejects(
      () => agent.connect(),
      ProtocolVersionError,
    );
    assertEquals([error.serverVersion, error.clientVersion], [
      "0.9.0",
      "0.2.0",
    ]);
    assertEquals(await refused, error);
    assertEquals(agent.state, "closed");
    assertEquals(server.versions.length, transports.length === 1 ? 2 : 1);
    await agent.close();
  });
}

Deno.test("SmcpAgent.connect() rejects when nobody answers", async () => {
  const url = "http://127.0.0.1:9"; // the discard port: nobody listens there
  await using agent = new SmcpAgent({ url, name: "planner" });
  const error = await assertRejects(
    () => agent.connect(),
    ConnectionError,
    url,
  );
  assertEquals(error.code, "unreachable");
  const offline = await assertRejects(
    () => agent.listRoom(),
    ConnectionError,
  );
  assertEquals(offline.code, "offline");
});

Deno.test("SmcpAgent.connect() called twice is one attempt, and both wait for it", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen({ port: 0 });
  await using agent = new SmcpAgent({ url, name: "planner" });
  const first = agent.connect();
  await agent.connect();
  assertEquals(agent.state, "connected");
  await first;
  await agent.connect();
  assertEquals(server.stats.connections, 1);
});

Deno.test("SmcpAgent works over WebSocket only", async () => {
  await using office = await startOffice({
    computers: { pc: answering },
    agent: { transports: ["websocket"] },
  });
  const result = await office.agent.callTool("pc", "echo");
  assertEquals(result.content, [{ type: "text", text: "done" }]);
});

Deno.test("SmcpAgent reconnects after a restart of the Server: rejoined, tools fetched again", async () => {
  await using stack = new AsyncDisposableStack();
  const first = createSmcpServer();
  const proxy = stack.use(await startProxy((await first.listen()).url));
  const { url } = proxy;
  const agent = stack.use(
    new SmcpAgent({ url, name: "planner", offline: "wait" }),
  );
  await agent.connect();
  await agent.join(OFFICE);
  const lost = once(agent, "disconnected");
  await first.close();
  assertEquals((await lost).reconnecting, true);
  assertEquals(agent.state, "reconnecting");

  const rejoined = once(agent, "joined");
  const waiting = agent.listRoom(); // waits for the new Server
  const second = stack.use(createSmcpServer());
  proxy.turnTo((await second.listen()).url);
  assertEquals(await rejoined, { office: OFFICE, rejoined: true });
  assertEquals((await waiting).map(({ name }) => name), ["planner"]);

  const tools = once(agent, "tools");
  const pc = stack.use(
    scriptedComputer({ url, name: "pc", script: answering }),
  );
  await pc.connect();
  await pc.join(OFFICE);
  assertEquals((await tools).computer, "pc");
});

Deno.test("SmcpAgent calls fail at once while offline unless the caller chose to wait", async () => {
  const server = createSmcpServer();
  const { url } = await server.listen({ port: 0 });
  await using agent = new SmcpAgent({ url, name: "planner" });
  await agent.connect();
  await agent.join(OFFICE);
  const lost = once(agent, "disconnected");
  await server.close();
  await lost;
  const error = await assertRejects(
    () => agent.callTool("pc", "echo"),
    ConnectionError,
    "being restored",
  );
  assertEquals(error.code, "offline");
});

Deno.test("SmcpAgent.close() fails pending calls and leaves nothing open", async () => {
  await using office = await startOffice({ computers: { pc: hanging } });
  const pending = office.agent.callTool("pc", "slow");
  const error = assertRejects(() => pending, ConnectionError);
  await office.agent.close();
  assertEquals((await error).code, "lost");
  assertEquals(office.agent.state, "closed");
});

Deno.test("SmcpAgent rejoins while the Server still holds its lost connection", async () => {
  await using office = await startOffice();
  await office.agent.leave();
  await using proxy = await startProxy(office.url);
  const agent = office.use(new SmcpAgent({ url: proxy.url, name: "mobile" }));
  await agent.connect();
  await agent.join(OFFICE);
  const [before] = await agent.listRoom();
  const rejoined = once(agent, "joined");
  proxy.cut();
  assertEquals(await rejoined, { office: OFFICE, rejoined: true });
  const members = await agent.listRoom();
  assertEquals(members.map(({ name }) => name), ["mobile"]);
  assertNotEquals(members[0]?.sid, before?.sid);
  await agent.close();
});

const tool = (name: string): SMCPTool => ({
  name,
  description: "",
  params_schema: {},
  return_schema: null,
});

const answers: Record<string, unknown> = {
  [GET_TOOLS_EVENT]: { tools: [tool("echo")], req_id: "1" },
  [GET_CONFIG_EVENT]: { servers: {} },
  [GET_DESKTOP_EVENT]: { desktops: ["window://h"], req_id: "1" },
  [GET_RESOURCES_EVENT]: {
    resources: [{ uri: "x:1", odd: null }],
    req_id: "1",
  },
  [GET_DPE_EVENT]: { uri: "file:///d", req_id: "1" },
  [GET_FINDER_EVENT]: { documents: [], total_count: 0, req_id: "1" },
  [TOOL_CALL_EVENT]: { content: [{ type: "text", text: "done" }] },
};

const answering: RequestHandler = (event) => answers[event];

const hanging: RequestHandler = (event) =>
  event === TOOL_CALL_EVENT ? new Promise(() => {}) : answers[event];

function without(payload: unknown): unknown {
  const { req_id, ...rest } = payload as Record<string, unknown>;
  assertEquals(typeof req_id, "string");
  return rest;
}

function once<E extends keyof AgentEvents>(
  agent: SmcpAgent,
  event: E,
): Promise<AgentEvents[E]> {
  return new Promise((resolve) => {
    const off = agent.on(event, (value) => {
      off();
      resolve(value);
    });
  });
}
