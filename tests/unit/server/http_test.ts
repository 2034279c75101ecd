import type { IncomingMessage } from "node:http";
import { assertEquals, assertThrows } from "@std/assert";
import {
  CLIENT_EVENTS,
  eventOf,
  GET_CONFIG_EVENT,
  GET_TOOLS_EVENT,
  isClientEvent,
  namesOf,
  NOTIFICATIONS,
  PROFILES,
  SERVER_EVENTS,
  UPDATE_CONFIG_EVENT,
  UPDATE_CONFIG_NOTIFICATION,
  UPDATE_DESKTOP_EVENT,
  UPDATE_DESKTOP_NOTIFICATION,
} from "../../../protocol/mod.ts";
import {
  challenge,
  resourceUrls,
} from "../../../server/doors/gateway_admission.ts";
import {
  bun,
  type BunServer,
  type BunSession,
  type BunWebSocket,
} from "../../../server/fetch/bun.ts";
import { deno } from "../../../server/fetch/deno.ts";
import { createFetchServer } from "../../../server/fetch/mod.ts";
import { checkTransport, judgeQuery } from "../../../server/http/gate.ts";
import {
  checkHost,
  type HostRule,
  readHosts,
} from "../../../server/http/host_rule.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import { resolveOptions } from "../../../server/options.ts";
import { opensSession, splitTarget } from "../../../server/shared/http.ts";
import { readPublicUrl } from "../../../shared/http.ts";

const gate = (query: string, profile = PROFILES["0.2"]) =>
  judgeQuery(query, false, [profile]);

const invalid = [
  ...["abc", "1.2", "v0.2.0", "0.2.0-rc1", "00.2.0", "%200.2.0", "+0.2.0"],
  ...["0.2.0%00", "0.9007199254740993.0", "", "0.2.0&a2c_version=0.2.0"],
];

Deno.test("judgeQuery() names the missing parameter, byte for byte", () => {
  for (const query of ["", "EIO=4", "A2C_VERSION=0.2.0", "xa2c_version=1"]) {
    assertEquals(gate(query), {
      status: 400,
      headers: { "Content-Type": "application/json" },
      body: '{"code":400,"message":"Missing a2c_version query parameter"}',
    });
  }
});

Deno.test("judgeQuery() accepts compatible versions, and refuses anything except three plain integers, given once", () => {
  for (const version of ["0.2.0", "0.2.1", "0.2.999"]) {
    assertEquals(gate(`EIO=4&a2c_version=${version}`), undefined);
  }
  for (const version of invalid) {
    const refused = gate(`a2c_version=${version}`);
    assertEquals(refused?.status, 400, version);
    const body = JSON.parse(refused?.body ?? "{}");
    assertEquals(body.code, 400, version);
    assertEquals(body.message.startsWith("Invalid a2c_version: "), true);
    assertEquals(refused?.headers["X-A2C-Error-Code"], undefined);
  }
});

Deno.test("judgeQuery() answers a mismatch with the exact body and header", () => {
  for (const version of ["0.1.5", "0.3.0", "1.0.0", "1.2.0"]) {
    assertEquals(gate(`a2c_version=${version}`), {
      status: 400,
      headers: {
        "Content-Type": "application/json",
        "X-A2C-Error-Code": "4008",
      },
      body:
        `{"code":4008,"message":"Protocol version mismatch","server_version":"0.2.0","client_version":"${version}","min_supported":"0.2.0","max_supported":"0.2.999"}`,
    });
  }
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

Deno.test("opensSession() distinguishes a handshake from a later request, and parses a query like Engine.IO", () => {
  const rows: [query: string, opens: boolean][] = [
    ["EIO=4&transport=polling", true],
    ["EIO=4&sid=", true],
    ["EIO=4&sid=abc", false],
    ["sid=abc&sid=", true], // the last of several values, without tabs
    ["sid=&sid=abc", false],
    ["sid=\t", true],
    ["sid=abc&s\tid=", true],
  ];
  for (const [query, opens] of rows) {
    assertEquals(opensSession(query), opens, query);
  }
});

Deno.test("checkTransport() refuses polling where that is not allowed, by the transport that Engine.IO takes", () => {
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

const LOOPBACK: HostRule = {
  hosts: undefined,
  publicUrl: undefined,
  proxies: 0,
};

const EVIL = "evil.example";
const OPERATOR: HostRule = {
  ...LOOPBACK,
  hosts: ["smcp.example.com"],
  proxies: 1,
};
const PUBLIC: HostRule = {
  ...LOOPBACK,
  publicUrl: "https://smcp.example.com:8443/smcp",
};

/** Names of this machine. */
const OWN = [
  ...["localhost", "localhost:8787", "LocalHost.", "smcp.localhost:80"],
  ...["127.0.0.1", "127.0.0.1:8787", "127.8.9.10:1", "127.1", "[::1]"],
  ...["[::1]:8787", "[0:0:0:0:0:0:0:1]", "0.0.0.0:8787", "[::]:8787"],
];

/** Hosts that DNS rebinding or an attack would send. */
const FOREIGN = [
  ...["evil.example", "evil.example:8787", "localhost.evil.example"],
  ...["evillocalhost", "127.0.0.1.evil.example", "192.168.0.7"],
  ...["[2001:db8::1]:8787", "localhost@evil.example", "evil.example#localhost"],
  ...["localhost evil.example", "localhost, evil.example", "localhost:80:80"],
  ...["%6c%6f%63%61%6c%68%6f%73%74", "::1", "[::1", "[::1%lo]", ":8787", ""],
];

type Checked = Parameters<typeof checkHost>[0];

const check = (checked: Partial<Checked>, rule = LOOPBACK) =>
  checkHost(
    {
      host: "localhost",
      target: "/health",
      localAddress: "127.0.0.1",
      ...checked,
    },
    rule,
  );

Deno.test("checkHost() allows the names of this machine and of the operator, and any name over other addresses and behind a trusted proxy", () => {
  const rows: [checked: Partial<Checked>, rule?: HostRule][] = [
    ...OWN.map((host): typeof rows[number] => [{ host }]),
    [{ host: undefined }], // browsers never leave it out
    // The target's authority like the header.
    [{ target: "http://localhost:8787/health" }],
    [{ target: "http://[::1]/health?x=http://evil.example/" }],
    [{ target: "/smcp/?x=http://evil.example/" }],
    [{ host: undefined, target: "http://localhost/health" }],
    [{ host: EVIL }, { ...LOOPBACK, proxies: 1 }],
    ...["10.0.0.7", "2001:db8::7", undefined]
      .map((localAddress): typeof rows[number] => [
        { host: EVIL, localAddress },
      ]),
    [{ host: "SMCP.example.com:443" }, OPERATOR],
    [{ host: "SMCP.example.com:443", localAddress: "10.0.0.7" }, OPERATOR],
    [{ host: "localhost" }, OPERATOR],
    [{ host: "localhost", localAddress: "10.0.0.7" }, OPERATOR],
    [{ host: EVIL }, { ...LOOPBACK, hosts: "*" }],
    [{ host: "smcp.example.com:8443" }, PUBLIC],
    [{ host: "SMCP.example.com." }, { ...PUBLIC, hosts: ["a.example"] }],
    [{ host: "localhost" }, PUBLIC],
    [{ host: EVIL, localAddress: "10.0.0.7" }, PUBLIC],
  ];
  for (const [checked, rule] of rows) {
    assertEquals(check(checked, rule), undefined, JSON.stringify(checked));
  }
});

Deno.test("checkHost() refuses other names with 403, and says how to allow a host", () => {
  const message =
    "Host not allowed: use a name of this machine, such as localhost; smcp-server lets in others with --hosts, and those of a proxy with --trust-proxy";
  const refused = (checked: Partial<Checked>, rule?: HostRule) => {
    const { status, body = "" } = check(checked, rule) ?? {};
    assertEquals(
      [status, JSON.parse(body)],
      [403, { code: 403, message }],
      JSON.stringify(checked),
    );
  };
  for (const host of FOREIGN) refused({ host });
  for (const localAddress of ["127.0.0.1", "127.3.4.5", "::1"]) {
    refused({ host: EVIL, localAddress });
  }
  for (
    const target of [
      "http://evil.example/health",
      "HTTPS://evil.example:8787?",
      "http://localhost@evil.example/",
      "http:///health",
    ]
  ) refused({ target });
  refused({ host: EVIL, target: "http://localhost/health" });
  for (const localAddress of ["127.0.0.1", "10.0.0.7"]) {
    refused({ host: EVIL, localAddress }, OPERATOR);
    refused({ host: "a.smcp.example.com", localAddress }, OPERATOR);
  }
  refused({ host: EVIL }, PUBLIC);
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

const requests = [...Object.keys(CLIENT_EVENTS), ...Object.keys(SERVER_EVENTS)];

Deno.test("eventOf() maps the names of seed 002 to current ones, only in profile 0.1 (protocol §12)", () => {
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
  // No notification, and no property name of Object.
  const strangers = ["notify:update_mcp_config", UPDATE_CONFIG_NOTIFICATION]
    .concat("toString", "client:nothing", "");
  for (const name of strangers) {
    const found = [OLD, NEW].map((profile) => eventOf(profile, name));
    assertEquals(found, [undefined, undefined], name);
  }
});

Deno.test("eventOf() lacks in profile 0.1 exactly what came with 0.2 and later (protocol §12)", () => {
  assertEquals(
    requests.filter((name) => eventOf(OLD, name) === undefined),
    [
      ..."client:get_resources client:get_dpe client:get_finder".split(" "),
      ..."client:get_skills client:get_skill client:get_blob".split(" "),
      "client:put_blob",
      // Extensions of this package.
      ..."client:read_resource client:watch_resource".split(" "),
      "client:get_resource_templates",
      ..."client:get_prompts client:get_prompt".split(" "),
      ..."client:complete client:get_instructions".split(" "),
      ..."server:tool_call_progress server:update_finder".split(" "),
      ..."server:update_skills server:update_resources".split(" "),
      "server:update_devices",
    ],
  );
});

Deno.test("each version from 0.2 on has skills and blobs, 0.4 uploads too (protocol §3)", () => {
  for (const version of ["0.2", "0.3", "0.4"] as const) {
    assertEquals(
      requests.filter((name) => eventOf(PROFILES[version], name) === undefined),
      version === "0.4" ? [] : ["client:put_blob"],
      version,
    );
  }
});

Deno.test("the versions are those that released SDKs send (protocol §2)", () => {
  assertEquals(
    Object.values(PROFILES).map(({ version }) => version).sort(),
    ["0.1.2", "0.2.0", "0.3.1", "0.4.0"],
  );
});

Deno.test("namesOf() returns both names in profile 0.1, the current one first (protocol §12)", () => {
  const older = {
    [GET_CONFIG_EVENT]: "client:get_mcp_config",
    [UPDATE_CONFIG_NOTIFICATION]: "notify:update_mcp_config",
    [UPDATE_DESKTOP_NOTIFICATION]: "notify:desktop_refresh",
  } as const;
  for (const event of Object.keys(older) as (keyof typeof older)[]) {
    assertEquals(namesOf(OLD, event), [event, older[event]]);
  }
  assertEquals(namesOf(OLD, GET_TOOLS_EVENT), [GET_TOOLS_EVENT]);
  for (const event of Object.keys(CLIENT_EVENTS).filter(isClientEvent)) {
    assertEquals(namesOf(NEW, event), [event]);
  }
  assertEquals(
    Object.keys(NOTIFICATIONS).filter((name) => name in NEW.olderNames),
    [],
  );
});

Deno.test("judgeQuery() of profile 0.1 requires no version, and accepts 0.1.x if one is sent (protocol §12)", () => {
  for (const query of ["EIO=4", "a2c_version=0.1.0", "a2c_version=0.1.999"]) {
    assertEquals(gate(query, OLD), undefined, query);
  }
  assertEquals(gate("a2c_version=0.2.0", OLD), {
    status: 400,
    headers: {
      "Content-Type": "application/json",
      "X-A2C-Error-Code": "4008",
    },
    body:
      '{"code":4008,"message":"Protocol version mismatch","server_version":"0.1.2","client_version":"0.2.0","min_supported":"0.1.0","max_supported":"0.1.999"}',
  });
  for (const sent of ["", "abc", "0.1", "0.1.0&a2c_version=0.1.0"]) {
    const { body = "{}" } = gate(`a2c_version=${sent}`, OLD) ?? {};
    assertEquals(JSON.parse(body).code, 400, sent);
  }
});

const request = (
  headers: IncomingMessage["headers"],
  encrypted = false,
) => ({
  headers,
  socket: { encrypted } as unknown as IncomingMessage["socket"],
});

const resourceOf = (
  asked: ReturnType<typeof request>,
  rule: Partial<HostRule> = {},
) => resourceUrls(asked, "/mcp/a", { ...LOOPBACK, ...rule })?.resource;

Deno.test("resourceUrls() names the host and the scheme that the client has used", () => {
  const host = { host: "smcp.example.com" };
  const path = "/mcp/my%20office";
  assertEquals(resourceUrls(request(host, true), path, LOOPBACK), {
    resource: "https://smcp.example.com/mcp/my%20office",
    metadata:
      "https://smcp.example.com/.well-known/oauth-protected-resource/mcp/my%20office",
  });
  assertEquals(
    resourceOf(request({ host: "[::1]:8787" })),
    "http://[::1]:8787/mcp/a",
  );
});

Deno.test("resourceUrls() believes X-Forwarded-Proto of a trusted proxy alone, and makes nothing of a host that is none", () => {
  const forwarded = request({ host: "h", "x-forwarded-proto": "https" });
  const rows = [0, 1].map((proxies) => resourceOf(forwarded, { proxies }));
  assertEquals(rows, ["http://h/mcp/a", "https://h/mcp/a"]);
  for (const host of [undefined, 'x"', "a b", "@", ""]) {
    const headers = host === undefined ? {} : { host };
    assertEquals(resourceOf(request(headers)), undefined, host);
  }
});

Deno.test("resourceUrls() names the public URL, whatever the request says", () => {
  const host = "127.0.0.1:8787";
  const requests = [
    request({}),
    request({ host }),
    request({ host }, true),
    request({ host: "a b", "x-forwarded-proto": "http" }),
  ];
  const publicUrl = "https://smcp.example.com/team";
  for (const asked of requests) {
    for (const proxies of [0, 1]) {
      const rule = { publicUrl, proxies };
      assertEquals(resourceUrls(asked, "/mcp/my%20office", rule), {
        resource: `${publicUrl}/mcp/my%20office`,
        metadata:
          `${publicUrl}/.well-known/oauth-protected-resource/mcp/my%20office`,
      });
    }
  }
});

Deno.test("publicUrl is an absolute URL of HTTP without credentials, query and fragment; an error names the problem, and no password", () => {
  const good = {
    "https://smcp.example.com": "https://smcp.example.com",
    "HTTPS://SMCP.example.com:443/": "https://smcp.example.com",
    "http://[::1]:8787/": "http://[::1]:8787",
    "https://a.example/team/smcp//": "https://a.example/team/smcp",
  };
  for (const [given, publicUrl] of Object.entries(good)) {
    assertEquals(readPublicUrl(given, "publicUrl"), publicUrl);
    assertEquals(resolveOptions({ publicUrl: given }).publicUrl, publicUrl);
  }
  const noUrl = "it is not an https:// or http:// URL";
  const secret = "it has a user or a password";
  const bad = {
    "": noUrl,
    "smcp.example.com": noUrl,
    "smcp.example.com:8787": noUrl,
    "/smcp": noUrl,
    "wss://smcp.example.com": noUrl,
    "https://": noUrl,
    "https://ann@a.example": secret,
    "https://:s3cret@a.example/?x": secret,
    "https://a.example/?": "it has a query",
    "https://a.example?x=s3cret": "it has a query",
    "https://a.example/#": "it has a fragment",
    "https://a.example/?x#y": "it has a fragment",
    'https://a"b.example': "its host is neither a name nor an address",
  };
  for (const [publicUrl, problem] of Object.entries(bad)) {
    const make = () => createSmcpServer({ publicUrl });
    const { message } = assertThrows(make, TypeError);
    const fix =
      'expected the URL by which clients reach the Server, such as "https://smcp.example.com"';
    assertEquals(message, `Cannot use publicUrl: ${problem}; ${fix}`);
  }
});

Deno.test("challenge() says whether credentials were refused, and where the metadata is", () => {
  const urls = { resource: "r", metadata: "m" };
  assertEquals(
    [
      challenge(undefined, false),
      challenge(undefined, true),
      challenge(urls, false),
      challenge(urls, true),
    ],
    [
      "Bearer",
      'Bearer error="invalid_token"',
      'Bearer resource_metadata="m"',
      'Bearer error="invalid_token", resource_metadata="m"',
    ],
  );
});

Deno.test("createFetchServer() says what to use where there is no Deno.upgradeWebSocket", () => {
  const real = Deno.upgradeWebSocket;
  const put = (value: unknown) =>
    Object.defineProperty(Deno, "upgradeWebSocket", { value });
  put(undefined);
  try {
    assertThrows(
      () => createFetchServer(),
      TypeError,
      "which has no Deno.upgradeWebSocket: on Bun use bun()",
    );
  } finally {
    put(real);
  }
});

const UPGRADE = new Request("http://127.0.0.1/smcp/");
UPGRADE.headers.set("Connection", "keep-alive, Upgrade");

/** A server of Bun that upgrades with a WebSocket that drops messages. */
function bunServer(over: Partial<BunServer> = {}) {
  const calls: unknown[] = [];
  const ws = (data: BunSession): BunWebSocket => ({
    data,
    readyState: 1,
    getBufferedAmount: () => 5,
    send: (message) => {
      calls.push(message);
      return 0;
    },
    close: (code) => void calls.push(code),
    terminate: () => void calls.push("terminate"),
  });
  const server: BunServer = {
    url: new URL("http://127.0.0.1:8787"),
    requestIP: () => ({ address: "203.0.113.5" }),
    timeout: (_request, seconds) => void calls.push(seconds),
    upgrade: (_request, { data, headers }) => {
      calls.push(headers);
      bun().websocket.open(ws(data));
      return true;
    },
    ...over,
  };
  return { server, calls };
}

Deno.test("deno() and bun() give an address, this machine for a Unix socket, and nothing for what is unknown", () => {
  const ofDeno = (transport: string, more = {}) =>
    deno().addressOf(UPGRADE, { remoteAddr: { transport, ...more } });
  const ofBun = (over: Partial<BunServer>) =>
    bun().addressOf(UPGRADE, bunServer(over).server);
  const address = "203.0.113.5";
  assertEquals(
    [
      [ofDeno("tcp", { hostname: address }), ofBun({})],
      [ofDeno("unix"), ofDeno("unixpacket")],
      [ofBun({ url: new URL("unix:///run/smcp.sock") })],
      [ofDeno("vsock"), ofBun({ requestIP: () => null })],
      [deno, bun].map((adapter) => adapter().addressOf(UPGRADE, undefined)),
    ],
    [[address, address], ["localhost", "localhost"], ["localhost"]]
      .concat([["", ""], ["", ""]]),
  );
});

Deno.test("bun() passes on what a WebSocket does, in the order that the web knows", async () => {
  const { server, calls } = bunServer();
  const { socket, response } = bun().upgrade(
    UPGRADE,
    { protocol: "a" },
    server,
  );
  const events: unknown[] = [];
  socket.onopen = () => events.push("open");
  socket.onclose = ({ code }) => events.push(code);
  assertEquals([response.status, socket.bufferedAmount], [101, 5]);
  await Promise.resolve();
  assertEquals(events, ["open"]);
  socket.send("dropped");
  socket.close(1000);
  assertEquals(calls, [
    { "Sec-WebSocket-Protocol": "a" },
    "dropped",
    "terminate",
    1000,
  ]);
});

Deno.test("bun() makes no WebSocket of what is no upgrade, and names the argument that was not passed on", () => {
  const { upgrade } = bun();
  const refused = (request: Request, info: BunServer | undefined) =>
    assertThrows(() => upgrade(request, {}, info), TypeError).message;
  const plain = new Request("http://127.0.0.1/smcp/");
  const of = "Cannot make a WebSocket of the request";
  assertEquals(refused(plain, bunServer().server), of);
  assertEquals(
    refused(UPGRADE, bunServer({ upgrade: () => false }).server),
    of,
  );
  assertEquals(
    refused(UPGRADE, undefined),
    "Cannot make a WebSocket without the second argument of Bun's handler: pass it on to fetch",
  );
});

Deno.test("a server takes no larger messages than its platform", () => {
  assertThrows(
    () => createSmcpServer({ adapter: bun(), maxMessageBytes: 2 ** 25 }),
    RangeError,
    "with maxMessageBytes 33554432: messages have at most 16777216 bytes on Bun",
  );
});
