/**
 * Agent and Computer behind an HTTP proxy. The Server is called by a name that only the proxy knows.
 *
 * @module
 */
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
// @ts-types="@modelcontextprotocol/sdk/server/mcp"
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { ConnectionError, SmcpAgent } from "../../../agent/mod.ts";
import { SmcpComputer } from "../../../computer/mod.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import { newAuthority, newCertificate } from "../../support/certificates.ts";
import { startHttpProxy } from "../../support/http_proxy.ts";
import { OFFICE } from "../../support/office.ts";

const ca = await newAuthority("company");
const HOST = "smcp.example";
const certificate = await newCertificate("server", ca, { host: HOST });
const forProxy = await newCertificate("proxy", ca);

async function serving(tls?: { cert: string; key: string }) {
  const smcp = createSmcpServer({ hosts: [HOST] });
  const { url, port } = await smcp.listen({ port: 0, ...(tls && { tls }) });
  return {
    here: url,
    named: `${tls ? "https" : "http"}://${HOST}:${port}`,
    [Symbol.asyncDispose]: () => smcp.close(),
  };
}

/** An MCP server whose calls wait until the test lets them go on. */
function gate() {
  const [began, goOn] = [
    Promise.withResolvers<void>(),
    Promise.withResolvers<void>(),
  ];
  const server = new McpServer({ name: "gate", version: "1" });
  const text = (text: string) => ({
    content: [{ type: "text" as const, text }],
  });
  server.registerTool("hello", {}, () => text("hello"));
  server.registerTool("wait", {}, async () => {
    began.resolve();
    await goOn.promise;
    return text("over");
  });
  return { server, began: began.promise, goOn: goOn.resolve };
}

/** An Agent and a Computer in an office, which dial as the options say. */
async function members(
  common: {
    url: string;
    proxy: string;
    transports?: ("polling" | "websocket")[];
  },
) {
  const { server, ...calls } = gate();
  const computer = new SmcpComputer({
    ...common,
    name: "pc",
    servers: {
      gate: {
        type: "in-process",
        server,
        default_tool_meta: { auto_apply: true },
      },
    },
  });
  await computer.connect();
  await computer.serversSettled();
  await computer.join(OFFICE);
  const agent = new SmcpAgent({ ...common, name: "planner" });
  await agent.connect();
  await agent.join(OFFICE);
  return {
    ...{ agent, computer, calls },
    [Symbol.asyncDispose]: async () => {
      await agent.close();
      await computer.close();
    },
  };
}

Deno.test("a proxy that cuts its tunnels in the middle of a call ends it, and Agent and Computer come back through it", async () => {
  await using server = await serving();
  await using proxy = await startHttpProxy(server.here);
  await using office = await members({
    url: server.named,
    proxy: proxy.url,
    transports: ["websocket"],
  });
  const { agent, computer, calls } = office;
  const back = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  agent.on("joined", ({ rejoined }) => rejoined && back[0]?.resolve());
  computer.on("joined", ({ rejoined }) => rejoined && back[1]?.resolve());
  const ended = assertRejects(
    () => agent.callTool("pc", "wait", {}),
    ConnectionError,
    "lost",
  );
  await calls.began;
  proxy.cut();
  await ended;
  calls.goOn();
  await Promise.all(back.map(({ promise }) => promise));
  const { content } = await agent.callTool("pc", "hello", {});
  assertEquals(content, [{ type: "text", text: "hello" }]);
});

Deno.test("what a proxy refuses names it, without its password, and says what to do", async () => {
  await using server = await serving();
  await using strict = await startHttpProxy(server.here, {
    credentials: "ada:s3cret",
  });
  await using walled = await startHttpProxy(server.here, { refuse: 403 });
  await using lost = await startHttpProxy(server.here, { refuse: 502 });
  await using secure = await startHttpProxy(server.here, { tls: forProxy });
  await using silent = await startHttpProxy(server.here, { refuse: "hang up" });
  await using windows = await startHttpProxy(server.here, {
    refuse: 407,
    scheme: "NTLM",
  });
  await using moved = await startHttpProxy(server.here, { refuse: 302 });
  const { port } = new URL(strict.url);
  const rows: [proxy: string, says: string][] = [
    [`http://localhost:${port}`, "requires a user and a password"],
    [
      `http://ada:wrong-one@localhost:${port}`,
      "does not accept the user and the password",
    ],
    [walled.url, `does not allow a connection to ${HOST}`],
    [lost.url, `does not reach ${HOST}`],
    ["http://127.0.0.1:1", "nobody listens"],
    ["http://proxy.invalid:3128", "there is no such host"],
    [secure.url, "has a certificate that is not trusted"],
    [secure.url.replace("https:", "http:"), "hung up; is it an HTTP"],
    [silent.url, "hung up; is it an HTTP proxy? Write https:// for it if"],
    [silent.url.replace("http:", "https:"), "write http:// for it"],
    [windows.url, "takes no password, but NTLM"],
    [moved.url, "refused a connection to smcp.example"],
  ];
  for (const transports of [["polling"], ["websocket"]] as const) {
    for (const [proxy, says] of rows) {
      await using agent = new SmcpAgent({
        url: server.named,
        name: "planner",
        proxy,
        transports: [...transports],
      });
      const error = await assertRejects(() => agent.connect(), ConnectionError);
      assertEquals(error.code, "proxy", error.message);
      assertStringIncludes(error.message, says);
      assertStringIncludes(error.message, new URL(proxy).host);
      assert(!/s3cret|wrong-one/.test(error.message), error.message);
    }
  }
});

Deno.test("what is reached through a proxy names it when it fails", async () => {
  await using plain = await serving();
  await using secure = await serving(certificate);
  await using toPlain = await startHttpProxy(plain.here);
  await using toSecure = await startHttpProxy(secure.here);
  const turned = (url: string) =>
    url.includes("https:")
      ? url.replace("https:", "http:")
      : url.replace("http:", "https:");
  const expired = await newCertificate("server", ca, {
    host: HOST,
    expired: true,
  });
  await using old = await serving(expired);
  await using toOld = await startHttpProxy(old.here);
  const rows: [url: string, proxy: string, says: RegExp][] = [
    [turned(secure.named), toSecure.url, /write https:\/\/ instead of http:/],
    [turned(plain.named), toPlain.url, /write http:\/\/ instead of https:/],
    [secure.named, toSecure.url, /does not know; name that authority with tls/],
    [old.named, toOld.url, /the server's certificate has expired \(/],
  ];
  for (const transports of [["polling"], ["websocket"]] as const) {
    for (const [url, proxy, says] of rows) {
      await using agent = new SmcpAgent({
        ...{ url, proxy, name: "planner" },
        transports: [...transports],
      });
      const error = await assertRejects(() => agent.connect(), ConnectionError);
      assertEquals(error.code, "tls", error.message);
      assertMatch(error.message, says);
      assertStringIncludes(
        error.message,
        `${url} through the proxy ${new URL(proxy).origin}: `,
      );
    }
  }
});

Deno.test("an Agent that is closed while it looks for its proxy does not connect", async () => {
  await using server = await serving();
  await using proxy = await startHttpProxy(server.here);
  await using agent = new SmcpAgent({
    url: server.named,
    proxy: proxy.url,
    name: "planner",
    transports: ["websocket"],
  });
  const first = assertRejects(
    () => agent.connect(),
    ConnectionError,
    "permanent",
  );
  await agent.close();
  await first;
  assertEquals(proxy.targets, []);
});

for (const tls of [undefined, forProxy]) {
  const kind = tls ? "https:" : "http:";
  Deno.test(`an Agent that is closed leaves no connection to an ${kind} proxy that does not answer`, async () => {
    await using proxy = await startHttpProxy("http://127.0.0.1:1", {
      refuse: "no answer",
      ...(tls && { tls }),
    });
    await using agent = new SmcpAgent({
      url: `https://${HOST}`,
      proxy: proxy.url,
      name: "planner",
      tls: { ca: ca.cert },
      transports: ["websocket"],
    });
    const refused = assertRejects(() => agent.connect(), ConnectionError);
    await proxy.asked;
    await agent.close();
    await refused;
    await proxy.left;
  });
}

Deno.test("a proxy that is no URL of one is a TypeError without its content", () => {
  for (
    const proxy of [
      "",
      "http://",
      "socks5://s3cret@host:1080",
      "http://a:s3cret@:x",
      "http://a:s3cret%@host",
    ]
  ) {
    const error = assertThrows(
      () => new SmcpAgent({ url: `http://${HOST}`, name: "planner", proxy }),
      TypeError,
      'expected a URL such as "http://proxy.example:3128"',
    );
    assert(!error.message.includes("s3cret"), error.message);
  }
});

// Polling comes last: its library leaves timers of 0 ms, which leak checks see in the next test.
for (const over of ["websocket", "polling"] as const) {
  for (const secure of [false, true]) {
    const way = secure
      ? "an https: proxy that wants a password to a TLS Server"
      : "a proxy";
    Deno.test({
      name: `Agent and Computer reach a Server through ${way}, over ${over}`,
      sanitizeOps: over === "websocket",
      sanitizeResources: over === "websocket",
    }, async () => {
      await using server = await serving(secure ? certificate : undefined);
      await using proxy = await startHttpProxy(
        server.here,
        secure ? { tls: forProxy, credentials: "ada:s3cret" } : {},
      );
      await using office = await members({
        url: server.named,
        proxy: proxy.url,
        transports: [over],
        ...(secure && { tls: { ca: ca.cert } }),
      });
      const { content } = await office.agent.callTool("pc", "hello", {});
      assertEquals(content, [{ type: "text", text: "hello" }]);
      const { host } = new URL(server.named);
      assert(proxy.targets.length >= 2, proxy.targets.join());
      assertEquals(new Set(proxy.targets), new Set([host]));
    });
  }
}
