import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  type AgentEvents,
  ConnectionError,
  ProtocolError,
  ProtocolVersionError,
  resultMeta,
  SmcpAgent,
} from "../../../agent/mod.ts";
import { requestsOf } from "../../../agent/requests.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import { OFFICE, startOffice } from "../../support/office.ts";
import { versionRefusingServer } from "../../support/wire/version_refusing_server.ts";

const tool = (name: string) => ({
  name,
  description: "",
  params_schema: {},
  return_schema: null,
});

const ANSWERS: Record<string, unknown> = {
  "client:get_tools": { tools: [tool("echo")], req_id: "1" },
  "client:get_config": { servers: {} },
  "client:get_desktop": { desktops: ["window://h"], req_id: "1" },
  "client:get_resources": {
    resources: [{ uri: "x:1", odd: null, mime_type: "text/plain" }],
    req_id: "1",
  },
  "client:get_dpe": { uri: "file:///d", req_id: "1" },
  "client:get_finder": { documents: [], total_count: 0, req_id: "1" },
  "client:tool_call": { content: [{ type: "text", text: "done" }] },
};

const answering = (event: string) => ANSWERS[event];

/** Never answers one event; resolves when it is requested. */
function hanging(held: string) {
  const { promise: requested, resolve } = Promise.withResolvers<void>();
  const pc = (event: string) => {
    if (event !== held) return ANSWERS[event];
    resolve();
    return new Promise(() => {});
  };
  return { pc, requested };
}

const once = <E extends keyof AgentEvents>(agent: SmcpAgent, event: E) =>
  new Promise<AgentEvents[E]>((resolve) => agent.on(event, resolve));

Deno.test("SmcpAgent receives every kind of answer of a Computer", async () => {
  const requests: unknown[] = [];
  await using office = await startOffice({
    computers: {
      pc: (event, payload) => {
        const { agent, computer, req_id, ...rest } = Object(payload);
        assertEquals(
          [agent, computer, typeof req_id],
          ["planner", "pc", "string"],
        );
        requests.push([event, rest]);
        return ANSWERS[event];
      },
    },
  });
  const { agent } = office;
  requests.length = 0;
  const params = { a: [1, { b: null }] };
  const finder = { keywords: ["a"], fileType: "pdf", limit: 1 };
  assertEquals<unknown[]>([
    await agent.getTools("pc"),
    await agent.getConfig("pc"),
    await agent.getDesktop("pc", { size: 3, window: "window://h" }),
    (await agent.getResources("pc", "files", { cursor: "c1" })).resources,
    (await agent.getDpe("pc", "dpe://h/d", { timeoutMs: 4_001 })).uri,
    (await agent.getFinder("pc", finder)).total_count,
    (await agent.callTool("pc", "echo", params, { timeoutMs: 6_500 })).content,
  ], [
    [tool("echo")],
    { servers: {} },
    ["window://h"],
    [{ uri: "x:1", odd: null, mimeType: "text/plain" }],
    "file:///d",
    0,
    [{ type: "text", text: "done" }],
  ]);
  assertEquals(requests, [
    ["client:get_tools", {}],
    ["client:get_config", {}],
    ["client:get_desktop", { desktop_size: 3, window: "window://h" }],
    ["client:get_resources", { mcp_server: "files", cursor: "c1" }],
    ["client:get_dpe", { uri: "dpe://h/d", timeout: 5 }],
    ["client:get_finder", { keywords: ["a"], file_type: "pdf", limit: 1 }],
    ["client:tool_call", {
      tool_name: "echo",
      params,
      timeout: 307,
      confirmation_timeout: 300,
      progress: "waiting",
    }],
  ]);
});

Deno.test("SmcpAgent.watchResource() requests the changes of a resource, or their end", async () => {
  const requests: unknown[] = [];
  await using office = await startOffice({
    computers: {
      pc: (event, payload) => {
        const { req_id, mcp_server, uri, watch } = Object(payload);
        if (event !== "client:watch_resource") return ANSWERS[event];
        requests.push([mcp_server, uri, watch]);
        return { req_id };
      },
    },
  });
  const { agent } = office;
  await agent.watchResource("pc", "files", "x:1");
  await agent.watchResource("pc", "files", "x:1", { stop: true });
  assertEquals(requests, [["files", "x:1", true], ["files", "x:1", false]]);
});

Deno.test("SmcpAgent.allResources() follows cursors, and stops when they repeat", async () => {
  const next: Record<string, string> = { "": "a", a: "b", b: "a" };
  await using office = await startOffice({
    computers: {
      pc: (event, payload) => {
        if (event !== "client:get_resources") return ANSWERS[event];
        const { cursor = "" } = Object(payload);
        const resources = [{ uri: `x:${cursor}` }];
        return { resources, next_cursor: next[cursor], req_id: "1" };
      },
    },
  });
  const all = office.agent.allResources("pc", "files");
  const uris = (await Array.fromAsync(all)).map(({ uri }) => uri);
  assertEquals(uris, ["x:", "x:a", "x:b"]);
});

Deno.test("SmcpAgent throws protocol errors, flat or in the nested form of 0.1", async () => {
  await using office = await startOffice({
    computers: {
      pc: (event) =>
        event === "client:get_config"
          ? { error: { code: 500, message: "old form" } }
          : ANSWERS[event],
    },
  });
  const { agent } = office;
  const codeOf = async (request: () => Promise<unknown>, says: string) =>
    (await assertRejects(request, ProtocolError, says)).code;
  assertEquals(await codeOf(() => agent.callTool("no", "echo"), '"no"'), 404);
  assertEquals(await codeOf(() => agent.getConfig("pc"), "old form"), 500);
  await agent.leave();
  assertEquals(agent.tools.size, 0);
  assertEquals(await codeOf(() => agent.getTools("pc"), ""), 4103);
  assertEquals(await codeOf(() => agent.listRoom(), ""), 4103);
});

Deno.test("SmcpAgent sends no request that the protocol does not allow: 400 names the field (protocol §4, §6)", async () => {
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
    ...[0, -1, 3_600_001, Infinity, NaN].flatMap((timeoutMs) =>
      [
        () => agent.callTool("pc", "echo", {}, { timeoutMs }),
        () => agent.getDpe("pc", "dpe://h/d", { timeoutMs }),
        () => agent.openDocument("pc", "dpe://h/d", { timeoutMs }),
      ].map((ask): [string, typeof ask] => ["timeoutMs", ask])
    ),
    ...[-1, 3_600_001, Infinity, NaN].map((confirmationTimeoutMs) => {
      const ask = () =>
        agent.callTool("pc", "echo", {}, { confirmationTimeoutMs });
      return ["confirmationTimeoutMs", ask] as [string, typeof ask];
    }),
  ];
  for (const [field, ask] of bad) {
    const error = await assertRejects(ask, ProtocolError, `${field}: `);
    assertEquals(error.code, 400);
  }
  const timeoutMs: number = Object("1000");
  for (
    const ask of [
      () => agent.callTool("pc", "echo", {}, { timeoutMs }),
      () => agent.getDpe("pc", "dpe://h/d", { timeoutMs }),
    ]
  ) await assertRejects(ask, TypeError, "timeoutMs");
});

Deno.test("SmcpAgent.callTool() cancels a call at its timeout, and returns the timeout result", async () => {
  const cancelled = Promise.withResolvers<unknown>();
  await using office = await startOffice({
    computers: { pc: hanging("client:tool_call").pc },
  });
  const watcher = await office.addScriptedComputer("watcher", answering);
  watcher.on("notification", ({ event, payload }) => {
    if (event === "notify:tool_call_cancel") cancelled.resolve(payload);
  });
  const options = { timeoutMs: 1_000, reqId: "r1" };
  const result = await office.agent.callTool("pc", "slow", {}, options);
  assertEquals([result.isError, resultMeta(result)], [true, {
    error_code: 4004,
    a2c_timeout: true,
    timeout: true,
  }]);
  assertEquals(result.meta, result._meta);
  const payload = { agent: "planner", req_id: "r1", reason: "timeout" };
  assertEquals(await cancelled.promise, payload);
});

Deno.test("each listener of a call receives its increasing progress, until it ends", async () => {
  const { pc, requested } = hanging("client:tool_call");
  await using office = await startOffice();
  const computer = await office.addScriptedComputer("pc", pc);
  const { agent } = office;
  const requests = requestsOf(agent);
  const received: [listener: string, progress: number][] = [];
  let last = Promise.withResolvers<void>();
  const listen = (name: string) =>
    requests.follow("1", ({ progress }) => {
      received.push([name, progress]);
      if (name === "b") last.resolve();
    });
  const endA = listen("a");
  const endB = listen("b");
  const abort = new AbortController();
  const options = { reqId: "1", signal: abort.signal, onProgress: () => {} };
  const call = assertRejects(() => agent.callTool("pc", "x", {}, options));
  await requested;
  const report = async (...steps: number[]) => {
    last = Promise.withResolvers();
    for (const progress of steps) {
      const payload = { agent: "planner", req_id: "1", computer: "pc" };
      computer.send("server:tool_call_progress", { ...payload, progress });
    }
    await last.promise;
  };
  await report(1);
  endA();
  await report(1, 0, 2);
  endB();
  assertEquals(received, [["a", 1], ["b", 1], ["b", 2]]);
  abort.abort();
  await call;
  assertThrows(() => requestsOf({}), TypeError, "no SmcpAgent");
});

Deno.test("SmcpAgent updates its tool catalogue on notifications", async () => {
  await using office = await startOffice({ computers: { pc: answering } });
  const { agent } = office;
  assertEquals([...agent.tools], [["pc", [tool("echo")]]]);

  const added = once(agent, "tools");
  let tools = [tool("one")];
  const second = await office.addScriptedComputer(
    "second",
    () => ({ tools, req_id: "1" }),
  );
  assertEquals(await added, { computer: "second", tools });

  const changed = once(agent, "tools");
  tools = [tool("one"), tool("two")];
  second.send("server:update_tool_list", { computer: "second" });
  assertEquals(await changed, { computer: "second", tools });

  const gone = once(agent, "tools");
  await second.close();
  assertEquals(await gone, { computer: "second", tools: undefined });
  assertEquals([...agent.tools.keys()], ["pc"]);
});

Deno.test("SmcpAgent.followDesktop() fetches the desktop again after each change (protocol §9)", async () => {
  let desktops = ["window://h/1"];
  const script = (event: string) =>
    event === "client:get_desktop" ? { desktops, req_id: "1" } : ANSWERS[event];
  await using office = await startOffice();
  const { agent } = office;
  const pc = await office.addScriptedComputer("pc", script);
  const abort = new AbortController();
  const seen = agent.followDesktop("pc", { signal: abort.signal });
  assertEquals((await seen.next()).value, ["window://h/1"]);

  desktops = ["window://h/2"];
  pc.send("server:update_desktop", { computer: "pc" });
  assertEquals((await seen.next()).value, ["window://h/2"]);

  const next = seen.next();
  await pc.close(); // away for a while
  desktops = ["window://h/3"];
  await office.addScriptedComputer("pc", script);
  assertEquals((await next).value, ["window://h/3"]);

  const last = assertRejects(() => seen.next(), Error, "seen enough");
  abort.abort(new Error("seen enough"));
  await last;

  const unknown = agent.followDesktop("nobody");
  await assertRejects(() => unknown.next(), ProtocolError, "nobody");
  const closed = agent.followDesktop("pc");
  await closed.next();
  const end = assertRejects(() => closed.next(), ConnectionError);
  await agent.close();
  await end;
});

for (
  const [name, transports, options, named, requests] of [
    // It takes longer than Socket.IO waits before it tries again.
    ["polling", ["polling", "websocket"], { delayMs: 1_500 }, "0.9.0", 1],
    ["websocket", ["websocket"], { delayMs: 1_500 }, "0.9.0", 2],
    ["close code 4900", ["websocket"], { closeCode: 4900 }, "0.9.0", 2],
    [
      "close code 4900 without a reason",
      ["websocket"],
      { closeCode: 4900 },
      undefined,
      2,
    ],
  ] as const
) {
  Deno.test(`SmcpAgent.connect() throws ProtocolVersionError on 4008 without a reconnect loop: ${name} (protocol §2)`, async () => {
    await using server = await versionRefusingServer(() => named, options);
    await using agent = new SmcpAgent({
      url: server.url,
      name: "old",
      transports: [...transports],
    });
    const refused = once(agent, "refused");
    const error = await assertRejects(
      () => agent.connect(),
      ProtocolVersionError,
    );
    assertEquals(
      [error.serverVersion, error.clientVersion, agent.state, server.versions],
      [named ?? "unknown", "0.2.0", "closed", Array(requests).fill("0.2.0")],
    );
    assertEquals(await refused, error);
  });
}

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

Deno.test("SmcpAgent calls fail at once while offline unless the caller chose to wait", async () => {
  const server = createSmcpServer();
  const { url } = await server.listen({ port: 0 });
  await using agent = new SmcpAgent({ url, name: "planner" });
  await agent.connect();
  await agent.join(OFFICE);
  const lost = once(agent, "disconnected");
  await server.close();
  await lost;
  const call = () => agent.callTool("pc", "echo");
  const error = await assertRejects(call, ConnectionError, "being restored");
  assertEquals(error.code, "offline");
});
