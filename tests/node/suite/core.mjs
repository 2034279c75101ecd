// The core of the end-to-end suite, against the installed package.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import {
  ConnectionError,
  ProtocolError,
  ProtocolVersionError,
  resultMeta,
  SmcpAgent,
} from "@a2c-smcp/sdk/agent";
import { PROTOCOL_VERSION } from "@a2c-smcp/sdk/protocol";
import { io } from "socket.io-client";
import { SmcpComputer } from "@a2c-smcp/sdk/computer";
import { apiKeys, createSmcpServer } from "@a2c-smcp/sdk/server";
import { createFetchServer } from "@a2c-smcp/sdk/server/fetch";
import { startOffice } from "@a2c-smcp/sdk/testing";
import { agentOf, listen, members, OFFICE, servers } from "./kit.mjs";

/** A Server, a Computer with a real MCP server, and an Agent, all joined. */
async function start(t, more) {
  const { server, url } = await listen(t);
  return { server, url, ...await members(t, { url }, more) };
}

const isProtocolError = (expected) => (error) =>
  error instanceof ProtocolError && error.code === expected;

test("testing: an office with a real and a scripted Computer, closed by one call", async (t) => {
  const office = await startOffice({
    computers: {
      pc: { servers: servers() },
      script: () => ({ content: [{ type: "text", text: "hello" }] }),
    },
  });
  t.after(() => office.close());
  const sum = await office.agent.callTool("pc", "add", { a: 2, b: 3 });
  assert.equal(sum.content[0].text, "5");
  const said = await office.agent.callTool("script", "say");
  assert.equal(said.content[0].text, "hello");
  await office.close();
  assert.equal(office.agent.state, "closed");
});

test("an office: members, a second Agent, tools, failures, the desktop", async (t) => {
  const { agent, url } = await start(t);
  const names = (await agent.listRoom()).map(({ name }) => name);
  assert.deepEqual(names.sort(), ["ann", "pc"]);
  const second = agentOf(t, { url, name: "bob" });
  await second.connect();
  await assert.rejects(second.join(OFFICE), (error) => {
    assert.ok(error instanceof ConnectionError);
    assert.equal(error.code, "refused");
    return /already has an agent/.test(error.message);
  });
  assert.deepEqual(agent.tools.get("pc").map(({ name }) => name), [
    ...["add", "picture", "fail", "slow", "slow_began", "slow_aborted"],
  ]);
  const sum = await agent.callTool("pc", "add", { a: 2, b: 3 });
  assert.deepEqual(sum.content, [{ type: "text", text: "5" }]);
  assert.equal((await agent.callTool("pc", "fail")).isError, true);
  const unknown = await agent.callTool("pc", "nope");
  assert.equal(resultMeta(unknown).error_code, 4001);
  await assert.rejects(agent.callTool("nobody", "add"), isProtocolError(404));
  const windows = await agent.getDesktop("pc");
  assert.deepEqual(windows, ["window://clock\n\nIt is noon"]);
});

test("cancel: the caller's signal reaches the MCP server", async (t) => {
  const { agent } = await start(t);
  const abort = new AbortController();
  const call = agent.callTool("pc", "slow", {}, { signal: abort.signal });
  await agent.callTool("pc", "slow_began");
  abort.abort(new Error("no longer wanted"));
  await assert.rejects(call, /no longer wanted/);
  const { content } = await agent.callTool("pc", "slow_aborted");
  assert.equal(content[0].text, "it was aborted");
});

test("drain: a running call is answered before the Server closes, here at its timeout", async (t) => {
  const { agent, server } = await start(t);
  const call = agent.callTool("pc", "slow", {}, { timeoutMs: 1_000 });
  await agent.callTool("pc", "slow_began");
  const closed = server.close();
  assert.equal(resultMeta(await call).error_code, 4004);
  await closed;
});

test("VRL: the compiler in WebAssembly runs on each result", async (t) => {
  const { agent } = await start(t, { vrl: ".tool = .tool_name" });
  const result = await agent.callTool("pc", "add", { a: 1, b: 1 });
  const { a2c_vrl_transformed } = resultMeta(result);
  assert.equal(JSON.parse(a2c_vrl_transformed).tool, "add");
});

test("version: the error names the Server's version", async (t) => {
  const { url } = await listen(t, { protocol: "0.1" });
  for (const options of [{}, { transports: ["websocket"] }]) {
    await assert.rejects(
      agentOf(t, { url, ...options }).connect(),
      (error) =>
        error instanceof ProtocolVersionError &&
        error.serverVersion === "0.1.2",
    );
  }
});

test("authentication: a wrong key is 401, and so are sessions of a removed key, which end", async (t) => {
  const [ada, bob] = ["ada", "bob"].map((id) => ({ id, key: `key of ${id}` }));
  let keys = apiKeys([ada, bob]);
  const { server, url } = await listen(t, {
    authenticator: {
      authenticate: (credentials) => keys.authenticate(credentials),
      refresh: (identity) => keys.refresh(identity),
    },
  });
  const wrong = agentOf(t, { url, auth: { api_key: "another" } });
  await assert.rejects(wrong.connect(), isProtocolError(401));
  const connect = async ({ id, key }) => {
    // Where the Python SDK puts it.
    const agent = agentOf(t, { url, name: id, auth: { token: key } });
    await agent.connect();
    await agent.join(id);
    return agent;
  };
  const agent = await connect(ada);
  await connect(bob);
  const refused = new Promise((resolve) => agent.on("refused", resolve));
  keys = apiKeys([bob]);
  await server.recheckSessions();
  assert.equal((await refused).code, 401);
  assert.equal(server.stats.members, 1);
});

test("log: a reader that stops reading stderr does not block the Server, or its exit", async (t) => {
  const server = spawn(process.execPath, [
    join("node_modules", ".bin", "smcp-server"),
    ...["--port", "0", "--max-events-per-second", "1000000"],
  ], { stdio: ["ignore", "pipe", "pipe"] });
  t.after(() => server.kill("SIGKILL"));
  const [line] = await once(server.stdout, "data");
  const [url] = /http:\/\/[^\s/]+/.exec(String(line));
  const socket = io(`${url}/smcp`, {
    path: "/smcp/",
    query: { a2c_version: PROTOCOL_VERSION },
    transports: ["websocket"],
  });
  t.after(() => socket.disconnect());
  await once(socket, "connect");
  // One log line each: more than the pipe and the queue hold.
  const name = `client:${"x".repeat(80)}`;
  for (let i = 0; i < 10_000; i++) socket.emit(name);
  const { code } = await socket.emitWithAck(name);
  assert.equal(code, 400);
  socket.disconnect();
  server.kill("SIGTERM");
  assert.deepEqual(await once(server, "exit"), [0, null]);
});

test("fetch: without Deno.upgradeWebSocket the error names what to use", () => {
  assert.throws(() => createFetchServer(), {
    name: "TypeError",
    message: /no Deno\.upgradeWebSocket.*createSmcpServer\(\).*listen\(\)/,
  });
});

test("CommonJS: require() returns the same classes", () => {
  const require = createRequire(import.meta.url);
  const sdk = (entry) => require(`@a2c-smcp/sdk${entry}`);
  assert.equal(sdk("/agent").SmcpAgent, SmcpAgent);
  assert.equal(sdk("/server").createSmcpServer, createSmcpServer);
  assert.equal(sdk("/computer").SmcpComputer, SmcpComputer);
  assert.equal(sdk("").SmcpAgent, SmcpAgent);
});
