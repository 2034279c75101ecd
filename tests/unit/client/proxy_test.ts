import { assertEquals, assertThrows } from "@std/assert";
import { chooseProxy } from "../../../client/proxy.ts";

const choose = (url: string, env: Record<string, string>) =>
  chooseProxy(url, undefined, (name) => env[name])?.url.host;

Deno.test("chooseProxy() takes the variable of the Server's scheme, else ALL_PROXY, and lower case first", () => {
  const env = {
    HTTP_PROXY: "http://plain:1",
    HTTPS_PROXY: "secure:2",
    ALL_PROXY: "https://all:3",
  };
  assertEquals(choose("http://smcp.example", env), "plain:1");
  assertEquals(choose("ws://smcp.example", env), "plain:1");
  assertEquals(choose("https://smcp.example", env), "secure:2");
  assertEquals(choose("wss://smcp.example", env), "secure:2");
  const { HTTPS_PROXY: _, ...without } = env;
  assertEquals(choose("https://smcp.example", without), "all:3");
  const both = { ...env, http_proxy: "http://lower:4" };
  assertEquals(choose("http://smcp.example", both), "lower:4");
  assertEquals(choose("http://smcp.example", { HTTP_PROXY: "" }), undefined);
});

Deno.test("chooseProxy() takes no variable for this machine, and no proxy where the option is false", () => {
  const env = { ALL_PROXY: "http://all:3" };
  for (
    const host of [
      "localhost",
      "a.localhost",
      "127.0.0.1",
      "127.9.9.9",
      "[::1]",
    ]
  ) {
    assertEquals(choose(`http://${host}:8787`, env), undefined, host);
    const given = chooseProxy(`http://${host}`, "http://own:1");
    assertEquals(given?.url.host, "own:1");
  }
  const all = () => "http://all:3";
  assertEquals(chooseProxy("http://smcp.example", false, all), undefined);
});

Deno.test("NO_PROXY excepts names with their subdomains, ports, addresses and ranges", () => {
  const rows: [list: string, url: string, isExempt: boolean][] = [
    ["*", "http://a.example", true],
    ["a.example", "http://a.example", true],
    ["a.example", "http://B.A.EXAMPLE", true],
    ["a.example", "http://ba.example", false],
    [".a.example", "http://b.a.example", true],
    ["*.a.example", "http://b.a.example", true],
    ["x, a.example:8080 y", "http://a.example:8080", true],
    ["a.example:8080", "http://a.example", false],
    ["a.example:80", "http://a.example", true],
    ["a.example:443", "https://a.example", true],
    ["10.1.2.3", "http://10.1.2.3", true],
    ["10.0.0.0/8", "http://10.1.2.3", true],
    ["10.0.0.0/8", "http://11.1.2.3", false],
    ["10.0.0.0/99", "http://10.1.2.3", false],
    ["10.0.0.0/8", "http://a.example", false],
    ["fd00::/8", "http://[fd00::1]", true],
    ["fd00::1", "http://[fd00::1]:99", true],
    ["[fd00::1]:99", "http://[fd00::1]:99", true],
    ["[fd00::1]:98", "http://[fd00::1]:99", false],
    ["", "http://a.example", false],
  ];
  for (const [NO_PROXY, url, isExempt] of rows) {
    const found = choose(url, { NO_PROXY, ALL_PROXY: "http://all:3" });
    assertEquals(found === undefined, isExempt, `${NO_PROXY} ${url}`);
  }
});

Deno.test("chooseProxy() names the variable that has no URL of a proxy", () => {
  assertThrows(
    () => choose("https://smcp.example", { https_proxy: "socks5://p:1" }),
    TypeError,
    'Cannot use https_proxy: socks5:// is not supported; expected a URL such as "http://proxy.example:3128" or "http://user:p%40ssword@proxy.example:3128"; the option proxy goes before it',
  );
});
