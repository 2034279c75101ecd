import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { createSmcpServer } from "../../../../server/mod.ts";
import { post } from "../../../support/mcp/post.ts";
import { startServerCommand } from "../../../support/server/server_command.ts";

Deno.test("the console is there exactly while there can be operators", async () => {
  for (const operator of [{ token: "t".repeat(32) }, false] as const) {
    await using server = createSmcpServer({ operator });
    const { url } = await server.listen();
    for (const path of ["/console", "/console/server.js"]) {
      const answer = await fetch(url + path);
      await answer.body?.cancel();
      assertEquals(answer.status, operator ? 200 : 404, path);
    }
  }
});

Deno.test("the console with a slash behind it leads to the page, on whatever path a proxy has it", async () => {
  await using server = createSmcpServer({
    operator: { token: "t".repeat(32) },
  });
  const { url } = await server.listen();
  const answer = await fetch(`${url}/console/`, { redirect: "manual" });
  await answer.body?.cancel();
  assertEquals(answer.status, 308);
  const location = answer.headers.get("Location") ?? "";
  for (const base of [url, "https://a.example/behind"]) {
    assertEquals(new URL(location, `${base}/console/`).href, `${base}/console`);
  }
});

Deno.test("no path leads from the console to other files", async () => {
  await using server = createSmcpServer({
    operator: { token: "t".repeat(32) },
  });
  const { url } = await server.listen();
  const paths = [
    "/console/../server/main.ts",
    "/console/..%2fmod.ts",
    "/console/%2e%2e/mod.ts",
    "/console/style%2fparts.css",
    "/console//server.js",
    "/console/server.js%00",
    "/console/style\\parts.css",
    "/console/__proto__",
  ];
  const { hostname, port } = new URL(url);
  for (const path of paths) {
    using connection = await Deno.connect({ hostname, port: Number(port) });
    await connection.write(new TextEncoder().encode(
      `GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\nConnection: close\r\n\r\n`,
    ));
    const answer = await new Response(connection.readable).text();
    assertMatch(answer, /^HTTP\/1\.1 40[04] /, path);
  }
});

Deno.test("the console is refused under a name that is not the server's", async () => {
  await using server = createSmcpServer({
    operator: { token: "t".repeat(32) },
  });
  const { url } = await server.listen();
  const headers = { host: "evil.example" };
  for (const path of ["/console", "/console/server.js"]) {
    const { status, body } = await post(url + path, { method: "GET", headers });
    assertEquals(status, 403);
    assertStringIncludes(body, "Host");
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
