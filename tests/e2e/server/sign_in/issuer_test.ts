import {
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { createServer } from "node:http";
import { mcpGateway } from "@a2c-smcp/mcp";
import { createSmcpServer } from "@a2c-smcp/server";
import { signIn } from "@a2c-smcp/server/sign-in";
import { deno } from "../../../../server/fetch/deno.ts";
import { modulesOf } from "../../../support/modules.ts";
import { post } from "../../../support/mcp/post.ts";
import { SignedInServer } from "../../../support/server/signed_in_server.ts";

Deno.test("sign-in #35: no header of a request changes what is told of the issuer", async () => {
  const publicUrl = "https://smcp.example.com";
  await using server = await SignedInServer.start({
    server: { publicUrl, trustedProxies: 1 },
  });
  const forged = {
    host: "evil.example",
    "x-forwarded-host": "evil.example",
    "x-forwarded-proto": "http",
    "x-forwarded-port": "81",
    forwarded: "host=evil.example;proto=http",
  };
  for (
    const path of [
      "/.well-known/oauth-authorization-server",
      "/.well-known/openid-configuration",
      "/.well-known/oauth-protected-resource/mcp/north",
      "/.well-known/oauth-protected-resource/mcp",
    ]
  ) {
    const { status, headers, body } = await post(server.url + path, {
      method: "GET",
      headers: forged,
    });
    assertEquals([status, headers["cache-control"]], [200, "no-store"], path);
    assertEquals(body.includes("evil") || body.includes("http:"), false, body);
    assertStringIncludes(body, publicUrl);
  }
  const asked = await post(server.gateway.url, { headers: forged });
  assertEquals(
    asked.headers["www-authenticate"],
    `Bearer resource_metadata="${publicUrl}/.well-known/oauth-protected-resource/mcp/north", scope="office"`,
  );
});

Deno.test("sign-in #35: over loopback its routes are for names of this machine, as all others", async () => {
  await using server = await SignedInServer.start();
  for (const path of ["/authorize", "/token", "/register", "/revoke"]) {
    for (const method of ["GET", "POST"]) {
      const answer = await post(server.url + path, {
        method,
        headers: { host: "evil.example" },
      });
      assertEquals(answer.status, 403, `${method} ${path}`);
    }
  }
  const described = await post(
    `${server.url}/.well-known/oauth-authorization-server`,
    { method: "GET", headers: { host: "evil.example" } },
  );
  assertEquals(described.status, 403);
});

Deno.test("sign-in #36: a Server with a sign-in is reached by https, or by this machine alone", async () => {
  const options = { gateway: mcpGateway(), signIn: signIn() };
  const insecure = () =>
    createSmcpServer({ ...options, publicUrl: "http://smcp.example.com" });
  assertThrows(insecure, TypeError, "give an https:// URL, or leave it out");
  for (const publicUrl of ["http://localhost:8787", "http://127.0.0.1:1/a"]) {
    await using _ = createSmcpServer({ ...options, publicUrl });
  }
  assertThrows(
    () => createSmcpServer({ ...options, publicUrl: "https://a.example" }),
    TypeError,
    "Cannot use signIn at a public URL without authenticator",
  );
  await using server = createSmcpServer(options);
  await assertRejects(
    () => server.listen({ hostname: "0.0.0.0", insecure: true }),
    TypeError,
    "without publicUrl: set it to the https:// URL by which clients reach the server, or listen on loopback alone",
  );
  assertThrows(
    () => server.attach(createServer()),
    TypeError,
    "Cannot serve behind another server with signIn and without publicUrl",
  );
  assertThrows(
    () => createSmcpServer({ ...options, adapter: deno() }),
    TypeError,
    "without publicUrl",
  );
});

Deno.test("createSmcpServer() takes a sign-in with a gateway, and as the only issuer", () => {
  assertThrows(
    () => createSmcpServer({ signIn: signIn() }),
    TypeError,
    "Cannot use signIn without gateway",
  );
  assertThrows(
    () =>
      createSmcpServer({
        signIn: signIn(),
        gateway: mcpGateway(),
        authorizationServers: ["https://id.example.com"],
      }),
    TypeError,
    "Cannot use both signIn and authorizationServers",
  );
});

Deno.test("a Server loads nothing of a sign-in that it does not have", async () => {
  for (
    const file of [
      "server/mod.ts",
      "server/fetch/mod.ts",
      "server/cli/serve.ts",
      "server/cli/up_server.ts",
    ]
  ) {
    const modules = await modulesOf(file, { dynamic: false });
    const loaded = modules.filter((name) =>
      name.startsWith("server/sign_in/") ||
      name === "server/doors/sign_in_host.ts"
    );
    assertEquals(loaded, [], file);
  }
  // Would be found if they were loaded.
  const all = await modulesOf("server/cli/serve.ts", { dynamic: true });
  assertEquals(all.includes("server/sign_in/sign_in.ts"), true);
});

Deno.test("a Server without a sign-in has no route of it", async () => {
  await using server = createSmcpServer({ gateway: mcpGateway() });
  const { url } = await server.listen();
  for (
    const path of [
      "/authorize",
      "/token",
      "/register",
      "/revoke",
      "/.well-known/oauth-authorization-server",
      "/.well-known/openid-configuration",
      "/.well-known/oauth-protected-resource/mcp",
      "/.well-known/oauth-protected-resource/mcp/north",
      "/mcp",
    ]
  ) {
    const answer = await fetch(url + path);
    await answer.body?.cancel();
    assertEquals(answer.status, 404, path);
  }
});
