import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import {
  ISSUER,
  SignInBench,
  type TestClient,
} from "../../../support/server/sign_in.ts";

/** Where a request leads: the error that a loopback program gets, or the page's status. */
async function outcomeOf(bench: SignInBench, path: string): Promise<string> {
  const answer = await bench.request(path);
  await answer.body?.cancel();
  const to = answer.headers.get("location");
  if (to === null) return String(answer.status);
  const { searchParams } = new URL(to);
  assertEquals(searchParams.get("iss"), ISSUER);
  return `${answer.status} ${searchParams.get("error")}`;
}

Deno.test("sign-in #5: without S256 and a whole challenge nothing begins", async () => {
  const bench = new SignInBench();
  const client = await bench.register();
  for (
    const over of [
      { code_challenge_method: "plain" },
      { code_challenge_method: undefined },
      { code_challenge: undefined },
      { code_challenge: "short" },
      { code_challenge: "x".repeat(44) },
    ]
  ) {
    const { path } = bench.ask(client, over);
    assertEquals(await outcomeOf(bench, path), "302 invalid_request");
  }
});

Deno.test("sign-in #6: each answer names the issuer, as the metadata do", async () => {
  const bench = new SignInBench();
  const client = await bench.register();
  const allowed = await bench.visit(bench.ask(client).path);
  const denied = await bench.visit(bench.ask(client).path, {
    decision: "deny",
  });
  const { path } = bench.ask(client, { response_type: "token" });
  const refused = new URL(
    (await bench.request(path)).headers.get("location") ?? "",
  );
  const metadata = await bench.request(
    "/.well-known/oauth-authorization-server",
  );
  const { issuer, authorization_response_iss_parameter_supported: isNamed } =
    await metadata.json();
  assertEquals(isNamed, true);
  for (const to of [allowed, denied, refused]) {
    assertEquals(to.searchParams.get("iss"), issuer);
    assertEquals(to.searchParams.get("state"), "s+1 /ü");
  }
  assertEquals(denied.searchParams.get("error"), "access_denied");
});

/** Registered, and what is asked for in its place. */
const ALTERED: readonly (readonly [string, readonly string[]])[] = [
  ["https://app.example/cb", [
    "https://app.example@evil.example/cb",
    "https://user@app.example/cb",
    "https://app.example.evil/cb",
    "https://app.example./cb",
    "https://app.example\\@evil.example/cb",
    "https://app.example/cb\r\nLocation: https://evil.example",
    "https://app.example/cb#fragment",
    "https://app.example/cb?query",
    "https://app.example/x/../cb",
    "https://app.example/cb/",
    "https://APP.example/cb",
    "https://app.example:8443/cb",
    "http://app.example/cb",
  ]],
  ["http://127.0.0.1:1/cb", [
    "http://127.1:1/cb",
    "http://0x7f000001:1/cb",
    "http://[::ffff:127.0.0.1]:1/cb",
    "http://127.0.0.1:1/CB",
    "http://127.0.0.1@evil.example/cb",
    "http://127.0.0.1.evil.example/cb",
  ]],
];

Deno.test("sign-in #7: a redirect that is not the registered text gets a page, and is never gone to", async () => {
  const bench = new SignInBench();
  for (const [registered, altered] of ALTERED) {
    const client = await bench.register(registered);
    for (const redirect_uri of altered) {
      const answer = await bench.request(
        bench.ask(client, { redirect_uri }).path,
      );
      assertEquals(answer.status, 400, redirect_uri);
      assertEquals(answer.headers.get("location"), null);
      assertEquals((await answer.text()).includes("evil"), false);
    }
  }
});

Deno.test("sign-in #8: no program registers a redirect that a browser runs, or another reads", async () => {
  const bench = new SignInBench();
  for (
    const uri of [
      "http://app.example/cb",
      "javascript:alert(1)",
      "data:text/html,x",
      "file:///etc/passwd",
      "intent://x#Intent;end",
      "cursor://evil/oauth/callback",
      "https://аpp.example/cb",
      "https://10.0.0.1/cb",
      "https://[::1]/cb",
      "https://app.example/%2e%2e/cb",
    ]
  ) {
    const answer = await register(bench, { redirect_uris: [uri] });
    assertEquals(answer.status, 400, uri);
    assertEquals((await answer.json()).error, "invalid_redirect_uri", uri);
  }
});

const register = (bench: SignInBench, data: unknown): Promise<Response> =>
  bench.request("/register", { method: "POST", body: JSON.stringify(data) });

Deno.test("a registration keeps what can be used, asks no secret, and has no null", async () => {
  const bench = new SignInBench();
  const cursor = {
    client_name: "Cursor",
    redirect_uris: [
      "cursor://anysphere.cursor-mcp/oauth/callback",
      "https://www.cursor.com/agents/mcp/oauth/callback",
      "http://localhost:8787/callback",
      "vscode://x",
    ],
    token_endpoint_auth_method: "client_secret_post",
    logo_uri: null,
  };
  const answer = await register(bench, cursor);
  assertEquals(answer.status, 201);
  const text = await answer.text();
  assertEquals(text.includes("null"), false);
  const { redirect_uris, token_endpoint_auth_method, client_secret } = JSON
    .parse(text);
  assertEquals(redirect_uris, cursor.redirect_uris.slice(0, 3));
  assertEquals(token_endpoint_auth_method, "none");
  assertEquals(client_secret, undefined);
  const nameless = await register(bench, {
    client_name: null,
    redirect_uris: ["http://localhost/cb"],
  });
  assertEquals("client_name" in await nameless.json(), false);
  for (const data of [undefined, [], {}, { redirect_uris: [] }, "x"]) {
    const refused = await register(bench, data);
    assertEquals((await refused.json()).error, "invalid_client_metadata");
  }
});

Deno.test("a registration outlives a restart", async () => {
  const client = await new SignInBench().register();
  const bench = new SignInBench();
  await bench.enter({}, {}, client);
});

Deno.test("sign-in #9: parameters come once, and no request object, response mode or token", async () => {
  const bench = new SignInBench();
  const client = await bench.register();
  const expected = [
    [{ request_uri: "urn:x" }, "302 request_not_supported"],
    [{ request: "e30" }, "302 request_not_supported"],
    [{ response_mode: "fragment" }, "302 invalid_request"],
    [{ response_mode: "query" }, "200"],
    [{ response_type: "token" }, "302 unsupported_response_type"],
    [{ response_type: undefined }, "302 unsupported_response_type"],
    [{ prompt: "none" }, "302 interaction_required"],
    [{ prompt: "consent", scope: "openid mcp:all office" }, "200"],
    [{ resource: undefined }, "200"],
    [{ resource: "" }, "200"],
    [{ resource: `${ISSUER}/mcp/home?computer=desk` }, "200"],
  ] as const;
  for (const [over, outcome] of expected) {
    const { path } = bench.ask(client, over);
    assertEquals(await outcomeOf(bench, path), outcome, JSON.stringify(over));
  }
  const { path } = bench.ask(client);
  const twice = [
    "state",
    "scope",
    "resource",
    "code_challenge",
    "response_type",
  ];
  for (const name of twice) {
    const outcome = await outcomeOf(bench, `${path}&${name}=x`);
    assertEquals(outcome, "302 invalid_request", name);
  }
  for (const name of ["client_id", "redirect_uri"]) {
    assertEquals(await outcomeOf(bench, `${path}&${name}=x`), "400", name);
  }
  const token = await bench.post(
    "/token",
    new URLSearchParams("grant_type=refresh_token&grant_type=password"),
  );
  assertEquals((await token.json()).error, "invalid_request");
});

Deno.test("sign-in #10: a website gets no error before a person agreed, but a page with a link", async () => {
  const bench = new SignInBench();
  for (
    const redirect of ["https://evil.example/cb", "com.example.app:/callback"]
  ) {
    const client = await bench.register(redirect);
    const { path } = bench.ask(client, { response_type: "token" });
    const answer = await bench.request(path);
    assertEquals(answer.status, 400);
    assertEquals(answer.headers.get("location"), null);
    const text = await answer.text();
    assertEquals(text.includes("http-equiv"), false);
    assertStringIncludes(
      text.replaceAll("&amp;", "&"),
      `${redirect}?error=unsupported_response_type`,
    );
  }
});

Deno.test("sign-in #11: localhost is not 127.0.0.1; another port of the same host is", async () => {
  const bench = new SignInBench();
  const client = await bench.register("http://127.0.0.1:1/cb");
  const at = (redirect_uri: string) =>
    outcomeOf(bench, bench.ask(client, { redirect_uri }).path);
  assertEquals(await at("http://localhost:1/cb"), "400");
  assertEquals(await at("http://[::1]:1/cb"), "400");
  assertEquals(await at("http://127.0.0.1:2/cb"), "200");
});

Deno.test("sign-in #12: whoever else listens on the port lacks the verifier, and the page warns", async () => {
  const bench = new SignInBench();
  const client = await bench.register();
  const { path } = bench.ask(client);
  const page = await bench.openPage(path);
  assertMatch(page.text, /Go on only if .*you yourself/);
  const to = await bench.visit(path);
  const code = to.searchParams.get("code") ?? "";
  const answer = await bench.redeem(code, "y".repeat(43), client);
  assertEquals((await answer.json()).error, "invalid_grant");
});

Deno.test("sign-in #24: a flood of registrations fills nothing, and is refused from some number on; large bodies too", async () => {
  const bench = new SignInBench();
  const statuses = new Set<number>();
  for (let i = 0; i < 310; i++) {
    const answer = await register(bench, {
      redirect_uris: [`http://localhost/${i}`],
    });
    statuses.add(answer.status);
    await answer.body?.cancel();
  }
  assertEquals([...statuses], [201, 429]);
  const large = { redirect_uris: ["http://localhost/x"], x: "x".repeat(20e3) };
  assertEquals((await register(bench, large)).status, 413);
  const body = { token: "x".repeat(20e3) };
  for (const path of ["/token", "/revoke"]) {
    assertEquals((await bench.post(path, body)).status, 413);
  }
  assertEquals(await bench.signIn.grants(), []);
});

Deno.test("a redirect that the operator allows may be registered", async () => {
  const bench = new SignInBench({ redirects: ["myapp://callback"] });
  const client: TestClient = await bench.register("myapp://callback");
  const to = await bench.visit(bench.ask(client).path);
  assertEquals(to.protocol, "myapp:");
});
