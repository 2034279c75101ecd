/**
 * Agent and Computer over TLS, and behind an HTTP proxy. Through the proxy the Server is called by a
 * name that only the proxy resolves.
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
import { join } from "node:path";
// @ts-types="@modelcontextprotocol/sdk/server/mcp"
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import {
  ConnectionError,
  SmcpAgent,
  type SmcpAgentOptions,
} from "../../../agent/mod.ts";
import { secretsInClear } from "../../../client/check_options.ts";
import type { ClientTlsOptions } from "../../../client/network/tls.ts";
import { SmcpComputer } from "../../../computer/mod.ts";
import { mcpGateway } from "../../../mcp/mod.ts";
import {
  createSmcpServer,
  type SmcpServerOptions,
} from "../../../server/mod.ts";
import { newAuthority, newCertificate } from "../../support/certificates.ts";
import { runHere, runMain } from "../../support/command.ts";
import { startHttpProxy } from "../../support/http_proxy.ts";
import { captureLog } from "../../support/log_capture.ts";
import { CLIENTS as MCP_CLIENTS } from "../../support/mcp/clients.ts";
import { pipeCommand } from "../../support/mcp/gateway.ts";
import { OFFICE } from "../../support/office.ts";
import { scratch } from "../../support/scratch.ts";

const HOST = "smcp.example";
const TOKEN = "0123456789abcdef".repeat(4);
const ca = await newAuthority("root");
const clients = await newAuthority("clients");
const client = await newCertificate("laptop", clients);
const server = await newCertificate("server", ca);
const named = await newCertificate("server", ca, { host: HOST });
const expired = { expired: true };

/** A Server; with `clientCa` it requires client certificates. */
async function serving(
  tls?: { cert: string; key: string; clientCa?: string },
  options?: SmcpServerOptions,
) {
  const smcp = createSmcpServer({ hosts: [HOST], ...options });
  const { url, port } = await smcp.listen({ port: 0, ...(tls && { tls }) });
  return {
    url,
    named: `${tls ? "https" : "http"}://${HOST}:${port}`,
    [Symbol.asyncDispose]: () => smcp.close(),
  };
}

const turned = (url: string) =>
  url.startsWith("https:")
    ? url.replace("https:", "http:")
    : url.replace("http:", "https:");

/** Asserts over both transports that an Agent does not connect; returns the errors. */
async function failures(
  options: Pick<SmcpAgentOptions, "tls" | "proxy"> & { url: string },
) {
  const errors: ConnectionError[] = [];
  for (const transports of [["polling"], ["websocket"]] as const) {
    await using agent = new SmcpAgent({
      ...options,
      name: "planner",
      transports: [...transports],
    });
    errors.push(await assertRejects(() => agent.connect(), ConnectionError));
  }
  return errors;
}

type Dialling = Pick<SmcpAgentOptions, "tls" | "transports"> & {
  url: string;
  proxy?: string;
};

/** An Agent and a Computer in an office, and a call that waits. */
async function members(dialling: Dialling) {
  const began = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const gate = new McpServer({ name: "gate", version: "1" });
  const answer = { content: [{ type: "text" as const, text: "hello" }] };
  gate.registerTool("hello", {}, () => answer);
  gate.registerTool("wait", {}, async () => {
    began.resolve();
    await goOn.promise;
    return answer;
  });
  const computer = new SmcpComputer({
    ...dialling,
    name: "pc",
    servers: { gate: { type: "in-process", server: gate } },
    confirm: () => "once",
  });
  await computer.connect();
  await computer.serversSettled();
  await computer.join(OFFICE);
  const agent = new SmcpAgent({ ...dialling, name: "planner" });
  await agent.connect();
  await agent.join(OFFICE);
  return {
    agent,
    computer,
    began: began.promise,
    goOn: goOn.resolve,
    hello: async () =>
      assertEquals(await agent.callTool("pc", "hello", {}), answer),
    [Symbol.asyncDispose]: async () => {
      await agent.close();
      await computer.close();
    },
  };
}

Deno.test("a TLS failure reports what is missing on which side, over both transports", async () => {
  const asking = { ...server, clientCa: clients.cert };
  const strange = await newAuthority("strangers");
  const own = { ca: ca.cert };
  const rows: [
    served: Parameters<typeof serving>[0],
    tls: ClientTlsOptions,
    says: RegExp,
  ][] = [
    [server, {}, /does not know; .*with tls\.ca$/],
    [server, { ca: clients.cert }, /not of an authority in tls\.ca$/],
    [asking, own, /requires a client cert.* give tls\.cert and tls\.key$/],
    [
      asking,
      { ...own, ...await newCertificate("laptop", strange) },
      /not accept the client certificate tls\.cert: its authority/,
    ],
    [
      asking,
      { ...own, ...await newCertificate("laptop", clients, expired) },
      /client certificate tls\.cert has expired \(/,
    ],
    [
      await newCertificate("server", ca, expired),
      own,
      /the server's certificate has expired/,
    ],
    [named, own, /not for the host "127\.0\.0\.1"; correct the URL/],
  ];
  for (const [served, tls, says] of rows) {
    await using smcp = await serving(served);
    for (const { code, message } of await failures({ url: smcp.url, tls })) {
      assertEquals(code, "tls", message);
      assertMatch(message, says);
    }
  }
});

Deno.test("an error names TLS that one side alone has", async () => {
  await using secure = await serving(server);
  await using plain = await serving();
  const there = "it speaks TLS there; write";
  const rows: [url: string, says: string][] = [
    [turned(secure.url), `${there} https:// instead of http://`],
    [
      secure.url.replace("https:", "ws:"),
      `${there} wss:// instead of ws://`,
    ],
    [
      turned(plain.url),
      "it does not speak TLS there; write http:// instead of https://",
    ],
  ];
  for (const [url, says] of rows) {
    for (const { code, message } of await failures({ url })) {
      assertEquals([code, message], [
        "tls",
        `Cannot connect to ${url}: ${says}`,
      ]);
    }
  }
});

Deno.test("invalid tls options are refused by name before anything is sent", async () => {
  const url = `https://${HOST}`;
  const other = await newCertificate("other", clients);
  const rows: [tls: ClientTlsOptions, url: string, says: string][] = [
    [{ cert: client.cert }, url, "tls.cert without tls.key"],
    [{ key: client.key }, url, "tls.key without tls.cert"],
    [{ ...client, key: other.key }, url, "tls.key: it is not the key of tls"],
    [{ ...client, cert: "x" }, url, "tls.cert: it has no certificate in PEM"],
    [{ ...client, key: "x" }, url, "tls.key: it has no private key"],
    [{ ca: "x" }, url, "tls.ca: it has no certificate in PEM"],
    [{ ca: ca.cert }, turned(url), "write https:// for TLS"],
  ];
  for (const [tls, url, says] of rows) {
    for (
      const make of [
        () => new SmcpAgent({ url, name: "a", tls }),
        () => new SmcpComputer({ url, name: "a", tls, servers: [] }),
      ]
    ) {
      const { message } = assertThrows(make, TypeError);
      assertStringIncludes(message, says);
      assertEquals(message.includes("PRIVATE"), false);
    }
  }
});

Deno.test("tls options are refused without Node modules, as in browsers", () => {
  const own = Object.getOwnPropertyDescriptor(globalThis, "process") ?? {};
  const none = { configurable: true, value: undefined };
  Object.defineProperty(globalThis, "process", none);
  try {
    const options = { url: `https://${HOST}`, name: "a" };
    assertThrows(
      () => new SmcpAgent({ ...options, tls: { ca: ca.cert } }),
      TypeError,
      "Cannot use tls.ca in a browser",
    );
    new SmcpAgent(options);
  } finally {
    Object.defineProperty(globalThis, "process", own);
  }
});

Deno.test(
  "the commands read certificates from files, and report errors in them",
  { timeout: 120_000 },
  async () => {
    await using folder = await scratch();
    const file = async (name: string, text: string) => {
      const path = join(folder.path, name);
      await Deno.writeTextFile(path, text);
      return path;
    };
    const cert = ["--tls-cert", await file("cert.pem", client.cert)];
    const key = ["--tls-key", await file("key.pem", client.key)];
    const own = ["--tls-ca", await file("ca.pem", ca.cert)];
    const other = await file("other.pem", server.key);
    const asking = { ...server, clientCa: clients.cert };
    await using smcp = await serving(asking, {
      gateway: mcpGateway(),
      operator: { token: TOKEN },
    });
    const office = ["--office", OFFICE];
    const at = ["--url", smcp.url];
    const rows: [code: number, args: string[], says: string][] = [
      [0, [...cert, ...key, ...own], ""],
      [1, own, "requires a client certificate: give --tls-cert and --tls-key"],
      [1, [...cert, ...key], "name that authority with --tls-ca"],
      [2, cert, "cert.pem without --tls-key: they belong together"],
      [2, ["--tls-ca", `${other}.none`], "none: there is no such file"],
      [2, ["--tls-ca", other], "other.pem: it has no certificate in PEM form"],
      [2, [...cert, "--tls-key", other], "is not the key of --tls-cert"],
      [1, ["--url", turned(smcp.url)], "https:// instead of http://"],
      [2, ["--url", turned(smcp.url), ...own], "write https:// for TLS"],
    ];
    for (const [code, args, says] of rows) {
      for (
        const [name, ...words] of [
          ["agent", "members", ...office],
          ["server", "offices", "--token", TOKEN],
        ] as const
      ) {
        const end = await runHere(name, [...words, ...at, ...args]);
        assertStringIncludes(end.stderr, says);
        assertEquals(end.stderr === "", code === 0, end.stderr);
        assertEquals(end.code, code, end.stderr);
      }
    }
    const config = await file("computer.json", `{"servers": {}}`);
    const run = ["run", ...office, ...at, ...own, "--config", config];
    const { stderr } = await runMain("computer", run);
    assertStringIncludes(stderr, "give --tls-cert and --tls-key");

    const wss = smcp.url.replace("https:", "wss:");
    for (
      const [flags, says] of [
        [[], "with --tls-ca"],
        [[...own, ...cert, ...key], "No Computer is there at the moment."],
      ] as const
    ) {
      await using mcp = await MCP_CLIENTS["v2, 2026"]!(
        pipeCommand(wss, ...flags),
      );
      assertStringIncludes(mcp.instructions ?? "", says);
    }
  },
);

Deno.test("secretsInClear() warns of keys and tokens sent to another machine without TLS", () => {
  const key = { "x-api-key": "k" };
  const rows: [url: string, with_: object, warned: boolean][] = [
    ["http://smcp.example", { headers: key }, true],
    ["ws://192.168.0.7:8787", { auth: { api_key: "k" } }, true],
    ["http://smcp.example", { auth: () => ({ token: "t" }) }, true],
    ["http://smcp.example", { headers: { Authorization: "Bearer t" } }, true],
    ["http://smcp.example", { headers: { "x-trace": "1" } }, false],
    ["http://smcp.example", {}, false],
    ["https://smcp.example", { headers: key }, false],
    ["wss://smcp.example", { headers: key }, false],
    ["http://localhost:8787", { headers: key }, false],
    ["http://127.0.0.1:8787", { headers: key }, false],
    ["http://[::1]:8787", { headers: key }, false],
  ];
  for (const [url, given, warned] of rows) {
    const warning = secretsInClear({ url, ...given });
    assertEquals(warning?.includes("use https://") ?? false, warned, url);
    assertEquals(warning !== undefined, warned, url);
  }
});

Deno.test("Agent and Computer warn in the log, and smcp-agent on stderr, before a key is sent in clear text", async () => {
  const options = {
    url: "http://smcp.invalid:1", // reserved by RFC 2606, so nobody answers

    name: "a",
    auth: { api_key: "secret" },
  };
  using log = captureLog();
  await using agent = new SmcpAgent(options);
  await using computer = new SmcpComputer({ ...options, servers: [] });
  await assertRejects(() => agent.connect());
  await assertRejects(() => computer.connect());
  const lines = log.records
    .filter(({ category }) => category[0] === "a2c-smcp")
    .map(({ category, properties }) => [
      category.join("."),
      String(properties.warning).includes("unencrypted"),
    ]);
  assertEquals(lines, [["a2c-smcp.agent", true], ["a2c-smcp.computer", true]]);
  const args = ["members", "--office", OFFICE, "--url", options.url];
  const env = { SMCP_API_KEY: "secret" };
  const { stderr } = await runMain("agent", args, { env });
  assertStringIncludes(stderr, "warning: The key or token goes to");
  assertEquals(stderr.includes("secret"), false);
});

Deno.test("a proxy that cuts its tunnels in the middle of a call ends it, and Agent and Computer come back through it", async () => {
  await using smcp = await serving();
  await using proxy = await startHttpProxy(smcp.url);
  await using office = await members({
    url: smcp.named,
    proxy: proxy.url,
    transports: ["websocket"],
  });
  const { agent, computer } = office;
  const back = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  agent.on("joined", ({ rejoined }) => rejoined && back[0]?.resolve());
  computer.on("joined", ({ rejoined }) => rejoined && back[1]?.resolve());
  const ended = assertRejects(
    () => agent.callTool("pc", "wait", {}),
    ConnectionError,
    "lost",
  );
  await office.began;
  proxy.cut();
  await ended;
  office.goOn();
  await Promise.all(back.map(({ promise }) => promise));
  await office.hello();
});

Deno.test("what a proxy refuses names it, without its password, and says what to do", async () => {
  await using smcp = await serving();
  await using stack = new AsyncDisposableStack();
  const start = async (options: Parameters<typeof startHttpProxy>[1]) =>
    stack.use(await startHttpProxy(smcp.url, options)).url;
  const strict = new URL(await start({ credentials: "ada:s3cret" })).port;
  const secure = await start({ tls: server });
  const silent = await start({ refuse: "hang up" });
  const rows: [proxy: string, says: string][] = [
    [`http://localhost:${strict}`, "requires a user and a password"],
    [
      `http://ada:wrong-one@localhost:${strict}`,
      "does not accept the user and the password",
    ],
    [await start({ refuse: 403 }), `does not allow a connection to ${HOST}`],
    [await start({ refuse: 502 }), `cannot reach ${HOST}`],
    ["http://127.0.0.1:1", "connection refused"],
    ["http://proxy.invalid:3128", "unknown host name"],
    [secure, "has a certificate that is not trusted"],
    [turned(secure), "closed the connection; is it an HTTP"],
    [
      silent,
      "closed the connection; is it an HTTP proxy? Write https:// for it if",
    ],
    [turned(silent), "write http:// for it"],
    [
      await start({ refuse: 407, scheme: "NTLM" }),
      "does not support Basic authentication, but NTLM",
    ],
    [await start({ refuse: 302 }), `refused a connection to ${HOST}`],
  ];
  for (const [proxy, says] of rows) {
    for (
      const { code, message } of await failures({ url: smcp.named, proxy })
    ) {
      assertEquals(code, "proxy", message);
      assertStringIncludes(message, says);
      assertStringIncludes(message, new URL(proxy).host);
      assert(!/s3cret|wrong-one/.test(message), message);
    }
  }
});

Deno.test("what is reached through a proxy names it when it fails", async () => {
  const late = await newCertificate("server", ca, { host: HOST, ...expired });
  await using plain = await serving();
  await using secure = await serving(named);
  await using old = await serving(late);
  const rows = [
    [secure, turned(secure.named), /write https:\/\/ instead of http:/],
    [plain, turned(plain.named), /write http:\/\/ instead of https:/],
    [secure, secure.named, /does not know; name that authority with tls/],
    [old, old.named, /the server's certificate has expired \(/],
  ] as const;
  for (const [served, url, says] of rows) {
    await using proxy = await startHttpProxy(served.url);
    for (const error of await failures({ url, proxy: proxy.url })) {
      assertEquals(error.code, "tls", error.message);
      assertMatch(error.message, says);
      assertStringIncludes(
        error.message,
        `${url} through the proxy ${new URL(proxy.url).origin}: `,
      );
    }
  }
});

Deno.test("an Agent that is closed while it looks for its proxy does not connect", async () => {
  await using smcp = await serving();
  await using proxy = await startHttpProxy(smcp.url);
  const { named: url } = smcp;
  await using agent = new SmcpAgent({ url, proxy: proxy.url, name: "planner" });
  const ended = assertRejects(
    () => agent.connect(),
    ConnectionError,
    "permanent",
  );
  await agent.close();
  await ended;
  assertEquals(proxy.targets, []);
});

for (const tls of [undefined, server]) {
  Deno.test(`an Agent that is closed leaves no connection to an ${tls ? "https" : "http"}: proxy that does not answer`, async () => {
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
  const wrong = ["", "http://", "socks5://s3cret@host:1080"];
  for (const proxy of [...wrong, "http://a:s3cret@:x", "http://a:s3cret%@h"]) {
    const error = assertThrows(
      () => new SmcpAgent({ url: `http://${HOST}`, name: "planner", proxy }),
      TypeError,
      'expected a URL such as "http://proxy.example:3128"',
    );
    assert(!error.message.includes("s3cret"), error.message);
  }
});

for (const over of ["websocket", "polling"] as const) {
  for (
    const [way, tls, options] of [
      ["with a client certificate", { ...server, clientCa: clients.cert }],
      ["through a proxy", undefined, {}],
      [
        "through an https: proxy that wants a password to a TLS Server",
        named,
        { tls: server, credentials: "ada:s3cret" },
      ],
    ] as const
  ) {
    Deno.test(`Agent and Computer reach a Server ${way}, over ${over}`, async () => {
      await using smcp = await serving(tls);
      await using proxy = await startHttpProxy(smcp.url, options);
      const url = options ? smcp.named : smcp.url;
      await using office = await members({
        url,
        transports: [over],
        ...(options && { proxy: proxy.url }),
        ...(tls && { tls: { ca: ca.cert, ...(!options && client) } }),
      });
      await office.hello();
      assertEquals(
        new Set(proxy.targets),
        new Set(options && [new URL(url).host]),
      );
    });
  }
}
