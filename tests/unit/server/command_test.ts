import { assertEquals } from "@std/assert";
import { setImmediate } from "node:timers";
import { optionsOf } from "../../../server/cli/flags.ts";
import { newLineBuffer } from "../../../server/cli/logging.ts";
import { eventLine } from "../../../server/cli/operate.ts";
import { loadSecurity } from "../../../server/cli/serve.ts";
import { limitsOfUp } from "../../../server/cli/up_server.ts";
import type { SmcpServerOptions } from "../../../server/mod.ts";
import {
  readSettings,
  tryReadSettings,
} from "../../support/server/read_settings.ts";

/** A command line as in a shell, with variables of the environment before it. */
function parts(line: string) {
  const words = line.split(" ").filter(Boolean);
  const env = words.filter((word) => word.startsWith("SMCP_"));
  return {
    args: words.slice(env.length),
    env: Object.fromEntries(env.map((word) => word.split("=", 2))),
  };
}

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
const readOptions = async (...args: string[]) =>
  optionsOf(await readSettings(args));

/** The settings that a command line gives, but for those without a value. */
async function read(line: string) {
  const { args, env } = parts(line);
  const settings = Object.entries(await readSettings(args, env));
  return settings.filter(([, value]) => value !== undefined);
}

Deno.test("readSettings() defaults to loopback, port 8787, 8 MiB and limits", async () => {
  assertEquals(await readOptions(), DEFAULTS);
  const limits = /^max|Timeout$|^ping|^minUpload|^trustProxy$|^clusterLease$/;
  const rest = (await read("")).filter(([name]) => !limits.test(name));
  assertEquals(Object.fromEntries(rest), {
    host: "127.0.0.1",
    port: 8787,
    protocol: ["0.2"],
    wsEngine: "fast",
    origins: [],
    metricsHost: "127.0.0.1",
    logLevel: "info",
    limits: true,
    operator: true,
    metrics: false,
  });
});

const URL = "redis://:secret@127.0.0.1:6379";
const SENTINEL = "redis-sentinel://h?sentinelPassword=secret#m";
const OPEN_SENTINEL = "redis-sentinel://a,b#m";
const clustered = (url: string, isPasswordVisible: boolean, over = {}) => ({
  clustering: { url, isPasswordVisible, leaseMs: 6000, ...over },
});

/** Command lines, and the settings that differ from the defaults. */
const FLAGS: readonly [line: string, Record<string, unknown>][] = [
  ["--host=::1 --port 0", { host: "::1", port: 0 }],
  ["--max-message-bytes 4096", { maxMessageBytes: 4096 }],
  ["--ws-engine=stock --no-limits", { wsEngine: "stock", limits: false }],
  ["--protocol=0.1", { protocol: ["0.1"] }],
  ["--mcp", { mcp: true }],
  ["--mcp --mcp-idle-seconds=5", { mcp: true, mcpIdleSeconds: 5 }],
  ["--sign-in --mcp-idle-seconds=5", {
    signIn: true,
    mcp: true,
    mcpIdleSeconds: 5,
  }],
  [
    "SMCP_SIGN_IN=1 --sign-in-file=s.sqlite --sign-in-redirect=my.app:/a,\tmy.app:/b",
    {
      signIn: true,
      mcp: true,
      signInFile: "s.sqlite",
      signInRedirect: ["my.app:/a", "my.app:/b"],
    },
  ],
  [
    "--sign-in --host=0.0.0.0 --api-keys=k.json --public-url=https://a.example",
    {
      signIn: true,
      mcp: true,
      host: "0.0.0.0",
      apiKeys: "k.json",
      publicUrl: "https://a.example",
    },
  ],
  ["SMCP_APPROVALS=1", { approvals: true }],
  ["--approvals --approvals-host=A.example", {
    approvals: true,
    approvalsHost: "a.example",
  }],
  ["--trust-proxy", { trustProxy: 1 }],
  ["--trust-proxy --port=1", { trustProxy: 1, port: 1 }],
  ["--hosts=*", { hosts: "*" }],
  ["--hosts=\tA.example,\t[::1]", { hosts: ["a.example", "::1"] }],
  ["--public-url=https://A.example/", { publicUrl: "https://a.example" }],
  ["--api-keys=keys.json", { apiKeys: "keys.json" }],
  ["--no-operator", { operator: false }],
  ["--jwt-key=k.pem", { jwtKey: "k.pem" }],
  ["--jwt-jwks-url=https://i.example/keys", {
    jwtJwksUrl: "https://i.example/keys",
  }],
  [
    "SMCP_JWT_SECRET=shared --jwt-algorithms=HS256,\tHS512 --jwt-issuer=https://i.example --jwt-audience=smcp",
    {
      jwtSecret: "shared",
      jwtAlgorithms: ["HS256", "HS512"],
      jwtIssuer: "https://i.example",
      jwtAudience: "smcp",
    },
  ],
  ["--tls-cert=c.pem --tls-key=k.pem --tls-client-ca=ca.pem --require-tls", {
    tlsCert: "c.pem",
    tlsKey: "k.pem",
    tlsClientCa: "ca.pem",
    requireTls: true,
  }],
  ["--origins=*", { origins: "*" }],
  ["--origins=https://a.example,http://b.example:8080/", {
    origins: ["https://a.example", "http://b.example:8080"],
  }],
  ["--insecure --audit-payloads", { insecure: true, auditPayloads: true }],
  ["--log-level=debug --log-format=pretty --log-file=smcp.log", {
    logLevel: "debug",
    logFormat: "pretty",
    logFile: "smcp.log",
  }],
  ["--metrics", { metrics: true }],
  ["--tracing", { tracing: true }],
  ["--metrics-port=9464", { metrics: true, metricsPort: 9464 }],
  ["--metrics-port=0 --metrics-host=::1", {
    metrics: true,
    metricsPort: 0,
    metricsHost: "::1",
  }],
  ["SMCP_METRICS=1 SMCP_TRACING=yes", { metrics: true, tracing: true }],
  ["SMCP_NO_LIMITS=1", { limits: false }],
  ["SMCP_NO_LIMITS=true", { limits: false }],
  ["SMCP_NO_LIMITS=yes", { limits: false }],
  ["SMCP_NO_LIMITS=0", {}],
  ["SMCP_NO_LIMITS=false", {}],
  ["SMCP_NO_LIMITS=no", {}],
  ["SMCP_NO_LIMITS=", {}],
  // Commander itself reads the variable, here it only tells where the value is from.
  [`SMCP_CLUSTER=${URL} --cluster=${URL}`, clustered(URL, false)],
  [
    `--cluster=${URL} --cluster-ca=ca.pem --cluster-cert=cert.pem --cluster-key=key.pem --cluster-name=web-1 --cluster-lease=30`,
    clustered(URL, true, {
      caFile: "ca.pem",
      certFile: "cert.pem",
      keyFile: "key.pem",
      name: "web-1",
      leaseMs: 30_000,
    }),
  ],
  ["--cluster=redis://h", clustered("redis://h", false)],
  ["--cluster=unix:///s", clustered("unix:///s", false)],
  [`--cluster=${OPEN_SENTINEL}`, clustered(OPEN_SENTINEL, false)],
  [`--cluster=${SENTINEL}`, clustered(SENTINEL, true)],
  ["--cluster=", {}],
];

Deno.test("readSettings() reads every flag, and variables: what is not given keeps its default", async () => {
  const defaults = new Map(await read(""));
  const isDefault = ([name, value]: [string, unknown]) =>
    JSON.stringify(defaults.get(name)) === JSON.stringify(value);
  const isRaw = (name: string) => /^cluster(?!ing)/.test(name);
  for (const [line, expected] of FLAGS) {
    const settings = (await read(line)).filter((each) =>
      !isDefault(each) && !isRaw(each[0])
    );
    assertEquals(Object.fromEntries(settings), expected, line);
  }
});

Deno.test("readSettings() has a flag for every limit and time (protocol §10)", async () => {
  const options = await readOptions(
    ...["--min-upload-rate=11", "--max-connections-per-address=1"],
    ...["--max-sockets=12", "--max-sockets-per-address=13"],
    ...["--max-events-per-second=2", "--max-calls-per-agent=3"],
    ...["--max-members-per-office=4", "--max-queued-bytes=5"],
    ...["--max-unfinished-bytes=12", "--max-connect-bytes=4096"],
    ...["--trust-proxy=6", "--handshake-timeout=7", "--connect-timeout=3"],
    ...["--header-timeout=8", "--ping-interval=9", "--ping-timeout=10"],
    ...["--audit-payloads", "--origins=*", "--no-operator"],
    "--public-url=https://a.example",
  );
  assertEquals(options, {
    ...DEFAULTS,
    limits: {
      connectionsPerAddress: 1,
      sockets: 12,
      socketsPerAddress: 13,
      eventsPerSecond: 2,
      callsPerAgent: 3,
      membersPerOffice: 4,
      queuedBytes: 5,
      unfinishedBytes: 12,
    },
    maxConnectBytes: 4096,
    trustedProxies: 6,
    handshakeTimeoutMs: 7000,
    connectTimeoutMs: 3000,
    headerTimeoutMs: 8000,
    minUploadRate: 11,
    heartbeat: { intervalMs: 9000, timeoutMs: 10_000 },
    auditPayloads: true,
    origins: "*",
    publicUrl: "https://a.example",
    operator: false,
  });
  assertEquals((await readOptions("--no-limits")).limits, false);
});

/** Command lines that are refused, and what is said of those whose remedy depends on them. */
const REFUSED: readonly [line: string, message?: string][] = [
  ...[
    ...["--prot 1", "--port", "--port abc", "--port 65536", "--port 1.5"],
    ...["--max-message-bytes -1", "--max-events-per-second 0"],
    ...["--max-calls-per-agent Infinity", "--trust-proxy=yes"],
    ...["--header-timeout=0", "--ws-engine=ws", "serve", "--metrics-port=x"],
    ...["--log-level=loud", "--log-format=xml"],
    ...["--hosts=", "--hosts=,", "--hosts=https://a.example"],
    ...["--hosts=a.example:80", "--hosts=a,*"],
    ...["--origins=https://a.example/path", "--origins=a.example"],
    ...["--origins=null", "--origins=https://a.example,*"],
    ...["--tls-cert=c", "--tls-key=k", "--tls-client-ca=c"],
    ...["--jwt-algorithms=ES256", "--jwt-issuer=https://i.example"],
    ...["--jwt-algorithms= --jwt-key=k", "SMCP_JWT_SECRET=s --jwt-key=k"],
    ...["SMCP_JWT_SECRET=s --jwt-audience=", "SMCP_INSECURE=maybe"],
    ...["SMCP_JWT_SECRET= --jwt-audience=s", "SMCP_AUDIT_PAYLOADS=maybe"],
    ...["SMCP_NO_LIMITS=maybe", "--jwt-key=k --jwt-jwks-url=https://i.example"],
    "--jwt-issuer= --jwt-jwks-url=https://i.example",
  ].map((line): [string] => [line]),
  [
    "--jwt-issuer=i --jwt-audience=a",
    "no key for --jwt-issuer, --jwt-audience: add --jwt-key, --jwt-jwks-url or SMCP_JWT_SECRET",
  ],
  [
    "--jwt-key=k --jwt-issuer=i --jwt-audience=",
    "no value for --jwt-audience: give one, or leave it out",
  ],
  [
    "--public-url=https://ann:s3cret@a.example",
    'Cannot use --public-url (SMCP_PUBLIC_URL): it has a user or a password; expected the URL by which clients reach the Server, such as "https://smcp.example.com"',
  ],
  ["--mcp-idle-seconds=5", "--mcp-idle-seconds does nothing without --mcp"],
  ["--sign-in-file=f", "--sign-in-file does nothing without --sign-in"],
  ["--sign-in-redirect=a", "--sign-in-redirect does nothing without --sign-in"],
  [
    "--sign-in --jwt-jwks-url=https://i.example --jwt-issuer=https://i.example",
    "only one of --sign-in and --jwt-issuer can be given: a program asks one issuer",
  ],
  [
    "--sign-in --jwt-key=k",
    "--sign-in needs --api-keys or --sign-in-with: a person cannot sign in with a JWT",
  ],
  [
    "--sign-in-with=https://id.example",
    "--sign-in-with does nothing without --sign-in",
  ],
  [
    "--sign-in-client-id=c",
    "--sign-in-client-id does nothing without --sign-in",
  ],
  [
    "--sign-in --sign-in-client-id=c",
    "--sign-in-client-id does nothing without --sign-in-with",
  ],
  [
    "--sign-in --sign-in-with=https://id.example",
    "--sign-in-with needs --sign-in-client-id, the client that this Server is at the provider",
  ],
  [
    "--sign-in --sign-in-with=https://id.example --sign-in-client-id=c --public-url=https://a.example",
    "--sign-in-with needs --api-keys, or a key of JWTs, with --public-url: without them, anyone who reaches the Server could join its offices past the sign-in",
  ],
  [
    "--sign-in --api-keys=k --public-url=http://a.example",
    "--sign-in needs https, since tokens could be read in transit: give --public-url an https:// URL, or leave it out on this machine",
  ],
  [
    "--sign-in --api-keys=k --host=0.0.0.0",
    "--sign-in needs to know its URL on 0.0.0.0: give --public-url https://…, or leave out --host",
  ],
  [
    "--sign-in --public-url=https://a.example",
    "--sign-in needs --api-keys with --public-url: without keys, anyone who reaches the page could let programs in",
  ],
  [
    "--sign-in --api-keys=k --cluster=redis://h --sign-in-file=f",
    "--sign-in-file cannot be given with --cluster, where sign-ins are in Redis",
  ],
  ...["ca", "cert", "key", "name"].map((part): [string, string] => [
    `--cluster-${part}=x`,
    `--cluster-${part} does nothing without --cluster`,
  ]),
  [
    "--cluster=redis://h --cluster-key=x",
    "--cluster-cert and --cluster-key belong together",
  ],
];

Deno.test("readSettings() exits 2 with one line for bad, unused and contradictory flags and values", async () => {
  for (const [line, message] of REFUSED) {
    const { args, env } = parts(line);
    const { exitCode, errors } = await tryReadSettings(args, env);
    assertEquals([exitCode, errors.length], [2, 1], line);
    if (message) assertEquals(errors, [`error: ${message}`]);
  }
  // Empty variables count as unset.
  const settings = await readSettings(["--jwt-issuer="]);
  assertEquals(loadSecurity(settings).authenticators, []);
});

Deno.test("eventLine() writes an event as one line, whatever its members are called", () => {
  const at = "2026-01-02T03:04:05.678Z";
  const rows: [kind: string, data: object, line: string][] = [
    [
      "joined",
      { office: "north", role: "computer", ms: 2 },
      "north joined role=computer ms=2",
    ],
    [
      "tls_failed",
      { reason: 'no "key"\n\u202e' },
      '- tls_failed reason="no \\"key\\"\\n⟨U+202E⟩"',
    ],
    ["joined", { office: "a\u001b[2Jb" }, "a⟨U+001B⟩[2Jb joined"],
  ];
  for (const [kind, data, line] of rows) {
    const event = { at, event: "joined", ...data };
    assertEquals(eventLine(kind, event), `03:04:05 ${line}`);
  }
});

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

Deno.test("newLineBuffer() writes the lines of a turn together, in order", async () => {
  const written: string[] = [];
  const lines = newLineBuffer((text) => written.push(text));
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

Deno.test("newLineBuffer() does not let a busy turn fill the memory", async () => {
  const written: number[] = [];
  const lines = newLineBuffer((text) => written.push(text.length));
  const line = `${"x".repeat(999)}\n`;
  for (let i = 0; i < 200; i++) lines.add(line);
  assertEquals(written, [66_000, 66_000, 66_000]);
  await turn();
  assertEquals(written.at(-1), 2000);
});

Deno.test("smcp up limits no rate of events, unless others than this machine's programs reach it", () => {
  const cluster = {
    url: "redis://127.0.0.1",
    leaseMs: 10_000,
    isPasswordVisible: false,
  };
  assertEquals(limitsOfUp(undefined, undefined), { eventsPerSecond: Infinity });
  assertEquals(limitsOfUp("https://a.example", undefined), {});
  assertEquals(limitsOfUp(undefined, cluster), {});
});
