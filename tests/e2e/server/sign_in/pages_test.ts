import {
  assert,
  assertEquals,
  assertMatch,
  assertNotEquals,
  assertStringIncludes,
} from "@std/assert";
import {
  ISSUER,
  KEY,
  SignInBench,
  TestDate,
  TestHost,
  type TestPage,
} from "../../../support/server/sign_in.ts";

const open = async (bench: SignInBench): Promise<TestPage> =>
  await bench.openPage(bench.ask(await bench.register()).path);

Deno.test("sign-in #19: a form without its cookie, with another's, from another site, altered or old is refused", async () => {
  using date = new TestDate();
  const bench = new SignInBench();
  const page = await open(bench);
  const other = await open(bench);
  const key = { key: KEY };
  const altered = page.consent.replace(/.$/, (end) => end === "A" ? "B" : "A");
  const tokens = await bench.enter();
  const cases = [
    [403, {}, { cookie: "" }],
    [403, {}, { cookie: other.cookie }],
    [403, {}, { origin: "https://evil.example" }],
    [403, {}, { origin: "null" }],
    [403, {}, { "sec-fetch-site": "cross-site" }],
    [403, {}, { "sec-fetch-site": "same-site" }],
    [400, { consent: altered }, {}],
    [400, { consent: tokens.access_token }, {}],
    [400, { consent: "" }, {}],
    [400, {}, { "content-type": "text/plain" }],
  ] as const;
  for (const step of [page, await page.send(key)]) {
    for (const [status, fields, headers] of cases) {
      const { answer, text } = await step.send(
        { ...key, ...fields },
        [0],
        headers,
      );
      assertEquals(answer.status, status, JSON.stringify([fields, headers]));
      assertEquals(text.includes("laptop") || text.includes("code="), false);
    }
  }
  date.pass(600_001);
  const late = await page.send(key);
  assertEquals(late.answer.status, 400);
  assertStringIncludes(late.text, "too old");
});

Deno.test("sign-in #20: no page is framed, runs a script, loads anything, or is kept", async () => {
  const bench = new SignInBench();
  const first = await open(bench);
  const second = await first.send({ key: KEY });
  const last = await second.send({}, [0]);
  const fault = await bench.openPage("/authorize");
  for (const { answer, text } of [first, second, last, fault]) {
    const { headers } = answer;
    const policy = headers.get("content-security-policy") ?? "";
    assertMatch(
      policy,
      /^default-src 'none'; style-src 'sha256-[^']+'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'$/,
    );
    assertEquals(headers.get("x-frame-options"), "DENY");
    assertEquals(headers.get("referrer-policy"), "same-origin");
    assertEquals(headers.get("cache-control"), "no-store");
    assertEquals(headers.get("access-control-allow-origin"), null);
    assertEquals(/<script|<img|<link| on\w+=|style="/i.test(text), false);
    const style = /<style>([^]*)<\/style>/.exec(text)?.[1] ?? "";
    const digest = await crypto.subtle.digest(
      "SHA-256",
      new TextEncoder().encode(style),
    );
    assertStringIncludes(
      policy,
      btoa(String.fromCharCode(...new Uint8Array(digest))),
    );
  }
});

Deno.test("sign-in #21: nobody stays signed in: each page has a cookie of its own, and asks for the key", async () => {
  const bench = new SignInBench();
  const page = await open(bench);
  const cookie = page.answer.headers.get("set-cookie") ?? "";
  assertMatch(
    cookie,
    /^__Host-smcp-consent-[\w-]{8}=[\w-]{22}; Path=\/; Secure; HttpOnly; SameSite=Strict; Max-Age=600$/,
  );
  await (await page.send({ key: KEY })).send({}, [0]);
  const again = await open(bench);
  assertNotEquals(again.cookie, page.cookie);
  assertStringIncludes(again.text, 'type="password"');
  const forged = await again.send({}, [0], {
    cookie: `${again.cookie}; ${page.cookie}`,
  });
  assertEquals(forged.answer.status, 401);
});

Deno.test("sign-in #22: ten wrong keys a minute, then none is tried; right ones do not count", async () => {
  using date = new TestDate();
  const bench = new SignInBench();
  const page = await open(bench);
  for (let i = 0; i < 30; i++) {
    assertEquals((await page.send({ key: KEY })).answer.status, 200);
  }
  for (let i = 0; i < 10; i++) {
    assertEquals((await page.send({ key: `wrong ${i}` })).answer.status, 401);
  }
  const stopped = await page.send({ key: KEY });
  assertEquals(stopped.answer.status, 429);
  assertEquals(stopped.answer.headers.get("retry-after"), "60");
  assertStringIncludes(stopped.text, "Too many tries");
  date.pass(60_000);
  assertEquals((await page.send({ key: KEY })).answer.status, 200);
});

Deno.test("sign-in #23: whatever is wrong with a key, the page has one text, and nothing of the office", async () => {
  const bench = new SignInBench();
  const page = await open(bench);
  const texts = new Set<string>();
  for (const key of ["computer-key", "team-key", "unknown", "", "eyJ.e30."]) {
    const { answer, text } = await page.send({ key });
    assertEquals(answer.status, 401);
    assertEquals(text.includes("laptop"), false);
    texts.add(text.replace(/value="smcp_[^"]*"/, ""));
  }
  assertEquals(texts.size, 1);
  const [text = ""] = texts;
  assertStringIncludes(text, "This key cannot be used for this office.");
  const reasons = bench.host.audit.map((line) => Object(line).reason);
  assertEquals(reasons.length, 5);
  assertEquals(reasons.some((each) => String(each).includes("-key")), false);
});

Deno.test("a key that the Server cannot find again lets nobody in", async () => {
  const host = new TestHost();
  const { find: _, ...parts } = host.parts();
  host.parts = () => parts;
  const bench = new SignInBench({}, host);
  const { answer, text } = await (await open(bench)).send({ key: KEY });
  assertEquals(answer.status, 401);
  assertStringIncludes(text, 'type="password"');
});

Deno.test("a key that was removed between the pages allows nothing", async () => {
  const bench = new SignInBench();
  const second = await (await open(bench)).send({ key: KEY });
  bench.host.keys = [];
  const { answer, text } = await second.send({}, [0, 1]);
  assertEquals(answer.status, 401);
  assertEquals(text.includes("http-equiv"), false);
});

Deno.test("sign-in #29: a name with markup, direction marks or without end is shown as text of one line", async () => {
  const bench = new SignInBench();
  const name = `<b>Claude</b> \u202eedualC\u200b\n"${"x".repeat(100)}`;
  const client = await bench.register(undefined, name);
  const { text } = await bench.openPage(bench.ask(client).path);
  assertEquals(text.includes("<b>"), false);
  assertEquals(/[\u202e\u200b]/.test(text), false);
  assertStringIncludes(text, "&lt;b&gt;Claude&lt;/b&gt; edualC &quot;xxx");
  assertEquals(text.includes("x".repeat(60)), false);
});

Deno.test("sign-in #30: a name is quoted, and the page says who vouches for it, by host in ASCII", async () => {
  const id = "https://xn--clude-5ve.example/client.json";
  const document = {
    client_id: id,
    client_name: "Claude",
    logo_uri: "https://claude.ai/logo.png",
    redirect_uris: ["https://xn--clude-5ve.example/cb"],
  };
  const bench = new SignInBench({
    fetchDocument: () => Promise.resolve(Response.json(document)),
  });
  const [redirect = ""] = document.redirect_uris;
  const { text } = await bench.openPage(bench.ask({ id, redirect }).path);
  assertStringIncludes(text, "“Claude”");
  assertMatch(text, /vouched for by<\/dt>\s*<dd>\s*xn--clude-5ve\.example/);
  assertEquals(text.includes("logo"), false);
  const own = await bench.register("https://app.example/cb", "Claude");
  const page = await bench.openPage(bench.ask(own).path);
  assertStringIncludes(page.text, "no one: the program itself chose its name");
});

Deno.test("sign-in #31: a link by mail leads to a page that warns, names the host of the answer, and asks for a key", async () => {
  const bench = new SignInBench();
  const client = await bench.register("https://evil.example/cb", "Claude");
  const { text, answer } = await bench.openPage(bench.ask(client).path);
  assertEquals(answer.status, 200);
  assertStringIncludes(text, "If a message or a web page sent you here");
  assertMatch(text, /The answer goes to<\/dt>\s*<dd>\s*evil\.example/);
  assertStringIncludes(text, 'type="password"');
});

Deno.test("sign-in #37: no secret reaches the audit log, and pages send no address to other sites", async () => {
  const bench = new SignInBench();
  const page = await open(bench);
  await page.send({ key: "wrong-key" });
  const tokens = await bench.enter();
  await bench.renew(tokens, { client_id: "https://a.example/c" });
  await bench.post("/revoke", { token: tokens.refresh_token });
  const log = JSON.stringify(bench.host.audit);
  assert(bench.host.audit.length >= 4);
  for (const secret of [KEY, "wrong-key", "smcp_at_", "smcp_rt_", "code="]) {
    assertEquals(log.includes(secret), false, secret);
  }
  const last = await (await page.send({ key: KEY })).send({}, [0]);
  assertStringIncludes(last.text, 'rel="noreferrer"');
  assertEquals(last.answer.headers.get("referrer-policy"), "same-origin");
});

Deno.test("the person chooses Computers: all are ticked, later ones are not, and none at all is no choice", async () => {
  const bench = new SignInBench();
  const page = await (await open(bench)).send({ key: KEY });
  const boxes = [...page.text.matchAll(/<input[^>]*type="checkbox"[^>]*>/g)]
    .map(([box]) => box.includes(" checked"));
  assertEquals(boxes, [true, true, false]);
  const none = await page.send();
  assertEquals(none.answer.status, 400);
  assertStringIncludes(none.text, "Tick a computer");
  assertEquals(
    (await none.send({ later: "1" })).leads.origin,
    "http://127.0.0.1:1234",
  );
  const [grant] = bench.host.audit.filter(({ event }) =>
    event === "sign_in_allowed"
  );
  assert(grant);
});

Deno.test("an office without Computers lets later ones be allowed; one with too many, all", async () => {
  const bench = new SignInBench();
  bench.host.computers = [];
  const empty = await (await open(bench)).send({ key: KEY });
  assertMatch(empty.text, /name="later"[^>]* checked/);
  bench.host.computers = Array.from(
    { length: 2000 },
    (_, at) => `pc-${at}-${"x".repeat(10)}`,
  );
  const tokens = await bench.enter();
  const admitted = await bench.signIn.admit(tokens.access_token, "home");
  assertEquals(admitted && "grant" in admitted && admitted.grant.computers, {
    except: [],
  });
});

Deno.test("a Computer with markup in its name is text on the page, and can be chosen", async () => {
  const bench = new SignInBench();
  bench.host.computers = ['<i>"pc"</i>', "desk"];
  const second = await (await open(bench)).send({ key: KEY });
  assertEquals(second.text.includes("<i>"), false);
  const tokens = await bench.enter({ ticked: [0] });
  const admitted = await bench.signIn.admit(tokens.access_token, "home");
  assertEquals(admitted && "grant" in admitted && admitted.grant.computers, {
    only: ['<i>"pc"</i>'],
  });
});

Deno.test("without keys a button is in the place of the key", async () => {
  const host = new TestHost();
  host.issuer = "http://127.0.0.1:8787";
  const bench = new SignInBench({}, host, false);
  const page = await open(bench);
  assertEquals(page.text.includes('type="password"'), false);
  const tokens = await bench.enter();
  assertEquals(await bench.admit(tokens.access_token, "home"), "sign-in");
});

Deno.test("on loopback the cookie belongs to the page's path", async () => {
  const issuers = {
    "http://127.0.0.1:8787": "/authorize",
    "http://127.0.0.1:8787/front": "/front/authorize",
  };
  for (const [issuer, path] of Object.entries(issuers)) {
    const host = new TestHost();
    host.issuer = issuer;
    const bench = new SignInBench({}, host);
    const client = await bench.register();
    const resource = `${issuer}/mcp/home`;
    const page = await bench.openPage(bench.ask(client, { resource }).path);
    const cookie = page.answer.headers.get("set-cookie") ?? "";
    assertMatch(cookie, /^smcp-consent-/);
    assertStringIncludes(cookie, `Path=${path}; HttpOnly; SameSite=Strict`);
    const at = async (origin: string) =>
      (await page.send({ key: KEY }, [], { origin })).answer.status;
    assertEquals(await at("http://127.0.0.1:8787"), 200);
    assertEquals(await at(ISSUER), 403);
  }
});

Deno.test("the page of a request that cannot go on says what a person can do, and then what is wrong", async () => {
  const bench = new SignInBench();
  const { answer, text } = await bench.openPage("/authorize?client_id=x");
  assertEquals(answer.status, 400);
  assertMatch(text, /<p>The program that sent you here .* add it again\.<\/p>/);
  assertMatch(text, /<p class="hint">For its developer: client_id: unknown;/);
});
