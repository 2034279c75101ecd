import { assertEquals } from "@std/assert";
import { PROFILES } from "../../../../protocol/mod.ts";
import { opensSession, splitTarget } from "../../../../server/shared/http.ts";
import { checkGate, checkTransport } from "../../../../server/http/gate.ts";

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
