import { assert, assertEquals } from "@std/assert";
import { createSmcpServer } from "../../../../server/mod.ts";
import { startServerCommand } from "../../../support/server/server_command.ts";
import { TOKEN } from "../../../support/server/operator_client.ts";
import { type RawAnswer, rawHttp } from "../../../support/wire/raw_http.ts";

/** Sends a request as it is written; clients that know URLs would tidy its path. */
const ask = (port: number, target: string, ...headers: string[]) =>
  rawHttp(port, [
    `${target.startsWith("/") ? "GET " : ""}${target} HTTP/1.1`,
    ...headers.some((each) => each.startsWith("Host:"))
      ? headers
      : ["Host: 127.0.0.1", ...headers],
    ...["Content-Length: 0", "Connection: close"],
  ]);

/** The paths that the page names. */
const assetsOf = ({ body }: RawAnswer): string[] =>
  [...body.matchAll(/(?:src|href)="(console\/[^"]+)"/g)]
    .map(([, path = ""]) => `/${path}`);

async function served() {
  const server = createSmcpServer({ operator: { token: TOKEN } });
  const { port } = await server.listen();
  const page = await ask(port, "/console");
  const assets = assetsOf(page);
  assertEquals([page.status, assets.length > 0], [200, true]);
  return { port, page, assets, [Symbol.asyncDispose]: () => server.close() };
}

Deno.test("no path of the console leads out of it", async () => {
  await using server = await served();
  const [asset = ""] = server.assets;
  const name = asset.slice("/console/".length);
  const ways = [
    ...["..", "../", "../deno.json", "../../etc/passwd", "../server/main.ts"],
    ...[
      "../../../../../../../../etc/passwd",
      "%2e%2e/deno.json",
      "..%2fmod.ts",
    ],
    ...["%2e%2e%2fdeno.json", "%252e%252e%252fdeno.json", ".%2e/deno.json"],
    ...["..%5cdeno.json", "..\\deno.json", "..\\..\\..\\etc\\passwd"],
    ...["....//deno.json", "..;/deno.json", "%c0%ae%c0%ae/deno.json"],
    ...["%00", `${name}%00`, `${name}%00.html`, `${name}/`, `${name}%20`],
    ...[`${name}/..%2f..%2fdeno.json`, `/${name}`, "style%2fparts.css"],
    ...[
      "style\\parts.css",
      "/etc/passwd",
      "//etc/passwd",
      "file:///etc/passwd",
    ],
    ...["C:/Windows/win.ini", "__proto__", "constructor", "toString"],
    ...["hasOwnProperty", "%E0%A4%A", "%", "server.ts", "assets.ts", "mod.ts"],
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
  const { page, assets } = server;
  const policy = page.headers["content-security-policy"] ?? "";
  for (
    const directive of [
      ...["default-src 'none'", "script-src 'self'", "connect-src 'self'"],
      ...["frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"],
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
  for (const path of ["/console", ...assets]) {
    const { status, headers } = await ask(server.port, path);
    assertEquals(
      [
        ...[status, headers["x-content-type-options"]],
        ...[headers["referrer-policy"], headers["set-cookie"]],
      ],
      [200, "nosniff", "no-referrer", undefined],
      path,
    );
    const known = `If-None-Match: ${headers.etag}`;
    const unchanged = await ask(server.port, path, known);
    assertEquals([unchanged.status, unchanged.body], [304, ""], path);
  }
});

Deno.test("the console does not answer for other hosts, nor other methods", async () => {
  await using server = await served();
  for (const path of ["/console", ...server.assets]) {
    const foreign = await ask(server.port, path, "Host: evil.example");
    assertEquals(foreign.status, 403, path);
    assert(foreign.body.includes("Host") && !foreign.body.includes("<script"));
  }
  const posted = await ask(server.port, "POST /console");
  assert([404, 405].includes(posted.status));
});

Deno.test("the console with a slash behind it leads to the page, on whatever path a proxy has it", async () => {
  await using server = await served();
  const { status, headers } = await ask(server.port, "/console/");
  assertEquals(status, 308);
  for (const base of ["http://127.0.0.1:1", "https://a.example/behind"]) {
    const { href } = new URL(headers.location ?? "", `${base}/console/`);
    assertEquals(href, `${base}/console`);
  }
});

Deno.test("smcp-server prints a link to its console, which no log has", async () => {
  await using server = await startServerCommand([
    "--port=0",
    "--log-level=debug",
  ]);
  const link = await server.printed("Console: ");
  const { origin, pathname, hash } = new URL(link);
  assertEquals([origin, pathname], [server.url, "/console"]);
  const [, token = ""] = /^#token=([0-9a-f]{64})$/.exec(hash) ?? [];
  const status = await fetch(`${server.url}/operator/v1/status`, {
    headers: { authorization: `Bearer ${token}` },
  });
  await status.body?.cancel();
  assertEquals(status.status, 200);
  server.kill("SIGTERM");
  await server.exited;
  assertEquals(server.log.includes(token), false, server.log);
});
