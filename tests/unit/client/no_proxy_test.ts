import { assertEquals, assertMatch } from "@std/assert";
import fc from "fast-check";
import { readNoProxy } from "../../../client/network/no_proxy.ts";
import {
  chooseProxy,
  unreadableExemptions,
} from "../../../client/network/proxy.ts";

const ALL_PROXY = "http://all:3";

/** Returns whether a URL is reached without the proxy of the environment. */
const isDirect = (url: string, NO_PROXY: string): boolean => {
  const env: Record<string, string> = { NO_PROXY, ALL_PROXY };
  return chooseProxy(url, undefined, (name) => env[name]) === undefined;
};

type Row = readonly [list: string, url: string, isDirect: boolean];

const check = (rows: Iterable<Row>) => {
  for (const [list, url, expected] of rows) {
    assertEquals(isDirect(url, list), expected, `${list} ${url}`);
  }
};

/** The list of `TestUseProxy` in golang.org/x/net/http/httpproxy. */
const GO_LIST =
  "foobar.com, .barbaz.net, *.wildcard.io, 192.168.1.1, 192.168.1.2:81, 192.168.1.3:80, 10.0.0.0/30, 2001:db8::52:0:1, [2001:db8::52:0:2]:443, [2001:db8::52:0:3]:80, 2002:db8:a::45/64";

/** Its hosts, and whether they are reached directly. */
const GO_HOSTS: Readonly<Record<string, boolean>> = {
  "localhost": true,
  "127.0.0.1": true,
  "127.0.0.2": true,
  "[::1]": true,
  "[::2]": false,
  "192.168.1.1": true,
  "192.168.1.2": false,
  "192.168.1.3": true,
  "192.168.1.4": false,
  "10.0.0.2": true,
  "[2001:db8::52:0:1]": true,
  "[2001:db8::52:0:2]": false,
  "[2001:db8::52:0:3]": true,
  "[2002:db8:a::123]": true,
  "[fe80::424b:c8be:1643:a1b6]": false,
  "www.barbaz.net": true,
  "foobar.com": true,
  "www.foobar.com": true,
  "foofoobar.com": false,
  "baz.com": false,
  "localhost.net": false,
  "barbarbaz.net": false,
  "nested.wildcard.io": true,
  "awildcard.io": false,
  // In Go a leading dot is for subdomains alone; curl and Deno take the name itself, too, as does this.
  "barbaz.net": true,
  "wildcard.io": true,
};

/** Those of `TestProxyForURL` there, and of Deno's own `fetch` (hyper-util, `proxy::matcher`). */
const OTHERS: readonly Row[] = [
  ["example.com", "http://example.com/", true],
  ["ample.com", "http://example.com/", false],
  ["example.com", "http://foo.example.com/", true],
  [".foo.com", "http://example.com/", false],
  [".示例.com", "http://www.示例.com", true],
  ["xn--fsq092h.com", "http://www.示例.com", true],
  ["示例.com", "http://www.xn--fsq092h.com", true],
  [":1", "http://example.com", false],
  ["10.42.1.1/24,::1,10.124.7.8,2001::/17", "http://10.42.1.100", true],
  ["10.42.1.1/24,::1,10.124.7.8,2001::/17", "http://10.43.1.1", false],
  ["10.42.1.1/24,::1,10.124.7.8,2001::/17", "http://10.124.7.8", true],
  ["10.42.1.1/24,2001::/17", "http://[2001:db8:a0b:12f0::1]", true],
  ["10.42.1.1/24,2001::/17", "http://[ffff:db8:a0b:12f0::1]", false],
  ["foo.bar", "http://notfoo.bar", false],
];

const OWN: readonly Row[] = [
  ["*", "http://a.example", true],
  ["A.example", "http://B.A.EXAMPLE", true],
  ["x, a.example:8080 y", "http://a.example:8080", true],
  ["a.example:8080", "http://a.example", false],
  ["a.example:80", "http://a.example", true],
  ["a.example:443", "https://a.example", true],
  ["a.example:443", "wss://a.example", true],
  ["10.0.0.0/8:81", "http://10.1.2.3:81", true],
  ["10.0.0.0/8:81", "http://10.1.2.3:82", false],
  ["[fd00::/8]:81", "http://[fd00::1]:81", true],
  ["fd00::1", "http://[fd00::1]:99", true],
  ["", "http://a.example", false],
  // A name that is complete is the same name.
  ["a.example.", "http://a.example", true],
  ["a.example", "http://a.example.", true],
  ["a.example", "http://b.a.example.", true],
  ["a.example.:80", "http://a.example", true],
  // One address has many forms.
  ["FD00:0:0:0:0:0:0:1", "http://[fd00::1]", true],
  ["fd00::0001", "http://[fd00::1]", true],
  ["10.1.2.3", "http://[::ffff:10.1.2.3]", true],
  ["10.0.0.0/8", "http://[::ffff:a01:203]", true],
  ["10.0.0.1", "http://0xa000001", true],
  // A name never means an address, nor an address a name.
  ["0.0.1", "http://110.0.0.1", false],
  ["0.0.1", "http://10.0.0.1", false],
  ["1", "http://10.0.0.1", false],
  ["10.0.0.1", "http://a.10.0.0.1.example", false],
  ["fd00::/8", "http://fd00.example", false],
];

/** Entries that name no host. Each exempts nothing, and a warning names it. */
const UNREADABLE = [
  ...[
    "10.0.0.0/",
    "/8",
    "10.0.0.0/33",
    "10.0.0.0/-1",
    "10.0.0.0/8/8",
    "::/129",
  ],
  ...["10.0.0.0/0x8", "10.0.0.0/8.0", "10.0.0/8", "a.example/8", "/", "10.*"],
  ...["0.0.1", "256.1.1.1", "1.2.3.4.5", "10.0.0.1:", "[fd00::1", "fd00:::1"],
  ...[
    "a..example",
    "a.*.example",
    "http://a.example",
    "a.example:x",
    ".",
    ":1",
  ],
  ...["a_b@c.example", "a.example?b", "[a.example]:80:80", "%41.example#"],
];

Deno.test("NO_PROXY exempts what it does in Go, but for a leading dot", () => {
  check(
    Object.entries(GO_HOSTS)
      .map(([host, direct]) => [GO_LIST, `http://${host}:80`, direct] as const),
  );
  check(
    Object.keys(GO_HOSTS).map((host) => ["*", `http://${host}:80`, true]),
  );
  check(OTHERS);
});

Deno.test("NO_PROXY exempts names with their subdomains, ports, addresses in any form, and ranges", () => {
  check(OWN);
});

Deno.test("an entry of NO_PROXY that names no host exempts nothing, and a warning names it", () => {
  const hosts = ["10.0.0.1", "110.0.0.1", "[fd00::1]", "a.example", "8"];
  for (const entry of UNREADABLE) {
    const env: Record<string, string> = { NO_PROXY: entry, ALL_PROXY };
    for (const host of hosts) {
      assertEquals(isDirect(`http://${host}`, entry), false, entry);
    }
    const url = "http://10.0.0.1:8787";
    const warning = unreadableExemptions({ url }, (name) => env[name]);
    assertEquals(
      warning,
      `NO_PROXY names no host with ${
        JSON.stringify(entry)
      }, so that 10.0.0.1:8787 is reached through the proxy of ALL_PROXY: write a name, an address, or a range such as "10.0.0.0/8"`,
    );
  }
});

Deno.test("no warning of NO_PROXY where no proxy of the environment is used", () => {
  const env: Record<string, string> = { NO_PROXY: "10.0.0.0/, a.example" };
  const warn = (url: string, proxy?: string | false) =>
    unreadableExemptions(
      { url, ...(proxy !== undefined && { proxy }) },
      (name) => env[name],
    );
  assertEquals(warn("http://b.example"), undefined);
  env.ALL_PROXY = ALL_PROXY;
  assertMatch(`${warn("http://b.example")}`, /no host with "10\.0\.0\.0\/"/);
  assertEquals(warn("http://a.example"), undefined);
  assertEquals(warn("http://127.0.0.1"), undefined);
  assertEquals(warn("http://b.example", false), undefined);
  assertEquals(warn("http://b.example", "http://own:1"), undefined);
  assertEquals(unreadableExemptions({}), undefined);
});

Deno.test("an address is exempt by a range exactly where its bits say so", () => {
  const octets = fc.tuple(
    ...[0, 0, 0, 0].map(() => fc.integer({ min: 0, max: 255 })),
  );
  const bits = ([a = 0, b = 0, c = 0, d = 0]: number[]) =>
    BigInt(a) << 24n | BigInt(b) << 16n | BigInt(c) << 8n | BigInt(d);
  fc.assert(
    fc.property(
      octets,
      octets,
      fc.integer({ min: 0, max: 32 }),
      (base, host, length) => {
        const shift = BigInt(32 - length);
        const { exempts } = readNoProxy(`${base.join(".")}/${length}`);
        assertEquals(
          exempts({ hostname: host.join("."), port: "80" }),
          bits(base) >> shift === bits(host) >> shift,
        );
      },
    ),
    { seed: 20261129 },
  );
});
