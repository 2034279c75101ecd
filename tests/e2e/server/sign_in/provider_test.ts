import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { memoryStore, signIn } from "@a2c-smcp/server/sign-in";
import { captureLog } from "../../../support/log_capture.ts";
import { modulesOf } from "../../../support/modules.ts";
import {
  type Alter,
  CLIENT_ID,
  CLIENT_SECRET,
  TestProvider,
} from "../../../support/server/oidc_provider.ts";
import {
  ISSUER,
  KEY,
  SignInBench,
  TestDate,
  TestPage,
} from "../../../support/server/sign_in.ts";

const CALLBACK = `${ISSUER}/authorize/callback`;
const DAY_MS = 86_400_000;

const signInAt = ({ issuer }: TestProvider, options = {}): SignInBench =>
  new SignInBench({
    provider: { issuer, clientId: CLIENT_ID, clientSecret: CLIENT_SECRET },
    ...options,
  });

/** Opens the first page. */
const open = async (
  bench: SignInBench,
  over: Record<string, string> = {},
): Promise<TestPage> =>
  await bench.openPage(bench.ask(await bench.register(), over).path);

/** Comes back to the page as a browser does. */
async function comeBack(
  bench: SignInBench,
  { search }: URL,
  cookie: string,
): Promise<TestPage> {
  const answer = await bench.request(`/authorize/callback${search}`, {
    headers: { cookie, "sec-fetch-site": "cross-site" },
  });
  return new TestPage(bench, answer, await answer.text(), cookie);
}

/** Goes to the provider, logs in and comes back. */
async function pass(
  bench: SignInBench,
  provider: TestProvider,
  { name = "ann", office = "" } = {},
): Promise<TestPage> {
  const page = await open(bench, office ? { resource: `${ISSUER}/mcp` } : {});
  const { leads } = await page.send(office ? { office } : {});
  return await comeBack(
    bench,
    await provider.logIn(leads, name),
    page.cookie,
  );
}

const isChoice = ({ text }: TestPage) => text.includes('name="computer"');

/** A refused person gets the first page again, with the reason. */
function assertRefused(page: TestPage, status: number, text: string): void {
  assertEquals(isChoice(page), false);
  assertEquals(page.answer.status, status, page.text);
  assertStringIncludes(page.text, text);
  assertEquals(page.text.includes("laptop"), false);
}

Deno.test("signIn() lets a person of an OpenID provider choose, by the offices of the ID token", async () => {
  using date = new TestDate();
  await using provider = await TestProvider.start(CALLBACK);
  const bench = signInAt(provider);
  const client = await bench.register();
  const { path, verifier } = bench.ask(client);
  const first = await bench.openPage(path);
  const { host } = new URL(provider.issuer);
  assertStringIncludes(first.text, `Continue with ${host}`);
  assertEquals(first.text.includes('type="password"'), false);
  assertMatch(
    first.answer.headers.get("set-cookie") ?? "",
    /^__Host-smcp-consent-.*HttpOnly; SameSite=Lax/,
  );
  const leaving = await first.send({ key: KEY });
  assertEquals(leaving.answer.status, 200);
  assertEquals(leaving.answer.headers.get("referrer-policy"), "same-origin");
  const { searchParams: asked } = leaving.leads;
  assertEquals(asked.get("redirect_uri"), CALLBACK);
  assertEquals(asked.get("code_challenge_method"), "S256");
  assertEquals(asked.get("nonce")?.length, 43);
  const back = await provider.logIn(leaving.leads, "ann");
  const choice = await comeBack(bench, back, first.cookie);
  assertEquals(choice.computers, [0, 1]);
  const done = await choice.send({}, [1]);
  const code = done.leads.searchParams.get("code") ?? "";
  const tokens = await (await bench.redeem(code, verifier, client)).json();
  const principal = `oidc:${provider.issuer}#ann`;
  assertEquals(await bench.admit(tokens.access_token, "home"), principal);
  date.pass(2 * DAY_MS); // the ID token has expired long since
  const later = await (await bench.renew(tokens)).json();
  assertEquals(await bench.admit(later.access_token, "home"), principal);
  assertEquals(bench.host.events, ["sign_in_allowed"]);
});

Deno.test("signIn() refuses a person whose ID token does not name the office, and says for what it is", async () => {
  await using provider = await TestProvider.start(CALLBACK);
  const bench = signInAt(provider);
  const ask = (name: string, office: string) =>
    pass(bench, provider, { name, office });
  assertEquals(isChoice(await ask("bob", "team-a")), true);
  const none = "is for no office of this Server";
  assertRefused(await ask("bob", "home"), 401, "but team-*.");
  assertRefused(await ask("ann", "team-a"), 401, "but home, lab.");
  assertRefused(await ask("eve", "home"), 401, none);
  assertRefused(await ask("pc", "home"), 401, none);
  assertEquals(bench.host.events, Array(4).fill("sign_in_refused"));
  const page = await open(bench, { resource: `${ISSUER}/mcp` });
  assertRefused(await page.send({ office: " " }), 400, "Name an office.");
});

Deno.test("a callback without the cookie of its page, with another's state, an altered or an old one is refused", async () => {
  using date = new TestDate();
  await using provider = await TestProvider.start(CALLBACK);
  const bench = signInAt(provider);
  const page = await open(bench);
  const other = await open(bench);
  const back = await provider.logIn((await page.send()).leads, "ann");
  const state = back.searchParams.get("state") ?? "";
  const asked = provider.requests.length;
  const refuse = async (url: URL, cookie: string, status: number) => {
    const { answer, text } = await comeBack(bench, url, cookie);
    assertEquals(answer.status, status, text);
    assertEquals(text.includes("laptop") || text.includes("<form"), false);
  };
  const withState = (value: string) => {
    const url = new URL(back);
    url.searchParams.set("state", value);
    return url;
  };
  await refuse(back, "", 403);
  await refuse(back, other.cookie, 403);
  await refuse(withState(""), page.cookie, 400);
  await refuse(withState(page.consent), page.cookie, 400);
  await refuse(withState(`${state.slice(0, -1)}!`), page.cookie, 400);
  const twice = new URL(`${back}&state=${state}`);
  await refuse(twice, page.cookie, 400);
  // The state of the other page, whose browser sends no such cookie.
  const theirs = (await other.send()).leads.searchParams.get("state") ?? "";
  await refuse(withState(theirs), page.cookie, 403);
  // The state says where a form continues: it is no consent.
  const { answer } = await page.send({ consent: state });
  assertEquals(answer.status, 400);
  assertEquals(provider.requests.length, asked);
  date.pass(600_001);
  await refuse(back, page.cookie, 400);
});

Deno.test("a code of the provider counts once, and for the visit that it was made in", async () => {
  await using provider = await TestProvider.start(CALLBACK);
  const bench = signInAt(provider);
  const page = await open(bench);
  const first = (await page.send()).leads;
  const second = (await page.send()).leads;
  assert(first.searchParams.get("nonce") !== second.searchParams.get("nonce"));
  const back = await provider.logIn(first, "ann");
  const mixed = new URL(back);
  const { searchParams: theirs } = await provider.logIn(second, "bob");
  mixed.searchParams.set("code", theirs.get("code") ?? "");
  const why = "did not confirm who you are";
  assertRefused(await comeBack(bench, mixed, page.cookie), 401, why);
  assertEquals(isChoice(await comeBack(bench, back, page.cookie)), true);
  assertRefused(await comeBack(bench, back, page.cookie), 401, why);
});

Deno.test("an answer of another issuer, without one, or with an error is refused", async () => {
  await using provider = await TestProvider.start(CALLBACK);
  const bench = signInAt(provider);
  const page = await open(bench);
  const back = await provider.logIn((await page.send()).leads, "ann");
  const changes: ((query: URLSearchParams) => void)[] = [
    (query) => query.set("iss", "https://evil.example"),
    (query) => query.delete("iss"),
    (query) => query.delete("code"),
    (query) => {
      query.delete("code");
      query.set("error", "access_denied");
    },
  ];
  for (const change of changes) {
    const url = new URL(back);
    change(url.searchParams);
    const answer = await comeBack(bench, url, page.cookie);
    assertRefused(answer, 401, "did not confirm who you are");
  }
  assertEquals(isChoice(await comeBack(bench, back, page.cookie)), true);
});

const unsigned = (claims: object, alg: string): string => {
  const part = (data: object) =>
    btoa(JSON.stringify(data)).replaceAll("=", "").replaceAll("+", "-")
      .replaceAll("/", "_");
  return `${part({ alg })}.${part(claims)}.`;
};

const ALTERED: Readonly<Record<string, Alter>> = {
  "wrong nonce": (claims, sign) => sign({ ...claims, nonce: "other" }),
  "no nonce": ({ nonce: _, ...claims }, sign) => sign(claims),
  "another audience": (claims, sign) => sign({ ...claims, aud: "other" }),
  "several audiences, for another": (claims, sign) =>
    sign({ ...claims, aud: [CLIENT_ID, "other"], azp: "other" }),
  "another issuer": (claims, sign) =>
    sign({ ...claims, iss: "https://evil.example" }),
  "expired": (claims, sign) =>
    sign({ ...claims, exp: Math.floor(Date.now() / 1000) - 600 }),
  "no end": ({ exp: _, ...claims }, sign) => sign(claims),
  "no subject": ({ sub: _, ...claims }, sign) => sign(claims),
  "the algorithm none": (claims) => unsigned(claims, "none"),
  "no signature": (claims) => unsigned(claims, "RS256"),
  "claims of another person": async (claims, sign) => {
    const [head, , mac] = (await sign(claims)).split(".");
    const [, body] = unsigned({ ...claims, sub: "root" }, "RS256").split(".");
    return [head, body, mac].join(".");
  },
  "an office that is no text": (claims, sign) =>
    sign({ ...claims, office_id: [7] }),
  "no token": () => "",
};

Deno.test("an ID token with anything wrong is refused", async () => {
  await using provider = await TestProvider.start(CALLBACK);
  for (const [what, alter] of Object.entries(ALTERED)) {
    const bench = signInAt(provider);
    provider.alter = alter;
    const page = await pass(bench, provider);
    assertEquals([what, page.answer.status], [what, 401]);
    assertRefused(page, 401, "did not confirm who you are");
    assertEquals(bench.host.events, ["sign_in_refused"], what);
    provider.alter = (claims, sign) => sign(claims);
    assertEquals(isChoice(await pass(bench, provider)), true, what);
  }
});

Deno.test("while the provider fails, the page says so, nothing else is affected, and it goes on afterwards", async () => {
  await using provider = await TestProvider.start(CALLBACK);
  using log = captureLog();
  const bench = signInAt(provider);
  const page = await open(bench);
  const problem = "cannot be asked now";
  for (
    const [status, body] of [
      [503, "down"],
      [200, "no JSON"],
      [200, "{}"],
      [200, JSON.stringify({ issuer: "https://evil.example" })],
      [200, "x".repeat(600_000)],
      [302, ""],
    ] as const
  ) {
    provider.instead = (_, response) => {
      const headers = { "content-type": "application/json", location: "/a" };
      response.writeHead(status, headers).end(body);
    };
    assertRefused(await page.send(), 503, problem);
  }
  const metadata = "/.well-known/oauth-authorization-server";
  assertEquals((await bench.request(metadata)).status, 200);
  provider.instead = undefined;
  const back = await provider.logIn((await page.send()).leads, "ann");
  provider.instead = (_, response) => void response.writeHead(500).end();
  assertRefused(await comeBack(bench, back, page.cookie), 503, problem);
  provider.instead = undefined;
  assertEquals(isChoice(await comeBack(bench, back, page.cookie)), true);
  const discovered = provider.requests.filter((path) =>
    path === "/.well-known/openid-configuration"
  );
  assertEquals(discovered.length, 7); // the metadata were kept then
  assertEquals(bench.host.events, []);
  assertStringIncludes(log.text, "The provider of the sign-in failed");
});

Deno.test("a provider that does not answer is not waited for", async () => {
  await using provider = await TestProvider.start(CALLBACK);
  using _log = captureLog();
  const { timeout } = AbortSignal;
  const controller = new AbortController();
  let waited = 0;
  AbortSignal.timeout = (ms) => {
    waited = ms;
    return controller.signal;
  };
  try {
    provider.instead = () => controller.abort();
    const page = await open(signInAt(provider));
    assertRefused(await page.send(), 503, "cannot be asked now");
    assertEquals(waited, 10_000);
  } finally {
    AbortSignal.timeout = timeout;
  }
});

Deno.test("a person whom an operator revoked is out, with all that the person allowed", async () => {
  await using provider = await TestProvider.start(CALLBACK);
  const bench = signInAt(provider);
  const enter = async (name: string, office: string) => {
    const page = await pass(bench, provider, { name, office });
    const done = await page.send({}, page.computers);
    assert(done.leads.searchParams.has("code"));
  };
  const order = { by: "key:ops", reason: "left" };
  const principal = `oidc:${provider.issuer}#ann`;
  const { signIn } = bench;
  assertEquals(await signIn.revoke("jwt:ann", order), false);
  assertEquals(await signIn.revoke("oidc:https://a.example#ann", order), false);
  await enter("ann", "home");
  assertEquals(await signIn.revoke(principal, order), true);
  assertRefused(
    await pass(bench, provider, { office: "home" }),
    401,
    "was revoked by the operator",
  );
  await enter("bob", "team-a");
});

Deno.test("grants end with a revoked person, another provider, and with keys in place of a provider", async () => {
  await using provider = await TestProvider.start(CALLBACK);
  const clientSide = async (bench: SignInBench) => {
    const client = await bench.register();
    const { path, verifier } = bench.ask(client);
    const page = await bench.openPage(path);
    const back = await provider.logIn((await page.send()).leads, "ann");
    const choice = await comeBack(bench, back, page.cookie);
    const done = await choice.send({}, choice.computers);
    const code = done.leads.searchParams.get("code") ?? "";
    return await (await bench.redeem(code, verifier, client)).json();
  };
  const ends: ((bench: SignInBench) => Promise<SignInBench>)[] = [
    async (bench) => {
      const principal = `oidc:${provider.issuer}#ann`;
      await bench.signIn.revoke(principal, { by: "key:ops", reason: "left" });
      return bench;
    },
    (bench) =>
      Promise.resolve(
        new SignInBench({
          store,
          provider: { issuer: "https://id.example", clientId: CLIENT_ID },
        }, bench.host),
      ),
    (bench) => Promise.resolve(new SignInBench({ store }, bench.host)),
  ];
  let store = memoryStore();
  const whys: unknown[] = [];
  for (const end of ends) {
    store = memoryStore();
    const bench = signInAt(provider, { store });
    const { access_token: token } = await clientSide(bench);
    assertMatch(await bench.admit(token, "home"), /^oidc:/);
    const next = await end(bench);
    assertEquals(await next.admit(token, "home"), "the grant has ended");
    assertEquals(await next.signIn.grants(), []);
    const last = next.host.audit.at(-1);
    whys.push(last?.event === "grant_ended" && last.why);
  }
  assertEquals(whys, ["operator", "person", "person"]);
});

Deno.test("signIn() refuses a provider that cannot be one, and shows no secret", () => {
  const provider = { issuer: "https://id.example", clientId: "c" };
  for (
    const [over, message] of [
      [{ issuer: "id.example" }, "expected an https:// URL"],
      [{ issuer: "https://id.example?a=1" }, "expected an https:// URL"],
      [{ issuer: "https://a:b@id.example" }, "expected an https:// URL"],
      [{ issuer: "ftp://id.example" }, "expected an https:// URL"],
      [{ issuer: "http://id.example" }, "over http"],
      [{ clientId: "" }, "without clientId"],
      [{ clientSecret: "" }, "empty clientSecret"],
      [{ secret: "s3cret" }, "secret"],
    ] as const
  ) {
    const make = () => signIn({ provider: { ...provider, ...over } });
    const { message: said } = assertThrows(make, TypeError, message);
    assertEquals(said.includes("s3cret"), false);
  }
});

Deno.test("a sign-in without a provider loads no client of one, and has no callback", async () => {
  const file = "server/sign_in/mod.ts";
  const modules = await modulesOf(file, { dynamic: false });
  assertEquals(modules.includes("server/sign_in/oidc.ts"), false);
  const all = await modulesOf(file, { dynamic: true });
  assertEquals(all.includes("server/sign_in/oidc.ts"), true);
  const { status } = await new SignInBench().request("/authorize/callback");
  assertEquals(status, 404);
});
