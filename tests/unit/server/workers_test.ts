import fc from "fast-check";
import { Buffer } from "node:buffer";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { approvals } from "../../../server/approvals/mod.ts";
import { mcpGateway } from "../../../mcp/mod.ts";
import { resolveOptions } from "../../../server/options.ts";
import {
  checkWorkerOptions,
  type DoorRules,
  frontOf,
  frontOfSession,
  LINK_PATH,
  METRICS_PATH,
  resolveWorkerOptions,
  routeRequest,
  SIGN_IN_PATH,
  type SmcpWorkerOptions,
} from "../../../server/workers/door.ts";
import { smcpWorker } from "../../../server/workers/mod.ts";
import { openIdProvider, signIn } from "../../../server/workers/sign_in.ts";
import { ObjectLinks } from "../../../server/workers/object_node.ts";
import type { WorkerWebSocket } from "../../../server/workers/platform.ts";
import { sumMetrics } from "../../../server/workers/smcp_worker.ts";

const FRONTS = 3;

const rulesOf = (
  options: Parameters<typeof resolveOptions>[0] = {},
): DoorRules => ({ ...resolveOptions(options), fronts: FRONTS });

const signedIn = (): DoorRules => ({
  ...resolveWorkerOptions({
    insecure: true,
    publicUrl: "https://smcp.example",
    gateway: mcpGateway(),
    signIn: signIn({ secret: "ab".repeat(32) }),
  }),
  fronts: FRONTS,
});

/** A request, in addition to its target. */
interface Asked {
  readonly headers?: Readonly<Record<string, string>>;
  readonly rules?: DoorRules;
  readonly method?: string;
}

/** Returns where a request goes; a refusal as its status and code. */
function go(target: string, asked: Asked = {}) {
  const { headers, rules = rulesOf({ gateway: mcpGateway() }) } = asked;
  const route = routeRequest(
    {
      url: `https://smcp.example${target}`,
      headers: new Headers({ Host: "smcp.example", ...headers }),
      method: asked.method ?? "GET",
    },
    "EU",
    rules,
    0.5,
  );
  if (!("refused" in route)) return route;
  return [route.refused.status, JSON.parse(route.refused.body).code];
}

const HANDSHAKE = "/smcp/?EIO=4&transport=polling&a2c_version=0.2.0";

type Row = readonly [target: string, route: unknown, asked?: Asked];

const all = (
  targets: readonly string[],
  route: unknown,
  asked?: Asked,
): Row[] =>
  targets.map((target) => asked ? [target, route, asked] : [target, route]);

const HOSTILE = [
  ...["x", ".x", "eu.x", "eu-.x", "eu-3.x", "eu-03.x", "eu--1.x", "eu-1e0.x"],
  ...["EU-1.x", "zz-1.x", "eu-1 .x", "eu-99999999999999999999.x", "single.x"],
  ...["registry.x", "office:home.x", "eu-1/../eu-2.x", "eu-1\u0000.x"],
  ...["__proto__.x", "a".repeat(5000) + ".x"],
];
const SIGNED_IN = signedIn();
const PAGE = { Origin: "https://app.example" };
const OF_DEVICES = [
  ...["/approve", "/approve/", "/approve/approve.js"],
  "/approve/v1/home/laptop",
];
const APPROVE_HOST = { Host: "approve.example" };
const APPROVED = rulesOf({
  gateway: mcpGateway(),
  approvals: approvals({ host: "approve.example" }),
});

/** Targets and their ways, by the names of tests. */
const WAYS: Readonly<Record<string, readonly Row[]>> = {
  "a handshake goes to a front of its continent, and a session to the front that its id names":
    [
      [HANDSHAKE, { front: "eu-1" }],
      [`${HANDSHAKE}&sid=sa-2.xyz`, { front: "sa-2" }],
      // Engine.IO takes the last.
      [`${HANDSHAKE}&sid=sa-0.x&sid=as-2.y`, { front: "as-2" }],
    ],
  "requests of devices go to the registry, under their host alone where they have one":
    [
      ...all(OF_DEVICES, { object: "registry" }, {
        rules: rulesOf({ approvals: approvals() }),
      }),
      ...all(OF_DEVICES, [404, 404], { rules: rulesOf() }),
      ...all(OF_DEVICES, [404, 404], { rules: APPROVED }),
      ...all(OF_DEVICES, { object: "registry" }, {
        rules: APPROVED,
        headers: APPROVE_HOST,
      }),
      ...all(
        [
          "/",
          "/health",
          "/ready",
          HANDSHAKE,
          "/mcp/home",
          "/console",
          LINK_PATH,
        ],
        [404, 404],
        { rules: APPROVED, headers: APPROVE_HOST },
      ),
    ],
  "hostile ids of sessions are answered as Engine.IO answers unknown ones":
    HOSTILE.map((sid) => [
      `${HANDSHAKE}&sid=${encodeURIComponent(sid)}`,
      { answer: "unknown session" },
    ]),
  "version, origin, transport and host are refused before any object": [
    ["/smcp/?EIO=4&a2c_version=9.0.0", [400, 4008]],
    [`${HANDSHAKE}&j=1`, [400, 400]],
    [HANDSHAKE, [403, 403], { headers: { Origin: "https://evil.example" } }],
    [HANDSHAKE, { front: "eu-1" }, {
      headers: PAGE,
      rules: rulesOf({ origins: [PAGE.Origin] }),
    }],
    ...all(
      [HANDSHAKE, "/health", "/operator/v1/status", "/console"],
      [403, 403],
      { rules: rulesOf({ hosts: ["other.example"] }) },
    ),
    ["/health", { answer: "health" }, {
      rules: rulesOf({
        hosts: ["other.example"],
        publicUrl: "https://smcp.example/",
      }),
    }],
  ],
  "a front answers preflight requests of pages, whatever the version": all(
    ["/health", "/smcp/", "/socket.io"],
    { front: "eu-1" },
    { method: "OPTIONS", rules: rulesOf() },
  ),
  "operators go to the registry, and the Worker says how it is": [
    ...all(["/operator/v1/status", "/console", "/console/page.js"], {
      object: "registry",
    }),
    ["/metrics", { object: "registry" }],
    ["/health", { answer: "health" }],
    ["/ready", { answer: "ready" }],
    ...all(["/", "/operator", "/operator/v2/status"], [404, 404]),
    ...all(["/consoles", "/favicon.ico", "/a/b/c"], [404, 404]),
  ],
  "requests of a gateway go to their office, and odd names to nobody's": [
    ["/mcp/home", { office: "home" }],
    ["/mcp/caf%C3%A9%20%2Fx?y=1", { office: "café /x" }],
    ["/mcp/%E0%A4", { office: "" }],
    ["/mcp/%00", { office: "" }],
    ["/.well-known/oauth-protected-resource/mcp/home", { office: "" }],
    ["/mcp/home", [404, 404], { rules: rulesOf() }], // without a gateway
  ],
  "with a sign-in its pages and metadata go to the registry, and the gateway's bare path to the office of a token":
    [
      ...all(
        ["/authorize?client_id=x", "/token", "/register", "/revoke"],
        { object: "registry" },
        { rules: SIGNED_IN },
      ),
      ...all(
        [
          "/.well-known/oauth-authorization-server",
          "/.well-known/oauth-protected-resource/mcp",
          "/.well-known/oauth-protected-resource/mcp/home",
          "/mcp/home/.well-known/openid-configuration",
        ],
        { object: "registry" },
        { rules: SIGNED_IN },
      ),
      ...all(["/mcp", "/mcp/", "/mcp?x"], { office: undefined }, {
        rules: SIGNED_IN,
      }),
      ["/mcp/home", { office: "home" }, { rules: SIGNED_IN }],
      ["/health", { answer: "health" }, { rules: SIGNED_IN }],
      ["/", [404, 404], { rules: SIGNED_IN }],
      ...all(["/authorize", "/token", "/mcp"], [404, 404]), // without one
    ],
  "no client uses the paths that objects have for each other": [
    ...all([SIGN_IN_PATH, `${SIGN_IN_PATH}?x`], [404, 404], {
      rules: SIGNED_IN,
    }),
    ...all([LINK_PATH, `${LINK_PATH}?registry`, METRICS_PATH], [404, 404]),
    [`${LINK_PATH}?EIO=4&a2c_version=0.2.0`, [404, 404], {
      rules: rulesOf({ paths: [LINK_PATH], gateway: mcpGateway() }),
    }],
  ],
};

for (const [name, rows] of Object.entries(WAYS)) {
  Deno.test(`routeRequest(): ${name}`, () => {
    for (const [target, route, asked] of rows) {
      assertEquals(go(target, asked), route, target);
    }
  });
}

Deno.test("no id of a session names an object but one of the fronts", () => {
  const exist = new Set(["af", "an", "as", "eu", "na", "oc", "sa", "xx"]
    .flatMap((place) => [0, 1, 2].map((n) => `${place}-${n}`)));
  fc.assert(fc.property(
    fc.oneof(fc.string(), fc.stringMatching(/^[a-z]{2}-\d{1,3}\..*$/)),
    (sid) => {
      const front = frontOfSession(sid, FRONTS);
      assert(front === undefined || exist.has(front), sid);
    },
  ));
  for (const continent of ["EU", "na", "T1", "", undefined, "__proto__"]) {
    for (const random of [0, 0.4, 0.999999]) {
      const front = frontOf(continent, FRONTS, random);
      assert(exist.has(front), front);
      assertEquals(frontOfSession(`${front}.abc`, FRONTS), front);
    }
  }
});

/** Options as a program without types may give them. */
const given = (options: object): SmcpWorkerOptions => ({
  insecure: true,
  ...options,
});

const NO_KEYS =
  "set authenticator, such as apiKeys(parseApiKeys(env.SMCP_KEYS)), or insecure: true";

/** Options that a Worker cannot keep, with the reason. */
const REFUSED: readonly [options: object, message: string][] = [
  [{ cluster: {} }, "with cluster: its objects are one already; leave it out"],
  [
    { trustedProxies: 1 },
    "with trustedProxies: the platform sends the address of the client; leave it out",
  ],
  [
    { wsEngine: "fast" },
    "with wsEngine: the WebSockets are the platform's; leave it out",
  ],
  [
    { limits: { queuedBytes: 1 } },
    "with limits.queuedBytes: the platform does not show how much is queued; leave it out",
  ],
  [
    { limits: { unfinishedBytes: 1 } },
    "with limits.unfinishedBytes: the platform shows a message when it is complete; leave it out",
  ],
  [{ protocol: "9" }, 'Cannot serve the protocol "9"'],
  [{ fronts: 0 }, "Cannot use 0 fronts: expected a whole number from 1 to 100"],
  [{ fronts: 1.5 }, "Cannot use 1.5 fronts"],
  [
    { maxMessageBytes: 2 ** 25 },
    "a WebSocket of Cloudflare carries at most 33488896 bytes of a client",
  ],
  [{ insecure: undefined }, NO_KEYS],
  [{ insecure: false }, "without authentication"],
];

Deno.test("smcpWorker() names each option that a Worker cannot keep, and refuses to serve without authentication", () => {
  for (const [options, message] of REFUSED) {
    assertThrows(() => smcpWorker(given(options)), TypeError, message);
  }
  assertThrows(() => smcpWorker({}), TypeError, NO_KEYS);
  const kept = checkWorkerOptions({ insecure: true });
  assertEquals(kept, { fronts: 4, single: false });
});

Deno.test("smcpWorker() evaluates a function of env at the first request, and throws its error there", async () => {
  const envs: unknown[] = [];
  const { worker } = smcpWorker((env: { readonly SMCP_KEYS?: string }) => {
    envs.push(env);
    return {};
  });
  assertEquals(envs, []);
  const env = { SMCP_KEYS: "[]" };
  await assertRejects(
    async () =>
      await worker.fetch(new Request("https://smcp.example/health"), env),
    TypeError,
    "Cannot serve the internet without",
  );
  assertEquals(envs, [env]);
  const unbound = smcpWorker({ insecure: true }).worker;
  const request = new Request(`https://smcp.example${HANDSHAKE}`);
  await assertRejects(
    async () => await unbound.fetch(request, {}),
    TypeError,
    "Cannot serve without the binding FRONT",
  );
});

/** A WebSocket that keeps what is sent, and of which a test makes the events. */
class FakeSocket implements WorkerWebSocket {
  binaryType = "arraybuffer";
  readyState = 1;
  readonly sent: string[] = [];
  closes = 0;
  readonly #listeners = new Map<string, (event: never) => void>();

  accept(): void {}

  send(data: string | Uint8Array): void {
    if (this.readyState !== 1) throw new TypeError("closed");
    this.sent.push(Buffer.from(data).toString());
  }

  close(): void {
    this.closes++;
    this.readyState = 3;
  }

  addEventListener(type: string, listener: (event: never) => void): void {
    this.#listeners.set(type, listener);
  }

  says(text: string): void {
    const data = new TextEncoder().encode(text).buffer;
    Reflect.apply(this.#listeners.get("message") ?? ignore, this, [{ data }]);
  }

  ends(code = 1006): void {
    this.readyState = 3;
    Reflect.apply(this.#listeners.get("close") ?? ignore, this, [{ code }]);
  }
}

const ignore = () => {};

function setUp() {
  const dialed: string[] = [];
  const told: string[] = [];
  let connection = Promise.withResolvers<WorkerWebSocket>();
  const links = new class extends ObjectLinks {
    override dial(node: string) {
      dialed.push(node);
      connection = Promise.withResolvers();
      return connection.promise;
    }
    override arrived = (node: string, message: Buffer) =>
      told.push(`${node}: ${message}`);
    override lost = (node: string) => told.push(`${node} failed`);
  }();
  const send = (text: string, to = "office:a") =>
    links.send(to, "", [
      Buffer.from(text.slice(0, 1)),
      Buffer.from(text.slice(1)),
    ]);
  return {
    links,
    dialed,
    told,
    send,
    async connect(socket: WorkerWebSocket) {
      connection.resolve(socket);
      await connection.promise;
    },
    async fail() {
      connection.reject(new Error("no such object"));
      await connection.promise.catch(() => {});
    },
  };
}

Deno.test("ObjectLinks connects at the first message, and keeps the order of those that wait", async () => {
  const { links, dialed, told, send, connect } = setUp();
  assertEquals([send("one"), send("two")], ["sent", "sent"]);
  assertEquals(dialed, ["office:a"]);
  const socket = new FakeSocket();
  await connect(socket);
  send("three");
  assertEquals(socket.sent, ["one", "two", "three"]);
  socket.says("hello");
  assertEquals(told, ["office:a: hello"]);
  assertEquals([...links.peers], ["office:a"]);
  assertEquals(links.counts, {
    messagesIn: 1,
    messagesOut: 3,
    bytesIn: 5,
    bytesOut: 11,
  });
});

Deno.test("ObjectLinks reports the end of a WebSocket once, and connects again at the next message", async () => {
  const { links, dialed, told, send, connect } = setUp();
  send("one");
  const socket = new FakeSocket();
  await connect(socket);
  socket.ends();
  socket.ends();
  assertEquals(told, ["office:a failed"]);
  assertEquals([...links.peers], []);
  send("two");
  assertEquals(dialed.length, 2);
  const next = new FakeSocket();
  await connect(next);
  socket.says("from the past");
  socket.ends();
  assertEquals(
    told,
    ["office:a failed"],
    "the former one says nothing any more",
  );
  assertEquals(next.sent, ["two"]);
});

Deno.test("ObjectLinks reports an object that cannot be reached, and one that is gone before its event", async () => {
  const { told, send, connect, fail } = setUp();
  send("one");
  await fail();
  assertEquals(told, ["office:a failed"]);
  send("two");
  const socket = new FakeSocket();
  await connect(socket);
  socket.readyState = 3;
  assertEquals(send("three"), "sent");
  await Promise.resolve();
  assertEquals(told, ["office:a failed", "office:a failed"]);
});

Deno.test("ObjectLinks takes a new WebSocket of an object in place of its former one", () => {
  const { links, told, send } = setUp();
  const first = new FakeSocket();
  const second = new FakeSocket();
  links.take("eu-1.aa", first);
  links.take("eu-1.aa", second);
  assertEquals(told, ["eu-1.aa failed"]);
  assertEquals(first.closes, 1);
  send("hi", "eu-1.aa");
  assertEquals([first.sent, second.sent], [[], ["hi"]]);
});

Deno.test("ObjectLinks closes all, also one that is still connecting", async () => {
  const { links, told, send, connect } = setUp();
  const open = new FakeSocket();
  links.take("registry", open);
  send("one");
  links.close();
  assertEquals(told, ["registry failed", "office:a failed"]);
  assertEquals(open.closes, 1);
  const late = new FakeSocket();
  await connect(late);
  assertEquals([late.closes, late.sent], [1, []]);
});

Deno.test("ObjectLinks tells an object that closes its WebSocket from one that is lost", () => {
  const { links } = setUp();
  const retired = new FakeSocket();
  const lost = new FakeSocket();
  links.take("office:a", retired);
  links.take("office:b", lost);
  retired.ends(1000);
  lost.ends();
  assertEquals(
    ["office:a", "office:b"].map((node) => links.hasRetired(node)),
    [true, false],
  );
  links.take("office:a", new FakeSocket());
  assertEquals(links.hasRetired("office:a"), false, "it is back");
});

const text = (members: number, lag: number, more = "") =>
  `# HELP smcp_members Members.
# TYPE smcp_members gauge
smcp_members ${members}
# HELP smcp_events_total Events.
# TYPE smcp_events_total counter
smcp_events_total{event="a"} 2
${more}# HELP smcp_event_loop_lag_seconds Lag.
# TYPE smcp_event_loop_lag_seconds gauge
smcp_event_loop_lag_seconds ${lag}
# HELP smcp_event_duration_seconds Times.
# TYPE smcp_event_duration_seconds histogram
smcp_event_duration_seconds_bucket{le="+Inf"} 1
smcp_event_duration_seconds_sum 0.5
`;

Deno.test("sumMetrics() adds counts by labels, takes the greatest of times, and changes nothing of one object", () => {
  const more = 'smcp_events_total{event="b c"} 1\n';
  assertEquals(
    sumMetrics([text(1, 0.25), "", text(2, 0.5, more)]),
    text(3, 0.5, more)
      .replace('{event="a"} 2', '{event="a"} 4')
      .replace('{le="+Inf"} 1', '{le="+Inf"} 2')
      .replace("_sum 0.5", "_sum 1"),
  );
  assertEquals(sumMetrics([text(1, 0.25)]), text(1, 0.25));
});

Deno.test("signIn() needs a secret that nobody can guess, and smcpWorker() with it a gateway and a public URL", () => {
  for (const secret of [undefined, "", "short"]) {
    const { message } = assertThrows(() => signIn({ secret }), TypeError);
    assert(message.includes("SMCP_SIGN_IN_SECRET"), message);
  }
  const secret = "ab".repeat(32);
  const given = { insecure: true, signIn: signIn({ secret }) };
  assertThrows(() => smcpWorker(given), TypeError, "without gateway");
  const gateway = mcpGateway();
  assertThrows(
    () => smcpWorker({ ...given, gateway }),
    TypeError,
    "set publicUrl",
  );
  smcpWorker({ ...given, gateway, publicUrl: "https://smcp.example" });
});

Deno.test("signIn() takes a provider of openIdProvider() alone, which checks it", () => {
  const secret = "ab".repeat(32);
  const at = { issuer: "https://issuer.example", clientId: "smcp" };
  signIn({ secret, provider: openIdProvider(at) });
  assertThrows(
    () => signIn({ secret, provider: { kind: "openid-provider" } }),
    TypeError,
    "expected what openIdProvider()",
  );
  assertThrows(
    () => openIdProvider({ ...at, issuer: "http://issuer.example" }),
    TypeError,
    "over http",
  );
});
