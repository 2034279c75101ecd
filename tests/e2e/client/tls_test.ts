import {
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { join } from "node:path";
import { ConnectionError, SmcpAgent } from "../../../agent/mod.ts";
import { SmcpComputer } from "../../../computer/mod.ts";
import { secretsInClear } from "../../../client/check_options.ts";
import type { ClientTlsOptions } from "../../../client/tls.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import { newAuthority, newCertificate } from "../../support/certificates.ts";
import { runHere, runMain } from "../../support/command.ts";
import { captureLog } from "../../support/log_capture.ts";
import { OFFICE } from "../../support/office.ts";
import { scratch } from "../../support/scratch.ts";

const ca = await newAuthority("root");
const clients = await newAuthority("clients");
const client = await newCertificate("laptop", clients);
const server = await newCertificate("server", ca);

/** A Server with a certificate; with `clientCa` it requires client certificates. */
async function serving(tls: { cert: string; key: string; clientCa?: string }) {
  const smcp = createSmcpServer();
  const { url } = await smcp.listen({ port: 0, tls });
  return { url, [Symbol.asyncDispose]: () => smcp.close() };
}

for (const transports of [["polling"], ["websocket"]] as const) {
  const over = transports.join();
  // The library leaves timers of 0 ms after polling.
  const isClean = over === "websocket";

  Deno.test({
    name: `Agent and Computer connect with a client certificate, over ${over}`,
    sanitizeOps: isClean,
    sanitizeResources: isClean,
  }, async () => {
    await using smcp = await serving({ ...server, clientCa: clients.cert });
    const shown = {
      url: smcp.url,
      tls: { ca: ca.cert, ...client },
      transports: [...transports],
    };
    await using computer = new SmcpComputer({
      ...shown,
      name: "pc",
      servers: [],
    });
    await computer.connect();
    await computer.join(OFFICE);
    await using agent = new SmcpAgent({ ...shown, name: "planner" });
    await agent.connect();
    await agent.join(OFFICE);
    assertEquals(await agent.getTools("pc"), []);
  });

  Deno.test({
    name: `a TLS failure reports what is missing on which side, over ${over}`,
    sanitizeOps: isClean,
    sanitizeResources: isClean,
  }, async () => {
    const asking = { ...server, clientCa: clients.cert };
    const strangers = await newAuthority("strangers");
    const expired = { expired: true };
    const rows: [
      what: string,
      server: Parameters<typeof serving>[0],
      tls: ClientTlsOptions,
      says: RegExp,
    ][] = [
      ["unknown authority", server, {}, /does not know; .*with tls\.ca$/],
      [
        "another authority",
        server,
        { ca: clients.cert },
        /not of an authority in tls\.ca$/,
      ],
      [
        "no client certificate",
        asking,
        { ca: ca.cert },
        /requires a client certificate.* give tls\.cert and tls\.key$/,
      ],
      [
        "a stranger's certificate",
        asking,
        { ca: ca.cert, ...await newCertificate("laptop", strangers) },
        /not accept the client certificate tls\.cert: its authority/,
      ],
      [
        "a client certificate that has expired",
        asking,
        { ca: ca.cert, ...await newCertificate("laptop", clients, expired) },
        /client certificate tls\.cert has expired \(/,
      ],
      [
        "a server certificate that has expired",
        await newCertificate("server", ca, expired),
        { ca: ca.cert },
        /the server's certificate has expired/,
      ],
      [
        "a server certificate for another host",
        await newCertificate("server", ca, { host: "smcp.example" }),
        { ca: ca.cert },
        /not for the host "127\.0\.0\.1"; correct the URL/,
      ],
    ];
    for (const [what, served, tls, says] of rows) {
      await using smcp = await serving(served);
      await using agent = new SmcpAgent({
        url: smcp.url,
        name: "planner",
        tls,
        transports: [...transports],
      });
      const error = await assertRejects(() => agent.connect(), ConnectionError);
      assertEquals([error.code, says.test(error.message)], ["tls", true], what);
    }
  });
}

Deno.test("an error names TLS that one side alone has", async () => {
  await using secure = await serving(server);
  const plain = createSmcpServer();
  const { url } = await plain.listen({ port: 0 });
  const rows: [url: string, says: string][] = [
    [
      secure.url.replace("https:", "http:"),
      "it speaks TLS there; write https:// instead of http://",
    ],
    [
      secure.url.replace("https:", "ws:"),
      "it speaks TLS there; write wss:// instead of ws://",
    ],
    [
      url.replace("http:", "https:"),
      "it does not speak TLS there; write http:// instead of https://",
    ],
  ];
  for (const transports of [["polling"], ["websocket"]] as const) {
    for (const [url, says] of rows) {
      await using agent = new SmcpAgent({
        ...{ url, name: "planner" },
        transports: [...transports],
      });
      const error = await assertRejects(() => agent.connect(), ConnectionError);
      assertEquals(
        [error.code, error.message],
        ["tls", `Cannot connect to ${url}: ${says}`],
      );
    }
  }
  await plain.close();
});

Deno.test("invalid tls options are refused by name before anything is sent", async () => {
  const url = "https://smcp.example";
  const other = await newCertificate("other", clients);
  const rows: [tls: ClientTlsOptions, url: string, says: string][] = [
    [{ cert: client.cert }, url, "tls.cert without tls.key"],
    [{ key: client.key }, url, "tls.key without tls.cert"],
    [{ ...client, key: other.key }, url, "tls.key: it is not the key of tls"],
    [{ ...client, cert: "x" }, url, "tls.cert: it has no certificate in PEM"],
    [{ ...client, key: "x" }, url, "tls.key: it has no private key"],
    [{ ca: "x" }, url, "tls.ca: it has no certificate in PEM"],
    [{ ca: ca.cert }, "http://smcp.example", "write https:// for TLS"],
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
  Object.defineProperty(globalThis, "process", {
    configurable: true,
    value: undefined,
  });
  try {
    assertThrows(
      () =>
        new SmcpAgent({
          url: "https://smcp.example",
          name: "a",
          tls: { ca: ca.cert },
        }),
      TypeError,
      "Cannot use tls.ca in a browser",
    );
    new SmcpAgent({ url: "https://smcp.example", name: "a" });
  } finally {
    Object.defineProperty(globalThis, "process", own);
  }
});

Deno.test({
  name: "the commands read certificates from files, and report errors in them",
  timeout: 120_000,
}, async () => {
  await using folder = await scratch();
  const pathOf = (name: string) => join(folder.path, name);
  const file = async (name: string, text: string) => {
    await Deno.writeTextFile(pathOf(name), text);
    return pathOf(name);
  };
  const flags = {
    cert: ["--tls-cert", await file("cert.pem", client.cert)],
    key: ["--tls-key", await file("key.pem", client.key)],
    ca: ["--tls-ca", await file("ca.pem", ca.cert)],
  };
  const otherKey = await file("other.pem", server.key);
  await using smcp = await serving({ ...server, clientCa: clients.cert });
  const members = (url: string, ...args: string[]) =>
    runHere("agent", ["members", "--office", OFFICE, "--url", url, ...args]);
  const come = await members(
    smcp.url,
    ...flags.cert,
    ...flags.key,
    ...flags.ca,
  );
  assertEquals([come.code, come.stderr], [0, ""]);
  const rows: [code: number, args: string[], says: string][] = [
    [
      1,
      flags.ca,
      "requires a client certificate: give --tls-cert and --tls-key",
    ],
    [1, [...flags.cert, ...flags.key], "name that authority with --tls-ca"],
    [2, flags.cert, `cert.pem without --tls-key: they belong together`],
    [2, ["--tls-ca", pathOf("none")], "none: there is no such file"],
    [2, ["--tls-ca", otherKey], "other.pem: it has no certificate in PEM form"],
    [2, [...flags.cert, "--tls-key", otherKey], "is not the key of --tls-cert"],
  ];
  for (const [code, args, says] of rows) {
    const end = await members(smcp.url, ...args);
    assertStringIncludes(end.stderr, says);
    assertEquals(end.code, code, end.stderr);
  }
  const computer = await runMain("computer", [
    "run",
    "--office",
    OFFICE,
    "--url",
    smcp.url,
    "--config",
    await file("computer.json", `{"servers": {}}`),
    ...flags.ca,
  ]);
  assertStringIncludes(computer.stderr, "give --tls-cert and --tls-key");
});

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
    assertEquals(warning !== undefined, warned, url);
    if (warned) assertStringIncludes(warning ?? "", "use https://");
  }
});

Deno.test("Agent and Computer warn in the log, and smcp-agent on stderr, before a key is sent in clear text", async () => {
  // Reserved by RFC 2606, so nobody answers.
  const options = {
    url: "http://smcp.invalid:1",
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
  const { stderr } = await runMain("agent", [
    "members",
    "--office",
    OFFICE,
    "--url",
    options.url,
  ], { env: { SMCP_API_KEY: "secret" } });
  assertStringIncludes(stderr, "warning: The key or token goes to");
  assertEquals(stderr.includes("secret"), false);
});
