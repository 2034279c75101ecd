import { assert, assertEquals, assertObjectMatch } from "@std/assert";
import { setImmediate } from "node:timers";
import { optionsOf } from "../../../server/cli/flags.ts";
import { LineBuffer } from "../../../server/cli/logging.ts";
import { eventLine } from "../../../server/cli/operate.ts";
import { loadSecurity } from "../../../server/cli/serve.ts";
import type { SmcpServerOptions } from "../../../server/mod.ts";
import {
  readSettings,
  tryReadSettings,
} from "../../support/server/read_settings.ts";

const exitOf = async (args: string[], env: Record<string, string> = {}) => {
  const { exitCode, errors } = await tryReadSettings(args, env);
  return { exitCode, lines: errors.length };
};

/** What other flags a command line has. */
const DEFAULTS: SmcpServerOptions = {
  protocol: ["0.2"],
  maxMessageBytes: 8388608,
  maxConnectBytes: 16_384,
  wsEngine: "fast",
  minUploadRate: 8192,
  origins: [],
  auditPayloads: false,
  limits: {
    connectionsPerAddress: 100,
    eventsPerSecond: 1000,
    callsPerAgent: 1000,
    membersPerOffice: 1000,
    queuedBytes: 33554432,
    unfinishedBytes: 134217728,
  },
  trustedProxies: 0,
  handshakeTimeoutMs: 10_000,
  connectTimeoutMs: 5000,
  headerTimeoutMs: 10_000,
  heartbeat: { intervalMs: 25_000, timeoutMs: 20_000 },
};

/** The options of a server that a command line gives. */
const readOptions = async (args: string[]) =>
  optionsOf(await readSettings(args, {}));

Deno.test("readSettings() defaults to loopback, port 8787, 8 MiB and limits", async () => {
  const settings = await readSettings([], {});
  assertEquals(optionsOf(settings), DEFAULTS);
  assertPartial(settings, {
    host: "127.0.0.1",
    port: 8787,
    operator: true,
    metrics: false,
    logLevel: "info",
  });
  assertNone(
    settings,
    "apiKeys jwtSecret jwtKey jwtJwksUrl jwtAlgorithms jwtIssuer jwtAudience",
    "tlsCert tlsKey tlsClientCa hosts insecure requireTls tracing mcp",
    "clustering logFile logFormat",
  );
});

const assertPartial = assertObjectMatch as (
  settings: object,
  expected: Record<PropertyKey, unknown>,
) => void;

const assertNone = (settings: object, ...names: string[]) =>
  assertEquals(
    names.join(" ").split(" ").filter((name) => Reflect.get(settings, name)),
    [],
  );

Deno.test("readSettings() reads whether MCP is served, and for how long it keeps a seat", async () => {
  assertEquals((await readSettings(["--mcp"], {})).mcp, true);
  assertEquals(
    (await readSettings(["--mcp", "--mcp-idle-seconds=5"])).mcpIdleSeconds,
    5,
  );
  assertEquals((await tryReadSettings(["--mcp-idle-seconds=5"])).errors, [
    "error: --mcp-idle-seconds does nothing without --mcp",
  ]);
});

Deno.test("readSettings() reads the cluster, whose password only a flag shows to others", async () => {
  const url = "redis://:secret@127.0.0.1:6379";
  const settings = { url, isPasswordVisible: false, leaseMs: 6000 };
  // Commander itself reads the variable, here it only tells where the value is from.
  const { clustering } = await readSettings([`--cluster=${url}`], {
    SMCP_CLUSTER: url,
  });
  assertEquals(clustering, settings);
  assertEquals(
    (await readSettings([
      `--cluster=${url}`,
      "--cluster-ca=ca.pem",
      "--cluster-cert=cert.pem",
      "--cluster-key=key.pem",
      "--cluster-name=web-1",
      "--cluster-lease=30",
    ], {})).clustering,
    {
      url,
      isPasswordVisible: true,
      caFile: "ca.pem",
      certFile: "cert.pem",
      keyFile: "key.pem",
      name: "web-1",
      leaseMs: 30_000,
    },
  );
  for (const open of ["redis://h", "redis-sentinel://a,b#m", "unix:///s"]) {
    const { clustering } = await readSettings([`--cluster=${open}`], {});
    assertEquals(clustering?.isPasswordVisible, false, open);
  }
  const sentinel = "redis-sentinel://h?sentinelPassword=secret#m";
  const hidden = await readSettings([`--cluster=${sentinel}`], {});
  assertEquals(hidden.clustering?.isPasswordVisible, true);
});

Deno.test("readSettings() refuses flags of a cluster that do nothing", async () => {
  const errorsOf = async (...args: string[]) =>
    (await tryReadSettings(args)).errors;
  for (const flag of ["ca", "cert", "key", "name"]) {
    assertEquals(await errorsOf(`--cluster-${flag}=x`), [
      `error: --cluster-${flag} does nothing without --cluster`,
    ]);
  }
  assertEquals(await errorsOf("--cluster=redis://h", "--cluster-key=x"), [
    "error: --cluster-cert and --cluster-key belong together",
  ]);
  assertEquals((await readSettings(["--cluster="])).clustering, undefined);
});

Deno.test("readSettings() reads every flag", async () => {
  const settings = await readSettings([
    "--host=::1",
    "--port",
    "0",
    "--max-message-bytes",
    "4096",
    "--ws-engine=stock",
    "--no-limits",
    "--protocol=0.1",
  ], {});
  assertPartial(settings, { host: "::1", port: 0 });
  assertEquals(optionsOf(settings), {
    ...DEFAULTS,
    protocol: ["0.1"],
    maxMessageBytes: 4096,
    wsEngine: "stock",
    limits: false,
  });
});

Deno.test("readSettings() has a flag for every limit and time (spec §10)", async () => {
  const {
    limits,
    maxConnectBytes,
    trustedProxies,
    handshakeTimeoutMs,
    connectTimeoutMs,
    headerTimeoutMs,
    minUploadRate,
    heartbeat,
  } = await readOptions([
    "--min-upload-rate=11",
    "--max-connections-per-address=1",
    "--max-sockets=12",
    "--max-sockets-per-address=13",
    "--max-events-per-second=2",
    "--max-calls-per-agent=3",
    "--max-members-per-office=4",
    "--max-queued-bytes=5",
    "--max-unfinished-bytes=12",
    "--max-connect-bytes=4096",
    "--trust-proxy=6",
    "--handshake-timeout=7",
    "--connect-timeout=3",
    "--header-timeout=8",
    "--ping-interval=9",
    "--ping-timeout=10",
  ]);
  assertEquals(limits, {
    connectionsPerAddress: 1,
    sockets: 12,
    socketsPerAddress: 13,
    eventsPerSecond: 2,
    callsPerAgent: 3,
    membersPerOffice: 4,
    queuedBytes: 5,
    unfinishedBytes: 12,
  });
  assertEquals(maxConnectBytes, 4096);
  assertEquals(
    [
      trustedProxies,
      handshakeTimeoutMs,
      connectTimeoutMs,
      headerTimeoutMs,
      minUploadRate,
      heartbeat,
    ],
    [6, 7_000, 3000, 8_000, 11, { intervalMs: 9_000, timeoutMs: 10_000 }],
  );
  for (const args of [["--trust-proxy"], ["--trust-proxy", "--port=1"]]) {
    assertEquals((await readOptions(args)).trustedProxies, 1);
  }
});

Deno.test("readSettings() accepts names for --hosts, and refuses those that no request can match", async () => {
  const hosts = async (...args: string[]) =>
    (await readSettings(args, {})).hosts;
  assertEquals(await hosts(), undefined);
  assertEquals(await hosts("--hosts=*"), "*");
  assertEquals(await hosts("--hosts= A.example, [::1]"), ["a.example", "::1"]);
  for (const list of ["", ",", "https://a.example", "a.example:80", "a,*"]) {
    assertEquals(
      await exitOf([`--hosts=${list}`]),
      { exitCode: 2, lines: 1 },
      list,
    );
  }
});

Deno.test("readSettings() treats 0 and false in SMCP_NO_LIMITS as no", async () => {
  for (const value of ["1", "true", "yes"]) {
    assertEquals(
      (await readSettings([], { SMCP_NO_LIMITS: value })).limits,
      false,
    );
  }
  for (const value of ["0", "false", "no", ""]) {
    const { limits } = await readSettings([], { SMCP_NO_LIMITS: value });
    assert(limits !== false, value);
  }
  assertEquals((await exitOf([], { SMCP_NO_LIMITS: "maybe" })).exitCode, 2);
});

Deno.test("readSettings() exits 2 with one line for a bad flag or value", async () => {
  for (
    const args of [
      ["--prot", "1"],
      ["--port"],
      ["--port", "abc"],
      ["--port", "65536"],
      ["--port", "1.5"],
      ["--max-message-bytes", "-1"],
      ["--max-events-per-second", "0"],
      ["--max-calls-per-agent", "Infinity"],
      ["--trust-proxy=yes"],
      ["--header-timeout=0"],
      ["--ws-engine=ws"],
      ["serve"],
    ]
  ) {
    assertEquals(await exitOf(args), { exitCode: 2, lines: 1 }, args.join(" "));
  }
});

Deno.test("readSettings() has a flag for everything about security and the log (spec §10)", async () => {
  const env = { SMCP_JWT_SECRET: "shared" };
  const settings = await readSettings([
    "--api-keys=keys.json",
    "--no-operator",
    "--jwt-algorithms=HS256, HS512",
    "--jwt-issuer=https://issuer.example",
    "--jwt-audience=smcp",
    "--tls-cert=cert.pem",
    "--tls-key=key.pem",
    "--tls-client-ca=ca.pem",
    "--origins=https://a.example,http://b.example:8080/",
    "--insecure",
    "--audit-payloads",
    "--log-level=debug",
    "--log-format=pretty",
    "--log-file=smcp.log",
  ], env);
  assertPartial(settings, {
    apiKeys: "keys.json",
    jwtSecret: "shared",
    jwtAlgorithms: ["HS256", "HS512"],
    jwtIssuer: "https://issuer.example",
    jwtAudience: "smcp",
    tlsCert: "cert.pem",
    tlsKey: "key.pem",
    tlsClientCa: "ca.pem",
    insecure: true,
    logLevel: "debug",
    logFormat: "pretty",
    logFile: "smcp.log",
  });
  const { origins, auditPayloads, operator } = optionsOf(settings);
  assertEquals(origins, ["https://a.example", "http://b.example:8080"]);
  assertEquals([auditPayloads, operator], [true, false]);
  assertEquals((await readOptions(["--origins=*"])).origins, "*");
  const { jwtKey } = await readSettings(["--jwt-key=k.pem"], {});
  assertEquals(jwtKey, "k.pem");
  const { jwtJwksUrl } = await readSettings(
    ["--jwt-jwks-url=https://i.example/keys"],
    {},
  );
  assertEquals(jwtJwksUrl, "https://i.example/keys");
});

Deno.test("readSettings() exits 2 with one line for invalid security settings", async () => {
  const secret = { SMCP_JWT_SECRET: "shared" };
  const table: [string[], Record<string, string>?][] = [
    [["--tls-cert=c"]],
    [["--tls-key=k"]],
    [["--tls-client-ca=c"]],
    [["--jwt-key=k", "--jwt-jwks-url=https://i.example"]],
    [["--jwt-key=k"], secret],
    [["--jwt-algorithms=ES256"]],
    [["--jwt-issuer=https://i.example"]],
    [["--jwt-audience=smcp"], { SMCP_JWT_SECRET: "" }],
    [["--jwt-algorithms=", "--jwt-key=k"]],
    [["--jwt-issuer=", "--jwt-jwks-url=https://i.example"]],
    [["--jwt-audience="], secret],
    [["--origins=https://a.example/path"]],
    [["--origins=a.example"]],
    [["--origins=null"]],
    [["--origins=https://a.example,*"]],
    [["--log-level=loud"]],
    [["--log-format=xml"]],
    [[], { SMCP_INSECURE: "maybe" }],
    [[], { SMCP_AUDIT_PAYLOADS: "maybe" }],
  ];
  for (const [args, env] of table) {
    assertEquals(
      await exitOf(args, env),
      { exitCode: 2, lines: 1 },
      args.join(" "),
    );
  }
});

Deno.test("readSettings() refuses unused JWT requirements, and names the missing key option", async () => {
  const messageOf = async (...args: string[]) =>
    (await tryReadSettings(args)).errors[0];
  assertEquals(
    await messageOf("--jwt-issuer=i", "--jwt-audience=a"),
    "error: no key for --jwt-issuer, --jwt-audience: add --jwt-key, --jwt-jwks-url or SMCP_JWT_SECRET",
  );
  assertEquals(
    await messageOf("--jwt-key=k", "--jwt-issuer=i", "--jwt-audience="),
    "error: no value for --jwt-audience: give one, or leave it out",
  );
  // Empty variables count as unset.
  const settings = await readSettings(["--jwt-issuer="], {});
  assertEquals(loadSecurity(settings).authenticators, []);
});

Deno.test("readSettings() enables metrics and traces by flags; a separate port enables metrics", async () => {
  const observe = async (args: string[], env: Record<string, string> = {}) => {
    const { metrics, metricsPort, metricsHost, tracing } = await readSettings(
      args,
      env,
    );
    return [metrics, metricsPort, metricsHost, tracing];
  };
  const [none, loopback] = [undefined, "127.0.0.1"];
  assertEquals(await observe(["--metrics"]), [true, none, loopback, none]);
  assertEquals(await observe(["--tracing"]), [false, none, loopback, true]);
  assertEquals(
    await observe(["--metrics-port=9464"]),
    [true, 9464, loopback, none],
  );
  assertEquals(
    await observe(["--metrics-port=0", "--metrics-host=::1"]),
    [true, 0, "::1", none],
  );
  assertEquals(
    await observe([], { SMCP_METRICS: "1", SMCP_TRACING: "yes" }),
    [true, none, loopback, true],
  );
  assertEquals((await exitOf(["--metrics-port=x"])).exitCode, 2);
});

Deno.test("eventLine() writes an event as one line, whatever its members are called", () => {
  const data = { at: "2026-01-02T03:04:05.678Z", event: "joined" };
  assertEquals(
    eventLine("joined", { ...data, office: "north", role: "computer", ms: 2 }),
    "03:04:05 north joined role=computer ms=2",
  );
  assertEquals(
    eventLine("tls_failed", { ...data, reason: 'no "key"\n\u202e' }),
    '03:04:05 - tls_failed reason="no \\"key\\"\\n\\u{202e}"',
  );
  assertEquals(
    eventLine("joined", { ...data, office: "a\u001b[2Jb" }),
    "03:04:05 a\\u{1b}[2Jb joined",
  );
});

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

Deno.test("LineBuffer writes the lines of a turn together, in order", async () => {
  const written: string[] = [];
  const lines = new LineBuffer((text) => written.push(text));
  lines.add("a\n");
  lines.add("b\n");
  assertEquals(written, []);
  await turn();
  assertEquals(written, ["a\nb\n"]);
  lines.add("c\n");
  lines.flush();
  assertEquals(written, ["a\nb\n", "c\n"]);
  await turn();
  assertEquals(written, ["a\nb\n", "c\n"]);
});

Deno.test("LineBuffer does not let a busy turn fill the memory", async () => {
  const written: number[] = [];
  const lines = new LineBuffer((text) => written.push(text.length));
  const line = `${"x".repeat(999)}\n`;
  for (let i = 0; i < 200; i++) lines.add(line);
  assertEquals(written, [66_000, 66_000, 66_000]);
  await turn();
  assertEquals(written.at(-1), 2000);
});
