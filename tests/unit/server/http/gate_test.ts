import { assertEquals, assertThrows } from "@std/assert";
import {
  CLIENT_EVENTS,
  eventOf,
  GET_CONFIG_EVENT,
  GET_TOOLS_EVENT,
  namesOf,
  NOTIFICATIONS,
  PROFILES,
  SERVER_EVENTS,
  UPDATE_CONFIG_EVENT,
  UPDATE_CONFIG_NOTIFICATION,
  UPDATE_DESKTOP_EVENT,
  UPDATE_DESKTOP_NOTIFICATION,
} from "../../../../protocol/mod.ts";
import { opensSession, splitTarget } from "../../../../server/shared/http.ts";
import { checkGate, checkTransport } from "../../../../server/http/gate.ts";
import {
  checkHost,
  type HostRule,
  readHosts,
} from "../../../../server/http/host_rule.ts";

const gate = (query: string) => checkGate(query, PROFILES["0.2"]);

const invalid = [
  "abc",
  "1.2",
  "v0.2.0",
  "0.2.0-rc1",
  "00.2.0",
  "%200.2.0",
  "+0.2.0",
  "0.2.0%00",
  "0.9007199254740993.0",
  "",
  "0.2.0&a2c_version=0.2.0",
];

Deno.test("checkGate() accepts compatible versions", () => {
  for (const version of ["0.2.0", "0.2.1", "0.2.999"]) {
    assertEquals(gate(`EIO=4&a2c_version=${version}`), undefined);
  }
});

Deno.test("checkGate() names the missing parameter, byte for byte", () => {
  for (const query of ["", "EIO=4", "A2C_VERSION=0.2.0", "xa2c_version=1"]) {
    assertEquals(gate(query), {
      status: 400,
      headers: { "Content-Type": "application/json" },
      body: '{"code":400,"message":"Missing a2c_version query parameter"}',
    });
  }
});

Deno.test("checkGate() refuses anything except three plain integers, given once", () => {
  for (const version of invalid) {
    const refused = gate(`a2c_version=${version}`);
    assertEquals(refused?.status, 400, version);
    const body = JSON.parse(refused?.body ?? "{}");
    assertEquals(body.code, 400, version);
    assertEquals(body.message.startsWith("Invalid a2c_version: "), true);
    assertEquals(refused?.headers["X-A2C-Error-Code"], undefined);
  }
});

Deno.test("checkGate() answers a mismatch with the exact body and header", () => {
  assertEquals(gate("a2c_version=0.1.5"), {
    status: 400,
    headers: {
      "Content-Type": "application/json",
      "X-A2C-Error-Code": "4008",
    },
    body:
      '{"code":4008,"message":"Protocol version mismatch","server_version":"0.2.0","client_version":"0.1.5","min_supported":"0.2.0","max_supported":"0.2.999"}',
  });
});

Deno.test("splitTarget() splits every form of a request target without throwing", () => {
  const cases: [string, string, string][] = [
    ["/smcp/?a=1", "/smcp/", "a=1"],
    ["/smcp", "/smcp", ""],
    ["//", "//", ""],
    ["", "", ""],
    ["?a=1", "", "a=1"],
    ["http://host:1/smcp/?a=1?b", "/smcp/", "a=1?b"],
    ["HTTP://host", "", ""],
    ["/smcp/?a=1#?b", "/smcp/", "a=1"],
    ["http://[", "", ""],
    ["*", "*", ""],
  ];
  for (const [target, path, query] of cases) {
    assertEquals(splitTarget(target), { path, query }, target);
  }
});

Deno.test("opensSession() distinguishes a handshake from a later request", () => {
  assertEquals(opensSession("EIO=4&transport=polling"), true);
  assertEquals(opensSession("EIO=4&sid="), true);
  assertEquals(opensSession("EIO=4&sid=abc"), false);
});

Deno.test("opensSession() parses a query like Engine.IO: the last of several values, without tabs", () => {
  assertEquals(opensSession("sid=abc&sid="), true);
  assertEquals(opensSession("sid=&sid=abc"), false);
  assertEquals(opensSession("sid=\t"), true);
  assertEquals(opensSession("sid=abc&s\tid="), true);
});

Deno.test("checkTransport() refuses polling where it is told to, by the transport that Engine.IO takes", () => {
  const refused = (query: string, webSocketOnly: boolean) =>
    checkTransport(query, webSocketOnly) !== undefined;
  for (
    const [query, isPolling] of [
      ["transport=polling", true],
      ["EIO=4&transport=websocket&transport=polling", true],
      ["transport=polling&transport=websocket", false],
      ["transport=websocket", false],
      ["", false],
    ] as const
  ) {
    assertEquals(refused(query, true), isPolling, query);
    assertEquals(refused(query, false), false, query);
    assertEquals(refused(`${query}&j=0`, false), true, "JSONP");
  }
});

const LOOPBACK: HostRule = { hosts: undefined, proxies: 0 };

/** Returns whether a request over `localAddress` may pass. */
const passes = (
  host: string | undefined,
  rule = LOOPBACK,
  { localAddress = "127.0.0.1" as string | undefined, target = "/health" } = {},
): boolean => checkHost({ host, target, localAddress }, rule) === undefined;

/** Names of this machine. */
const OWN = [
  "localhost",
  "localhost:8787",
  "LocalHost.",
  "smcp.localhost:80",
  "127.0.0.1",
  "127.0.0.1:8787",
  "127.8.9.10:1",
  "127.1",
  "[::1]",
  "[::1]:8787",
  "[0:0:0:0:0:0:0:1]",
  "0.0.0.0:8787",
  "[::]:8787",
];

/** Hosts that DNS rebinding or an attack would send. */
const FOREIGN = [
  "evil.example",
  "evil.example:8787",
  "localhost.evil.example",
  "evillocalhost",
  "127.0.0.1.evil.example",
  "192.168.0.7",
  "[2001:db8::1]:8787",
  "localhost@evil.example",
  "evil.example#localhost",
  "localhost evil.example",
  "localhost, evil.example",
  "localhost:80:80",
  "%6c%6f%63%61%6c%68%6f%73%74",
  "::1",
  "[::1",
  "[::1%lo]",
  ":8787",
  "",
];

Deno.test("checkHost() requires requests over loopback to name this machine", () => {
  for (const host of OWN) assertEquals(passes(host), true, host);
  for (const host of FOREIGN) assertEquals(passes(host), false, host);
  for (const localAddress of ["127.0.0.1", "127.3.4.5", "::1"]) {
    assertEquals(passes("evil.example", LOOPBACK, { localAddress }), false);
  }
});

Deno.test("checkHost() allows requests without any host, which browsers never send", () => {
  assertEquals(passes(undefined), true);
});

Deno.test("checkHost() applies the same rule to the target's authority as to the header", () => {
  const target = (target: string) => passes("localhost", LOOPBACK, { target });
  assertEquals(target("http://localhost:8787/health"), true);
  assertEquals(target("http://[::1]/health?x=http://evil.example/"), true);
  assertEquals(target("/smcp/?x=http://evil.example/"), true);
  for (
    const url of [
      "http://evil.example/health",
      "HTTPS://evil.example:8787?",
      "http://localhost@evil.example/",
      "http:///health",
    ]
  ) assertEquals(target(url), false, url);
  const absolute = { target: "http://localhost/health" };
  assertEquals(passes("evil.example", LOOPBACK, absolute), false);
  assertEquals(passes(undefined, LOOPBACK, absolute), true);
});

Deno.test("checkHost() allows any name behind a trusted proxy, and over an address that is not loopback", () => {
  assertEquals(passes("evil.example", { ...LOOPBACK, proxies: 1 }), true);
  for (const localAddress of ["10.0.0.7", "2001:db8::7", undefined]) {
    const checked = { host: "evil.example", target: "/", localAddress };
    assertEquals(checkHost(checked, LOOPBACK), undefined);
  }
});

Deno.test("checkHost() allows the operator's names everywhere, and no others", () => {
  const rule = { hosts: ["smcp.example.com"], proxies: 1 };
  for (const localAddress of ["127.0.0.1", "10.0.0.7"]) {
    const at = { localAddress };
    assertEquals(passes("SMCP.example.com:443", rule, at), true);
    assertEquals(passes("localhost", rule, at), true);
    assertEquals(passes("evil.example", rule, at), false);
    assertEquals(passes("a.smcp.example.com", rule, at), false);
  }
  assertEquals(passes("evil.example", { hosts: "*", proxies: 0 }), true);
});

Deno.test("checkHost() refuses with 403 and says how to allow a host", () => {
  const { status, body } = checkHost(
    { host: "evil.example", target: "/", localAddress: "127.0.0.1" },
    LOOPBACK,
  ) ?? {};
  assertEquals([status, JSON.parse(body ?? "")], [403, {
    code: 403,
    message:
      "Host not allowed: the operator names hosts with --hosts, and proxies with --trust-proxy",
  }]);
});

Deno.test("readHosts() normalizes names for comparison, and refuses invalid ones", () => {
  assertEquals(readHosts("*"), "*");
  assertEquals(readHosts(["SMCP.Example.com.", "[::1]", "10.0.0.7"]), [
    "smcp.example.com",
    "::1",
    "10.0.0.7",
  ]);
  for (
    const host of ["https://a.example", "a.example:80", "a/b", "", "::1", "*"]
  ) {
    assertThrows(() => readHosts([host]), TypeError, JSON.stringify(host));
  }
});

const OLD = PROFILES["0.1"];
const NEW = PROFILES["0.2"];

const isClient = (event: string): event is keyof typeof CLIENT_EVENTS =>
  event in CLIENT_EVENTS;

Deno.test("eventOf() maps the names of seed 002 to current ones, only in profile 0.1 (spec §12)", () => {
  const names = {
    "client:get_mcp_config": GET_CONFIG_EVENT,
    "server:update_mcp_config": UPDATE_CONFIG_EVENT,
    "server:desktop_refresh": UPDATE_DESKTOP_EVENT,
  };
  for (const [older, event] of Object.entries(names)) {
    assertEquals(eventOf(OLD, older), event);
    assertEquals(eventOf(OLD, event), event);
    assertEquals(eventOf(NEW, older), undefined);
  }
});

Deno.test("eventOf() accepts no notification and no property name of Object", () => {
  const strangers = [
    "notify:update_mcp_config",
    UPDATE_CONFIG_NOTIFICATION,
    "toString",
    "client:nothing",
    "",
  ];
  for (const profile of [OLD, NEW]) {
    for (const name of strangers) {
      assertEquals(eventOf(profile, name), undefined, name);
    }
  }
});

Deno.test("eventOf() lacks in profile 0.1 exactly what came with 0.2 and later (spec §12)", () => {
  const requests = [
    ...Object.keys(CLIENT_EVENTS),
    ...Object.keys(SERVER_EVENTS),
  ];
  assertEquals(
    requests.filter((name) => eventOf(OLD, name) === undefined),
    [
      "client:get_resources",
      "client:get_dpe",
      "client:get_finder",
      "client:get_skills",
      "client:get_skill",
      "client:get_blob",
      "client:put_blob",
      // Extensions of this package.
      "client:read_resource",
      "client:watch_resource",
      "client:get_prompts",
      "client:get_prompt",
      "server:tool_call_progress",
      "server:update_finder",
      "server:update_skills",
      "server:update_resources",
    ],
  );
});

Deno.test("each version from 0.2 on knows skills and blobs, 0.4 uploads (0.4 §5, §16)", () => {
  const requests = [
    ...Object.keys(CLIENT_EVENTS),
    ...Object.keys(SERVER_EVENTS),
  ];
  for (const version of ["0.2", "0.3", "0.4"] as const) {
    assertEquals(
      requests.filter((name) => eventOf(PROFILES[version], name) === undefined),
      version === "0.4" ? [] : ["client:put_blob"],
      version,
    );
  }
});

Deno.test("the versions are those that released SDKs send (0.4 §1.1)", () => {
  assertEquals(
    Object.values(PROFILES).map(({ version }) => version).sort(),
    ["0.1.2", "0.2.0", "0.3.1", "0.4.0"],
  );
});

Deno.test("namesOf() returns both names in profile 0.1, the current one first (spec §12)", () => {
  assertEquals(namesOf(OLD, GET_CONFIG_EVENT), [
    GET_CONFIG_EVENT,
    "client:get_mcp_config",
  ]);
  assertEquals(namesOf(OLD, UPDATE_CONFIG_NOTIFICATION), [
    UPDATE_CONFIG_NOTIFICATION,
    "notify:update_mcp_config",
  ]);
  assertEquals(namesOf(OLD, UPDATE_DESKTOP_NOTIFICATION), [
    UPDATE_DESKTOP_NOTIFICATION,
    "notify:desktop_refresh",
  ]);
  assertEquals(namesOf(OLD, GET_TOOLS_EVENT), [GET_TOOLS_EVENT]);
  for (const event of Object.keys(CLIENT_EVENTS).filter(isClient)) {
    assertEquals(namesOf(NEW, event), [event]);
  }
  assertEquals(
    Object.keys(NOTIFICATIONS).filter((name) => name in NEW.olderNames),
    [],
  );
});

Deno.test("checkGate() of profile 0.1 requires no version, and accepts 0.1.x if one is sent (spec §12)", () => {
  for (const query of ["EIO=4", "a2c_version=0.1.0", "a2c_version=0.1.999"]) {
    assertEquals(checkGate(query, OLD), undefined, query);
  }
  assertEquals(checkGate("a2c_version=0.2.0", OLD), {
    status: 400,
    headers: {
      "Content-Type": "application/json",
      "X-A2C-Error-Code": "4008",
    },
    body:
      '{"code":4008,"message":"Protocol version mismatch","server_version":"0.1.2","client_version":"0.2.0","min_supported":"0.1.0","max_supported":"0.1.999"}',
  });
  for (const sent of ["", "abc", "0.1", "0.1.0&a2c_version=0.1.0"]) {
    const { body = "{}" } = checkGate(`a2c_version=${sent}`, OLD) ?? {};
    assertEquals(JSON.parse(body).code, 400, sent);
  }
});
