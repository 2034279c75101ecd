import { assert, assertEquals } from "@std/assert";
import { apiKeys, createSmcpServer } from "../../../../server/mod.ts";
import { type RawAnswer, rawHttp } from "../../../support/wire/raw_http.ts";

const TOKEN = "0123456789abcdef0123456789abcdef";

/** Sends a request as it is written; clients that know URLs would tidy its path. */
const ask = (port: number, target: string, ...headers: string[]) =>
  rawHttp(port, [
    `GET ${target} HTTP/1.1`,
    ...(headers.some((each) => each.startsWith("Host:"))
      ? headers
      : ["Host: 127.0.0.1", ...headers]),
    "Connection: close",
  ]);

/** The paths that the page names. */
function assetsOf({ body }: RawAnswer): string[] {
  return [...body.matchAll(/(?:src|href)="(console\/[^"]+)"/g)]
    .map(([, path = ""]) => `/${path}`);
}

async function served() {
  const server = createSmcpServer({ operator: { token: TOKEN } });
  const { port } = await server.listen();
  return { port, [Symbol.asyncDispose]: () => server.close() };
}

Deno.test("no path of the console leads out of it", async () => {
  await using server = await served();
  const page = await ask(server.port, "/console");
  assertEquals(page.status, 200);
  const [asset = ""] = assetsOf(page);
  assertEquals((await ask(server.port, asset)).status, 200);
  const name = asset.slice("/console/".length);
  const ways = [
    "..",
    "../",
    "../deno.json",
    "../../etc/passwd",
    "../../../../../../../../etc/passwd",
    "%2e%2e/deno.json",
    "%2e%2e%2fdeno.json",
    "%252e%252e%252fdeno.json",
    ".%2e/deno.json",
    "..%5cdeno.json",
    "..\\deno.json",
    "..\\..\\..\\etc\\passwd",
    "....//deno.json",
    "..;/deno.json",
    "%c0%ae%c0%ae/deno.json",
    "%00",
    `${name}%00`,
    `${name}%00.html`,
    `${name}/..%2f..%2fdeno.json`,
    `${name}/`,
    `${name}%20`,
    "/etc/passwd",
    "//etc/passwd",
    "file:///etc/passwd",
    "C:/Windows/win.ini",
    "__proto__",
    "constructor",
    "toString",
    "hasOwnProperty",
    "%E0%A4%A",
    "%",
    "server.ts",
    "assets.ts",
    "mod.ts",
    "x".repeat(4000),
  ];
  for (const way of ways) {
    const { status, body } = await ask(server.port, `/console/${way}`);
    assert([400, 404].includes(status), `${way}: ${status}`);
    for (const leaked of ["root:", '"imports"', "export ", "[fonts]"]) {
      assert(!body.includes(leaked), `${way} shows ${leaked}`);
    }
  }
});

Deno.test("the page and its assets forbid what they do not need", async () => {
  await using server = await served();
  const page = await ask(server.port, "/console");
  const policy = page.headers["content-security-policy"] ?? "";
  for (
    const directive of [
      "default-src 'none'",
      "script-src 'self'",
      "connect-src 'self'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
      "form-action 'none'",
      "require-trusted-types-for 'script'",
    ]
  ) {
    assert(policy.split(/; */).includes(directive), `${directive}: ${policy}`);
  }
  assert(!/unsafe|https?:|\*/.test(policy), policy);
  assert(
    !/<script(?![^>]*\bsrc=)|<style|\son\w+=|javascript:/i.test(page.body),
  );
  assert(!/(src|href)="(?!console\/|data:,)/.test(page.body), page.body);
  const assets = assetsOf(page);
  assert(assets.length > 0);
  for (const path of ["/console", ...assets]) {
    const { status, headers } = await ask(server.port, path);
    assertEquals(status, 200, path);
    assertEquals(headers["x-content-type-options"], "nosniff", path);
    assertEquals(headers["referrer-policy"], "no-referrer", path);
    assertEquals(headers["set-cookie"], undefined, path);
    const unchanged = await ask(
      server.port,
      path,
      `If-None-Match: ${headers.etag}`,
    );
    assertEquals([unchanged.status, unchanged.body], [304, ""], path);
  }
});

Deno.test("the console does not answer for other hosts, nor other methods", async () => {
  await using server = await served();
  const foreign = await ask(server.port, "/console", "Host: evil.example");
  assertEquals(foreign.status, 403);
  assert(!foreign.body.includes("<script"));
  const posted = await rawHttp(server.port, [
    "POST /console HTTP/1.1",
    "Host: 127.0.0.1",
    "Content-Length: 0",
    "Connection: close",
  ]);
  assert([404, 405].includes(posted.status));
});

Deno.test("where nobody can be an operator there is no console", async () => {
  const key = { id: "lab", key: "lab" };
  for (
    const options of [
      {},
      { authenticator: apiKeys([key]) },
      {
        operator: false as const,
        authenticator: apiKeys([{ ...key, roles: ["operator"] }]),
      },
    ]
  ) {
    await using server = createSmcpServer(options);
    const { port } = await server.listen();
    const unknown = await ask(port, "/unknown");
    for (const path of ["/console", "/console/", "/console/server.js"]) {
      const answer = await ask(port, path);
      assertEquals([answer.status, answer.body], [404, unknown.body]);
    }
  }
});
