import { assertEquals } from "@std/assert";
import { once } from "node:events";
import { createServer, request as send } from "node:http";
import type { AddressInfo } from "node:net";
import { SignInBench, TestHost } from "../../../support/server/sign_in.ts";
import { SignedInServer } from "../../../support/server/signed_in_server.ts";

const PREFIXED = "https://smcp.example/front/smcp";

async function json(bench: SignInBench, path: string) {
  const answer = await bench.request(path);
  assertEquals(answer.status, 200, path);
  assertEquals(answer.headers.get("cache-control"), "no-store");
  assertEquals(answer.headers.get("access-control-allow-origin"), "*");
  return await answer.json();
}

Deno.test("the issuer's metadata are where programs look, with the resource's path before and after", async () => {
  const bench = new SignInBench();
  const { issuer } = bench.host;
  for (const kind of ["oauth-authorization-server", "openid-configuration"]) {
    const root = `/.well-known/${kind}`;
    const texts = new Set<string>();
    for (
      const path of [
        root,
        `${root}/mcp`,
        `${root}/mcp/home`,
        `/mcp${root}`,
        `/mcp/home${root}`,
      ]
    ) texts.add(JSON.stringify(await json(bench, path)));
    assertEquals(texts.size, 1);
    const [text = ""] = texts;
    assertEquals(text.includes("null"), false);
    const metadata = JSON.parse(text);
    assertEquals(metadata.issuer, issuer);
    assertEquals(metadata.token_endpoint, `${issuer}/token`);
    assertEquals(metadata.code_challenge_methods_supported, ["S256"]);
    assertEquals(metadata.token_endpoint_auth_methods_supported, ["none"]);
    assertEquals("jwks_uri" in metadata, kind === "openid-configuration");
  }
  assertEquals(await json(bench, "/.well-known/jwks.json"), { keys: [] });
});

Deno.test("a resource's metadata have its URL exactly, and the bare root those of the gateway's path", async () => {
  const bench = new SignInBench();
  const root = "/.well-known/oauth-protected-resource";
  const cases = {
    "": "/mcp",
    "/mcp": "/mcp",
    "/mcp/home": "/mcp/home",
    "/mcp/an%20office": "/mcp/an%20office",
  };
  for (const [place, path] of Object.entries(cases)) {
    const { resource, authorization_servers, scopes_supported } = await json(
      bench,
      root + place,
    );
    assertEquals(resource, bench.host.issuer + path);
    assertEquals(authorization_servers, [bench.host.issuer]);
    assertEquals(scopes_supported, ["office"]);
  }
  for (const place of ["/mcp/%ff", "/mcp/a%00b", "/other"]) {
    const answer = await bench.request(root + place);
    assertEquals(answer.status, 404, place);
    await answer.body?.cancel();
  }
});

Deno.test("programs in pages may ask all but the page of sign-in", async () => {
  const bench = new SignInBench();
  const headers = {
    origin: "https://inspector.example",
    "access-control-request-method": "POST",
    "access-control-request-headers": "content-type,mcp-protocol-version",
  };
  for (const path of ["/token", "/register", "/revoke"]) {
    const answer = await bench.request(path, { method: "OPTIONS", headers });
    assertEquals(answer.status, 204);
    assertEquals(answer.headers.get("access-control-allow-origin"), "*");
    assertEquals(
      answer.headers.get("access-control-allow-headers"),
      headers["access-control-request-headers"],
    );
    const post = await bench.post(path, {}, { origin: headers.origin });
    assertEquals(post.headers.get("access-control-allow-origin"), "*", path);
    await post.body?.cancel();
  }
  const page = await bench.request("/authorize", { headers });
  assertEquals(page.headers.get("access-control-allow-origin"), null);
  await page.body?.cancel();
});

Deno.test("below a path, all URLs have it, also where the host's own well-known place is passed on", async () => {
  const host = new TestHost();
  host.issuer = PREFIXED;
  const bench = new SignInBench({}, host);
  for (
    const path of [
      "/.well-known/oauth-authorization-server",
      "/.well-known/oauth-authorization-server/front/smcp",
      "/.well-known/openid-configuration/front/smcp/mcp/home",
      "/mcp/home/.well-known/openid-configuration",
    ]
  ) {
    const { issuer, authorization_endpoint } = await json(bench, path);
    assertEquals(issuer, PREFIXED);
    assertEquals(authorization_endpoint, `${PREFIXED}/authorize`);
  }
  const { resource } = await json(
    bench,
    "/.well-known/oauth-protected-resource/front/smcp/mcp/home",
  );
  assertEquals(resource, `${PREFIXED}/mcp/home`);
  assertEquals(
    bench.signIn.challenge("home", false),
    `Bearer resource_metadata="${PREFIXED}/.well-known/oauth-protected-resource/mcp/home", scope="office"`,
  );
  const client = await bench.register();
  const page = await bench.openPage(
    bench.ask(client, { resource: `${PREFIXED}/mcp/home` }).path,
  );
  assertEquals(page.text.includes(`action="${PREFIXED}/authorize"`), true);
});

Deno.test("through a proxy that takes a path off, a program signs in and lists tools", async () => {
  let target = "";
  const proxy = createServer((incoming, outgoing) => {
    const url = new URL(target + (incoming.url ?? "").replace(/^\/front/, ""));
    const headers = { ...incoming.headers, host: url.host };
    const onward = send(url, { method: incoming.method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(onward);
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const { port } = proxy.address() as AddressInfo;
  const publicUrl = `http://127.0.0.1:${port}/front`;
  try {
    await using server = await SignedInServer.start({ server: { publicUrl } });
    target = server.url;
    const asked = await fetch(`${publicUrl}/mcp/north`, { method: "POST" });
    await asked.body?.cancel();
    const [, metadata = ""] = /resource_metadata="([^"]+)"/
      .exec(asked.headers.get("www-authenticate") ?? "") ?? [];
    const { authorization_servers: [issuer] } = await (await fetch(metadata))
      .json();
    assertEquals(issuer, publicUrl);
    const found = await fetch(`${issuer}/.well-known/openid-configuration`);
    const { token_endpoint } = await found.json();
    assertEquals(token_endpoint, `${publicUrl}/token`);
    const { as } = await server.token();
    const listed = await fetch(`${publicUrl}/mcp/north`, {
      method: "POST",
      headers: {
        ...as,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "initialize",
        params: {
          protocolVersion: "2025-06-18",
          capabilities: {},
          clientInfo: { name: "t", version: "1" },
        },
      }),
    });
    assertEquals(listed.status, 200, await listed.text());
  } finally {
    proxy.close();
    proxy.closeAllConnections();
    await once(proxy, "close");
  }
});
