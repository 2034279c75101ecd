// The core of the end-to-end suite, against the installed package.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
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
import { localDirResolver, SmcpComputer } from "@a2c-smcp/sdk/computer";
import { apiKeys, createSmcpServer } from "@a2c-smcp/sdk/server";
import { createFetchServer } from "@a2c-smcp/sdk/server/fetch";
import { startOffice as startTestOffice } from "@a2c-smcp/sdk/testing";

const OFFICE = "north";

/** A Server, a Computer with a real MCP server, and an Agent, all joined; closed after the test. */
async function startOffice(t, { server: options, ...mcpServer } = {}) {
  const server = createSmcpServer(options);
  t.after(() => server.close({ graceMs: 0 }));
  const { url } = await server.listen();
  const computer = new SmcpComputer({
    url,
    name: "pc",
    servers: {
      fixture: {
        type: "stdio",
        server_parameters: {
          command: process.execPath,
          args: ["mcp_server.mjs"],
        },
        default_tool_meta: { auto_apply: true },
        ...mcpServer,
      },
    },
  });
  t.after(() => computer.close());
  await computer.connect();
  await computer.join(OFFICE);
  await computer.serversSettled();
  const agent = new SmcpAgent({ url, name: "ann" });
  t.after(() => agent.close());
  await agent.connect();
  await agent.join(OFFICE);
  await agent.toolsSettled();
  return { server, url, computer, agent };
}

test("testing: an office with a real and a scripted Computer, closed by one call", async (t) => {
  const office = await startTestOffice({
    computers: {
      pc: {
        servers: {
          fixture: {
            type: "stdio",
            server_parameters: {
              command: process.execPath,
              args: ["mcp_server.mjs"],
            },
          },
        },
      },
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

test("joins: both are members, and a second agent is refused with the reason", async (t) => {
  const { agent, url } = await startOffice(t);
  const members = await agent.listRoom();
  assert.deepEqual(members.map(({ name }) => name).sort(), ["ann", "pc"]);
  const second = new SmcpAgent({ url, name: "bob" });
  t.after(() => second.close());
  await second.connect();
  await assert.rejects(second.join(OFFICE), (error) => {
    assert.ok(error instanceof ConnectionError);
    assert.equal(error.code, "refused");
    return /already has an agent/.test(error.message);
  });
});

test("tools: listed after the join, called, and failures are results", async (t) => {
  const { agent } = await startOffice(t);
  assert.deepEqual(agent.tools.get("pc").map(({ name }) => name), [
    "add",
    "picture",
    "fail",
    "slow",
    "slow_began",
    "slow_aborted",
  ]);
  const sum = await agent.callTool("pc", "add", { a: 2, b: 3 });
  assert.deepEqual(sum.content, [{ type: "text", text: "5" }]);
  assert.equal((await agent.callTool("pc", "fail")).isError, true);
  const unknown = await agent.callTool("pc", "nope");
  assert.equal(resultMeta(unknown).error_code, 4001);
});

test("routing: an unknown Computer is a ProtocolError 404", async (t) => {
  const { agent } = await startOffice(t);
  await assert.rejects(
    agent.callTool("nobody", "add"),
    (error) => error instanceof ProtocolError && error.code === 404,
  );
});

test("cancel: the caller's signal reaches the MCP server", async (t) => {
  const { agent } = await startOffice(t);
  const giveUp = new AbortController();
  const call = agent.callTool("pc", "slow", {}, { signal: giveUp.signal });
  await agent.callTool("pc", "slow_began");
  giveUp.abort(new Error("no longer wanted"));
  await assert.rejects(call, /no longer wanted/);
  const { content } = await agent.callTool("pc", "slow_aborted");
  assert.equal(content[0].text, "it was aborted");
});

test("timeout: a timeout result, and the call is cancelled at the MCP server", async (t) => {
  const { agent } = await startOffice(t);
  const result = await agent.callTool("pc", "slow", {}, { timeoutMs: 1_000 });
  assert.equal(resultMeta(result).error_code, 4004);
  const { content } = await agent.callTool("pc", "slow_aborted");
  assert.equal(content[0].text, "it was aborted");
});

test("desktop: windows with their contents", async (t) => {
  const { agent } = await startOffice(t);
  const windows = await agent.getDesktop("pc");
  assert.deepEqual(windows, ["window://clock\n\nIt is noon"]);
});

test("documents: found, published in a local directory, and read", async (t) => {
  const { agent, computer } = await startOffice(t);
  const dir = await mkdtemp(join(tmpdir(), "smcp-node-"));
  t.after(() => rm(dir, { recursive: true }));
  computer.registerDpeResolver(localDirResolver(dir));
  const { documents } = await agent.getFinder("pc", { keywords: ["report"] });
  assert.deepEqual(documents.map(({ uri }) => uri), ["dpe://files/report"]);
  const document = await agent.openDocument("pc", "dpe://files/report");
  assert.equal(document.info.title, "Report");
  const { elements } = await document.page(0);
  assert.equal(elements[0].text, "Hello");
  assert.equal((await readdir(dir)).length, 1);
});

test("VRL: the compiler in WebAssembly runs on each result", async (t) => {
  const { agent } = await startOffice(t, { vrl: ".tool = .tool_name" });
  const result = await agent.callTool("pc", "add", { a: 1, b: 1 });
  const { a2c_vrl_transformed } = resultMeta(result);
  assert.equal(JSON.parse(a2c_vrl_transformed).tool, "add");
});

test("version: the error names the Server's version", async (t) => {
  const server = createSmcpServer({ protocol: "0.1" });
  t.after(() => server.close());
  const { url } = await server.listen();
  for (const transports of [undefined, ["websocket"]]) {
    const agent = new SmcpAgent({
      url,
      name: "ann",
      ...(transports && { transports }),
    });
    t.after(() => agent.close());
    await assert.rejects(
      agent.connect(),
      (error) =>
        error instanceof ProtocolVersionError &&
        error.serverVersion === "0.1.2",
    );
  }
});

test("authentication: a wrong key is a ProtocolError 401", async (t) => {
  const key = "a key that is long enough to be one";
  const server = createSmcpServer({
    authenticator: apiKeys([{ id: "ann", key }]),
  });
  t.after(() => server.close());
  const { url } = await server.listen();
  const agent = (api_key) => {
    const agent = new SmcpAgent({ url, name: "ann", auth: { api_key } });
    t.after(() => agent.close());
    return agent;
  };
  await agent(key).connect();
  await assert.rejects(
    agent("another").connect(),
    (error) => error instanceof ProtocolError && error.code === 401,
  );
});

test("authentication: sessions of a removed key end, and their clients get 401", async (t) => {
  const [ada, bob] = ["ada", "bob"].map((id) => ({ id, key: `key of ${id}` }));
  let keys = apiKeys([ada, bob]);
  const server = createSmcpServer({
    authenticator: {
      authenticate: (credentials) => keys.authenticate(credentials),
      refresh: (identity) => keys.refresh(identity),
    },
  });
  t.after(() => server.close());
  const { url } = await server.listen();
  const connect = async ({ id, key }) => {
    // Where the Python SDK puts it.
    const agent = new SmcpAgent({ url, name: id, auth: { token: key } });
    t.after(() => agent.close());
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

test("TLS: client certificates over both transports, and a failure reports what is missing", async (t) => {
  const { ca, clientCa, server: own, client, expired } = JSON.parse(
    await readFile("certificates.json", "utf8"),
  );
  const server = createSmcpServer();
  t.after(() => server.close({ graceMs: 0 }));
  const { url } = await server.listen({ tls: { ...own, clientCa } });
  for (const transport of ["polling", "websocket"]) {
    const connect = async (tls) => {
      const agent = new SmcpAgent({
        url,
        name: "ann",
        transports: [transport],
        tls,
      });
      t.after(() => agent.close());
      await agent.connect();
      await agent.join(OFFICE);
      await agent.close();
    };
    await connect({ ca, ...client });
    for (
      const [tls, says] of [
        [{ ...client }, /does not know; .*tls\.ca$/],
        [{ ca }, /requires a client certificate/],
        [{ ca, ...expired }, /client certificate tls\.cert has expired/],
      ]
    ) {
      await assert.rejects(connect(tls), (error) => {
        assert.ok(error instanceof ConnectionError, String(error));
        assert.equal(error.code, "tls");
        assert.match(error.message, says);
        return true;
      });
    }
  }
});

test("drain: a running call is answered before the Server closes", async (t) => {
  const { agent, server } = await startOffice(t);
  const call = agent.callTool("pc", "slow", {}, { timeoutMs: 1_000 });
  await agent.callTool("pc", "slow_began");
  const closed = server.close();
  assert.equal(resultMeta(await call).error_code, 4004);
  await closed;
});

test("fetch: without Deno.upgradeWebSocket the error names what to use", () => {
  assert.throws(() => createFetchServer(), {
    name: "TypeError",
    message: /no Deno\.upgradeWebSocket.*createSmcpServer\(\).*listen\(\)/,
  });
});

test("CommonJS: require() returns the same classes", () => {
  const require = createRequire(import.meta.url);
  assert.equal(require("@a2c-smcp/sdk/agent").SmcpAgent, SmcpAgent);
  assert.equal(
    require("@a2c-smcp/sdk/server").createSmcpServer,
    createSmcpServer,
  );
  assert.equal(require("@a2c-smcp/sdk/computer").SmcpComputer, SmcpComputer);
  assert.equal(require("@a2c-smcp/sdk").SmcpAgent, SmcpAgent);
});
