// Sign-in, from discovery to a list of tools, and over a restart where the runtime has SQLite.
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { mcpGateway } from "@a2c-smcp/sdk/mcp";
import { apiKeys, createSmcpServer } from "@a2c-smcp/sdk/server";
import { signIn, sqliteStore } from "@a2c-smcp/sdk/server/sign-in";

const REDIRECT = "http://127.0.0.1:1/callback";

async function serve(port, store) {
  const server = createSmcpServer({
    authenticator: apiKeys([{ id: "ann", key: "ann-key" }]),
    gateway: mcpGateway(),
    signIn: signIn({ store }),
  });
  return { server, ...await server.listen({ port }) };
}

/** Lets a program in, as its browser does; returns its tokens. */
async function enter(url) {
  const found = await fetch(`${url}/.well-known/oauth-authorization-server`);
  const about = await found.json();
  assert.equal(about.issuer, url);
  const registered = await fetch(about.registration_endpoint, {
    method: "POST",
    body: JSON.stringify({ client_name: "Test", redirect_uris: [REDIRECT] }),
  });
  const { client_id } = await registered.json();
  const verifier = randomBytes(32).toString("base64url");
  const query = new URLSearchParams({
    response_type: "code",
    client_id,
    redirect_uri: REDIRECT,
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
    resource: `${url}/mcp/home`,
  });
  const page = await fetch(`${about.authorization_endpoint}?${query}`);
  const cookie = page.headers.get("set-cookie").split(";")[0];
  const headers = { cookie, origin: url };
  let text = await page.text();
  for (const fields of [{ key: "ann-key" }, { later: "1" }]) {
    const [, consent] = /name="consent"\s+value="([^"]*)"/.exec(text);
    const body = new URLSearchParams({ consent, decision: "allow", ...fields });
    const to = about.authorization_endpoint;
    text = await (await fetch(to, { method: "POST", headers, body })).text();
  }
  const [, code] = /[?;&]code=([\w-]+)/.exec(text);
  const redeemed = await fetch(about.token_endpoint, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "authorization_code",
      code,
      code_verifier: verifier,
      client_id,
      redirect_uri: REDIRECT,
    }),
  });
  assert.equal(redeemed.status, 200);
  return await redeemed.json();
}

/** Lists the tools of the office; the status. */
async function list(url, { access_token }) {
  const answer = await fetch(`${url}/mcp/home`, {
    method: "POST",
    headers: {
      "authorization": `Bearer ${access_token}`,
      "content-type": "application/json",
      "accept": "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/list",
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/list",
      params: {
        _meta: {
          "io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientCapabilities": {},
        },
      },
    }),
  });
  await answer.text();
  return answer.status;
}

const hasSqlite = await import("node:sqlite").then(() => true, () => false);

test("sign-in: a program is let in by the pages, and lists tools", async () => {
  const { server, url } = await serve(0);
  try {
    const tokens = await enter(url);
    assert.equal(await list(url, tokens), 200);
    assert.equal(await list(url, { access_token: "smcp_at_x.y" }), 401);
  } finally {
    await server.close();
  }
});

test("sign-in: a file keeps it over a restart, or an error names the runtime that can", async () => {
  const folder = await mkdtemp(join(tmpdir(), "smcp-sign-in-"));
  const file = join(folder, "grants.db");
  try {
    if (!hasSqlite) {
      return await assert.rejects(
        sqliteStore(file),
        /no node:sqlite; update to Node\.js 22/,
      );
    }
    const first = await serve(0, await sqliteStore(file));
    const tokens = await enter(first.url);
    await first.server.close();
    const second = await serve(0, await sqliteStore(file));
    assert.equal(await list(second.url, tokens), 200);
    await second.server.close();
  } finally {
    await rm(folder, { recursive: true });
  }
});
