// Agent and Computer behind an HTTP proxy, with the installed package. The Server's name is one that
// only the proxy finds.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import process from "node:process";
import { test } from "node:test";
import { promisify } from "node:util";
import { ConnectionError, SmcpAgent } from "@a2c-smcp/sdk/agent";
import { SmcpComputer } from "@a2c-smcp/sdk/computer";
import { createSmcpServer } from "@a2c-smcp/sdk/server";

// Copied beside this file, from where it is in the repository.
const { startHttpProxy } = await import(`${import.meta.dirname}/http_proxy.ts`);

const OFFICE = "north";
const HOST = "smcp.example";
const { ca, server: here, named } = JSON.parse(
  await readFile("certificates.json", "utf8"),
);

async function serve(t, tls) {
  const server = createSmcpServer({ hosts: [HOST] });
  t.after(() => server.close({ graceMs: 0 }));
  const { url, port } = await server.listen({ port: 0, ...(tls && { tls }) });
  return { here: url, url: `${tls ? "https" : "http"}://${HOST}:${port}` };
}

async function proxyTo(t, url, options) {
  const proxy = await startHttpProxy(url, options);
  t.after(() => proxy[Symbol.asyncDispose]());
  return proxy;
}

async function members(t, common) {
  const computer = new SmcpComputer({
    ...common,
    name: "pc",
    servers: {
      fixture: {
        type: "stdio",
        server_parameters: {
          command: process.execPath,
          args: ["mcp_server.mjs"],
        },
        default_tool_meta: { auto_apply: true },
      },
    },
  });
  t.after(() => computer.close());
  await computer.connect();
  await computer.serversSettled();
  await computer.join(OFFICE);
  const agent = new SmcpAgent({ ...common, name: "ann" });
  t.after(() => agent.close());
  await agent.connect();
  await agent.join(OFFICE);
  return { agent, computer };
}

const sum = async (agent) =>
  (await agent.callTool("pc", "add", { a: 2, b: 3 })).content[0].text;

for (const secure of [false, true]) {
  for (const over of ["polling", "websocket"]) {
    const kind = secure
      ? "an https: proxy that wants a password, to a TLS Server"
      : "a proxy";
    test(`proxy: a call through ${kind}, over ${over}`, async (t) => {
      const server = await serve(t, secure && named);
      const proxy = await proxyTo(
        t,
        server.here,
        secure ? { tls: here, credentials: "ada:s3cret" } : {},
      );
      const { agent } = await members(t, {
        url: server.url,
        proxy: proxy.url,
        transports: [over],
        ...(secure && { tls: { ca } }),
      });
      assert.equal(await sum(agent), "5");
      assert.deepEqual([...new Set(proxy.targets)], [new URL(server.url).host]);
    });
  }
}

test("proxy: cut in the middle of a call, which is lost; both come back through it", async (t) => {
  const server = await serve(t);
  const proxy = await proxyTo(t, server.here);
  const { agent, computer } = await members(t, {
    url: server.url,
    proxy: proxy.url,
  });
  const back = [agent, computer].map((member) =>
    new Promise((resolve) => {
      member.on("joined", ({ rejoined }) => rejoined && resolve());
    })
  );
  const lost = assert.rejects(
    agent.callTool("pc", "slow"),
    (error) => error instanceof ConnectionError && error.code === "lost",
  );
  await agent.callTool("pc", "slow_began");
  proxy.cut();
  await lost;
  await Promise.all(back);
  assert.equal(await sum(agent), "5");
});

test("proxy: that of the environment, but not for NO_PROXY and with proxy: false; a refusal names it", async (t) => {
  const server = await serve(t);
  const walled = await proxyTo(t, server.here, { refuse: 403 });
  const failure = async (env, options = {}) => {
    Object.assign(process.env, env);
    const agent = new SmcpAgent({ url: server.url, name: "ann", ...options });
    for (const name of Object.keys(env)) delete process.env[name];
    const error = await agent.connect().catch((error) => error);
    assert.ok(error instanceof ConnectionError, String(error));
    return `${error.code}: ${error.message}`;
  };
  const { host } = new URL(walled.url);
  const refused = `the proxy http://${host} of HTTP_PROXY does not allow`;
  const env = { HTTP_PROXY: walled.url };
  assert.ok((await failure(env)).includes(refused));
  const direct = /^unreachable: .*ENOTFOUND/;
  assert.match(await failure(env, { proxy: false }), direct);
  assert.match(await failure({ ...env, NO_PROXY: "example" }), direct);
});

test("proxy: one that the runtime itself takes of the environment is not taken with proxy: false, nor for this machine", async (t) => {
  const server = await serve(t);
  const program = `
    import assert from "node:assert/strict";
    import { SmcpAgent } from "@a2c-smcp/sdk/agent";
    const refused = ({ cause, code = cause.code }) => code === "ECONNREFUSED";
    await assert.rejects(fetch("${server.here}/health"), refused);
    for (const options of [{}, { proxy: false }]) {
      for (const transports of [["polling"], ["websocket"]]) {
        const url = "${server.here}";
        const agent = new SmcpAgent({ url, name: "ann", transports, ...options });
        await agent.connect();
        await agent.close();
      }
    }
    console.log("works");
  `;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--input-type=module", "--eval", program],
    {
      env: {
        ...process.env,
        NODE_USE_ENV_PROXY: "1",
        HTTP_PROXY: "http://127.0.0.1:1",
        NO_PROXY: "",
      },
    },
  );
  assert.equal(stdout, "works\n");
});

test("TLS at one side alone is named", async (t) => {
  const [plain, secure] = [await serve(t), await serve(t, here)];
  const rows = [
    [secure.here.replace("https:", "http:"), /write https:\/\/ instead of/],
    [plain.here.replace("http:", "https:"), /write http:\/\/ instead of/],
  ];
  for (const [url, says] of rows) {
    for (const transports of [["polling"], ["websocket"]]) {
      const agent = new SmcpAgent({ url, name: "ann", transports });
      await assert.rejects(agent.connect(), { code: "tls", message: says });
    }
  }
});
