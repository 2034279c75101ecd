import { assertEquals, assertThrows } from "@std/assert";
import {
  checkHost,
  type HostRule,
  readHosts,
} from "../../../../server/http/host_rule.ts";

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
