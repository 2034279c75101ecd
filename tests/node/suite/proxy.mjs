// Agent and Computer over TLS, and behind an HTTP proxy, with the installed package. Through a proxy the
// Server's name is one that only the proxy finds.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import process from "node:process";
import { test } from "node:test";
import { promisify } from "node:util";
import { ConnectionError, SmcpAgent } from "@a2c-smcp/sdk/agent";
import { agentOf, listen, members, OFFICE } from "./kit.mjs";

// Copied beside this file, from where it is in the repository.
const { startHttpProxy } = await import(`${import.meta.dirname}/http_proxy.ts`);

const HOST = "smcp.example";
const { ca, clientCa, server: own, named, client, expired } = JSON.parse(
  await readFile("certificates.json", "utf8"),
);
const BOTH = [["polling"], ["websocket"]];

async function serve(t, tls) {
  const listening = { port: 0, ...(tls && { tls }) };
  const { url, port } = await listen(t, { hosts: [HOST] }, listening);
  return { here: url, url: `${tls ? "https" : "http"}://${HOST}:${port}` };
}

async function proxyTo(t, url, options) {
  const proxy = await startHttpProxy(url, options);
  t.after(() => proxy[Symbol.asyncDispose]());
  return proxy;
}

const sum = async (agent) =>
  (await agent.callTool("pc", "add", { a: 2, b: 3 })).content[0].text;

for (const secure of [false, true]) {
  for (const transports of BOTH) {
    const kind = secure
      ? "an https: proxy that requires a password, to a TLS Server"
      : "a proxy";
    test(`proxy: a call through ${kind}, over ${transports}`, async (t) => {
      const { here, url } = await serve(t, secure && named);
      const options = secure ? { tls: own, credentials: "ada:s3cret" } : {};
      const proxy = await proxyTo(t, here, options);
      const tls = secure && { tls: { ca } };
      const common = { url, proxy: proxy.url, transports, ...tls };
      const { agent } = await members(t, common);
      assert.equal(await sum(agent), "5");
      assert.deepEqual([...new Set(proxy.targets)], [new URL(url).host]);
    });
  }
}

test("proxy: cut in the middle of a call, which is lost; both come back through it", async (t) => {
  const { here, url } = await serve(t);
  const proxy = await proxyTo(t, here);
  const { agent, computer } = await members(t, { url, proxy: proxy.url });
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
  const { here, url } = await serve(t);
  const walled = await proxyTo(t, here, { refuse: 403 });
  const env = { HTTP_PROXY: walled.url };
  const refused = `of HTTP_PROXY does not allow a connection to ${HOST}`;
  for (
    const [variables, options, code, says] of [
      [
        env,
        {},
        "proxy",
        `the proxy http://${new URL(walled.url).host} ${refused}`,
      ],
      [env, { proxy: false }, "unreachable", "ENOTFOUND"],
      [{ ...env, NO_PROXY: "example" }, {}, "unreachable", "ENOTFOUND"],
    ]
  ) {
    Object.assign(process.env, variables);
    const agent = new SmcpAgent({ url, name: "ann", ...options });
    for (const name of Object.keys(variables)) delete process.env[name];
    await assert.rejects(agent.connect(), (error) => {
      assert.ok(error instanceof ConnectionError, String(error));
      assert.equal(error.code, code);
      return error.message.includes(says);
    });
  }
});

test("proxy: one that the runtime itself takes of the environment is not taken with proxy: false, nor for this machine", async (t) => {
  const { here } = await serve(t);
  const program = `
    import assert from "node:assert/strict";
    import { SmcpAgent } from "@a2c-smcp/sdk/agent";
    const refused = ({ cause, code = cause.code }) => code === "ECONNREFUSED";
    await assert.rejects(fetch("${here}/health"), refused);
    for (const options of [{}, { proxy: false }]) {
      for (const transports of [["polling"], ["websocket"]]) {
        const url = "${here}";
        const agent = new SmcpAgent({ url, name: "ann", transports, ...options });
        await agent.connect();
        await agent.close();
      }
    }
    console.log("works");
  `;
  const proxied = { HTTP_PROXY: "http://127.0.0.1:1", NO_PROXY: "" };
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--input-type=module", "--eval", program],
    { env: { ...process.env, NODE_USE_ENV_PROXY: "1", ...proxied } },
  );
  assert.equal(stdout, "works\n");
});

test("TLS: client certificates over both transports, and a failure reports what is missing", async (t) => {
  const asking = await serve(t, { ...own, clientCa });
  const plain = await serve(t);
  const secure = await serve(t, own);
  const rows = [
    [asking.here, client, /does not know; .*tls\.ca$/],
    [asking.here, { ca }, /requires a client certificate/],
    [
      asking.here,
      { ca, ...expired },
      /client certificate tls\.cert has expired/,
    ],
    [secure.here.replace("https:", "http:"), , /write https:\/\/ instead of/],
    [plain.here.replace("http:", "https:"), , /write http:\/\/ instead of/],
  ];
  for (const transports of BOTH) {
    const agent = (url, tls) =>
      agentOf(t, { url, transports, ...(tls && { tls }) });
    const known = agent(asking.here, { ca, ...client });
    await known.connect();
    await known.join(OFFICE);
    await known.close();
    for (const [url, tls, says] of rows) {
      await assert.rejects(agent(url, tls).connect(), (error) => {
        assert.ok(error instanceof ConnectionError, String(error));
        assert.equal(error.code, "tls");
        assert.match(error.message, says);
        return true;
      });
    }
  }
});
