import fc from "fast-check";
import { Buffer } from "node:buffer";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { mcpGateway } from "../../../mcp/mod.ts";
import { resolveOptions } from "../../../server/options.ts";
import {
  checkWorkerOptions,
  type DoorRules,
  frontOf,
  frontOfSession,
  LINK_PATH,
  METRICS_PATH,
  type SmcpWorkerOptions,
  wayOf,
} from "../../../server/workers/door.ts";
import { smcpWorker } from "../../../server/workers/mod.ts";
import { ObjectLinks } from "../../../server/workers/object_node.ts";
import type { WorkerWebSocket } from "../../../server/workers/platform.ts";
import { sumMetrics } from "../../../server/workers/smcp_worker.ts";

const FRONTS = 3;

const rulesOf = (
  options: Parameters<typeof resolveOptions>[0] = {},
): DoorRules => ({ ...resolveOptions(options), fronts: FRONTS });

/** Returns where a request goes; a refusal as its status and code. */
function go(
  target: string,
  headers: Readonly<Record<string, string>> = {},
  rules = rulesOf({ gateway: mcpGateway() }),
  method = "GET",
) {
  const way = wayOf(
    {
      url: `https://smcp.example${target}`,
      headers: new Headers({ Host: "smcp.example", ...headers }),
      method,
      continent: "EU",
    },
    rules,
    0.5,
  );
  if (!("refused" in way)) return way;
  return [way.refused.status, JSON.parse(way.refused.body).code];
}

const HANDSHAKE = "/smcp/?EIO=4&transport=polling&a2c_version=0.2.0";

Deno.test("wayOf() sends a handshake to a front of its continent, and a session to the front that its id names", () => {
  assertEquals(go(HANDSHAKE), { front: "eu-1" });
  assertEquals(go(`${HANDSHAKE}&sid=sa-2.xyz`), { front: "sa-2" });
  assertEquals(
    go(`${HANDSHAKE}&sid=sa-0.x&sid=as-2.y`),
    { front: "as-2" },
    "Engine.IO takes the last",
  );
});

Deno.test("wayOf() answers hostile ids of sessions as Engine.IO answers unknown ones", () => {
  for (
    const sid of [
      "x",
      ".x",
      "eu.x",
      "eu-.x",
      "eu-3.x",
      "eu-03.x",
      "eu--1.x",
      "eu-1e0.x",
      "EU-1.x",
      "zz-1.x",
      "eu-1 .x",
      "eu-99999999999999999999.x",
      "registry.x",
      "office:home.x",
      "eu-1/../eu-2.x",
      "a".repeat(5000) + ".x",
      "eu-1\u0000.x",
      "__proto__.x",
      "single.x",
    ]
  ) {
    const way = go(`${HANDSHAKE}&sid=${encodeURIComponent(sid)}`);
    assertEquals(way, { answer: "unknown session" }, sid);
  }
});

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

Deno.test("wayOf() refuses by version, origin, transport and host before any object", () => {
  assertEquals(go("/smcp/?EIO=4&a2c_version=9.0.0"), [400, 4008]);
  assertEquals(go(`${HANDSHAKE}&j=1`), [400, 400]);
  assertEquals(go(HANDSHAKE, { Origin: "https://evil.example" }), [403, 403]);
  const hosts = rulesOf({ hosts: ["other.example"] });
  for (
    const path of [HANDSHAKE, "/health", "/operator/v1/status", "/console"]
  ) {
    assertEquals(go(path, {}, hosts), [403, 403], path);
  }
  const origins = rulesOf({ origins: ["https://app.example"] });
  assertEquals(go(HANDSHAKE, { Origin: "https://app.example" }, origins), {
    front: "eu-1",
  });
});

Deno.test("wayOf() lets a front answer preflight requests of pages, whatever the version", () => {
  for (const path of ["/health", "/smcp/", "/socket.io"]) {
    assertEquals(go(path, {}, rulesOf(), "OPTIONS"), { front: "eu-1" }, path);
  }
});

Deno.test("wayOf() sends operators to the registry, and lets the Worker say how it is", () => {
  for (
    const path of [
      "/operator/v1/status",
      "/console",
      "/console/page.js",
      "/metrics",
    ]
  ) {
    assertEquals(go(path), { object: "registry" }, path);
  }
  assertEquals(go("/health"), { answer: "health" });
  assertEquals(go("/ready"), { answer: "ready" });
  for (
    const path of [
      "/",
      "/operator",
      "/operator/v2/status",
      "/consoles",
      "/favicon.ico",
      "/a/b/c",
    ]
  ) {
    assertEquals(go(path), [404, 404], path);
  }
});

Deno.test("wayOf() sends requests of a gateway to their office, and odd names to nobody's", () => {
  assertEquals(go("/mcp/home"), { office: "home" });
  assertEquals(go("/mcp/caf%C3%A9%20%2Fx?y=1"), { office: "café /x" });
  assertEquals(go("/mcp/%E0%A4"), { office: "" });
  assertEquals(go("/mcp/%00"), { office: "" });
  assertEquals(go("/.well-known/oauth-protected-resource/mcp/home"), {
    office: "",
  });
  assertEquals(go("/mcp/home", {}, rulesOf()), [404, 404], "without a gateway");
});

Deno.test("wayOf() lets no client use the paths that objects have for each other", () => {
  assertEquals(go(LINK_PATH), [404, 404]);
  assertEquals(go(`${LINK_PATH}?registry`), [404, 404]);
  assertEquals(go(METRICS_PATH), [404, 404]);
  const rules = rulesOf({ paths: [LINK_PATH], gateway: mcpGateway() });
  assertEquals(go(`${LINK_PATH}?EIO=4&a2c_version=0.2.0`, {}, rules), [
    404,
    404,
  ]);
});

/** Options as a program without types may give them. */
const given = (options: object): SmcpWorkerOptions => ({
  insecure: true,
  ...options,
});

Deno.test("smcpWorker() names each option that a Worker cannot keep, with the reason", () => {
  for (
    const [options, message] of [
      [
        { cluster: {} },
        "with cluster: its objects are one already; leave it out",
      ],
      [
        { trustedProxies: 1 },
        "with trustedProxies: the platform says who the client is; leave it out",
      ],
      [
        { wsEngine: "fast" },
        "with wsEngine: the WebSockets are the platform's; leave it out",
      ],
      [
        { limits: { queuedBytes: 1 } },
        "with limits.queuedBytes: the platform does not say what it has queued; leave it out",
      ],
      [
        { limits: { unfinishedBytes: 1 } },
        "with limits.unfinishedBytes: the platform shows a message when it is complete; leave it out",
      ],
      [{ protocol: "9" }, 'Cannot serve the protocol "9"'],
      [
        { fronts: 0 },
        "Cannot use 0 fronts: expected a whole number from 1 to 100",
      ],
      [{ fronts: 1.5 }, "Cannot use 1.5 fronts"],
      [
        { maxMessageBytes: 2 ** 25 },
        "a WebSocket of Cloudflare carries at most 33488896 bytes of a client",
      ],
    ] as const
  ) {
    assertThrows(() => smcpWorker(given(options)), TypeError, message);
  }
});

Deno.test("smcpWorker() refuses to serve the internet without authentication, unless insecure is set", () => {
  assertThrows(
    () => smcpWorker({}),
    TypeError,
    "set authenticator, such as apiKeys(parseApiKeys(env.SMCP_KEYS)), or insecure: true",
  );
  assertThrows(
    () => smcpWorker({ insecure: false }),
    TypeError,
    "without authentication",
  );
  assertEquals(checkWorkerOptions({ insecure: true }), {
    fronts: 4,
    single: false,
  });
});

Deno.test("smcpWorker() evaluates a function of env at the first request, and throws its error there", async () => {
  const envs: unknown[] = [];
  const { worker } = smcpWorker((env: { readonly SMCP_KEYS?: string }) => {
    envs.push(env);
    return {};
  });
  assertEquals(envs, []);
  const env = { SMCP_KEYS: "[]" };
  let message = "";
  await worker.fetch(new Request("https://smcp.example/health"), env)
    .catch((error: Error) => message = error.message);
  assertEquals(envs, [env]);
  assertEquals(message.startsWith("Cannot serve the internet without"), true);
});

Deno.test("a Worker without its bindings says which is missing", async () => {
  const { worker } = smcpWorker({ insecure: true });
  const url =
    "https://smcp.example/smcp/?EIO=4&transport=polling&a2c_version=0.2.0";
  let message = "";
  await worker.fetch(new Request(url), {})
    .catch((error: Error) => message = error.message);
  assertEquals(
    message.startsWith("Cannot serve without the binding FRONT"),
    true,
    message,
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
  const links = new ObjectLinks({
    dial: (node) => {
      dialed.push(node);
      connection = Promise.withResolvers();
      return connection.promise;
    },
    received: (node, message) => told.push(`${node}: ${message}`),
    failed: (node) => told.push(`${node} failed`),
  });
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
  const [first, second] = [new FakeSocket(), new FakeSocket()];
  links.take("eu-1.aa", first);
  links.take("eu-1.aa", second);
  assertEquals(told, ["eu-1.aa failed"]);
  assertEquals(first.closes, 1);
  send("hi", "eu-1.aa");
  assertEquals([first.sent, second.sent], [[], ["hi"]]);
});

Deno.test("ObjectLinks closes all, also one that is on its way", async () => {
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
  const [retired, lost] = [new FakeSocket(), new FakeSocket()];
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

Deno.test("sumMetrics() adds counts by labels, and takes the greatest of times", () => {
  const more = 'smcp_events_total{event="b c"} 1\n';
  assertEquals(
    sumMetrics([text(1, 0.25), "", text(2, 0.5, more)]),
    text(3, 0.5, more)
      .replace('{event="a"} 2', '{event="a"} 4')
      .replace('{le="+Inf"} 1', '{le="+Inf"} 2')
      .replace("_sum 0.5", "_sum 1"),
  );
});

Deno.test("sumMetrics() of one object changes nothing", () => {
  assertEquals(sumMetrics([text(1, 0.25)]), text(1, 0.25));
});
