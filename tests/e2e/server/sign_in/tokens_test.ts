import {
  assert,
  assertEquals,
  assertMatch,
  assertNotEquals,
} from "@std/assert";
import { memoryStore } from "@a2c-smcp/server/sign-in";
import {
  ISSUER,
  SignInBench,
  TestDate,
  TestHost,
  type Visit,
} from "../../../support/server/sign_in.ts";

/** Lets a program come to its code. */
async function toCode(bench: SignInBench, visit: Visit = {}) {
  const client = await bench.register();
  const { path, verifier } = bench.ask(client);
  const to = await bench.visit(path, visit);
  return { client, verifier, code: to.searchParams.get("code") ?? "" };
}

const errorOf = async (answer: Response): Promise<string> =>
  `${answer.status} ${(await answer.json()).error}`;

Deno.test("sign-in #1: a code that is used 20 times at once gives one token", async () => {
  const bench = new SignInBench();
  const { code, verifier, client } = await toCode(bench);
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => bench.redeem(code, verifier, client)),
  );
  assertEquals(answers.filter(({ ok }) => ok).length, 1);
  assertEquals((await bench.signIn.grants()).length, 1);
});

Deno.test("sign-in #2: a replayed code is refused, and ends what it made, with its verifier after ten seconds alone", async () => {
  using date = new TestDate();
  const bench = new SignInBench();
  const { code, verifier, client } = await toCode(bench);
  const { access_token } = await (await bench.redeem(code, verifier, client))
    .json();
  const replay = async (proof: string) =>
    assertEquals(
      await errorOf(await bench.redeem(code, proof, client)),
      "400 invalid_grant",
    );
  await replay(verifier);
  assertEquals(await bench.admit(access_token, "home"), "key:ann");
  date.pass(11_000);
  await replay("x".repeat(43));
  await replay("");
  assertEquals(await bench.admit(access_token, "home"), "key:ann");
  await replay(verifier);
  assertEquals(await bench.admit(access_token, "home"), "the grant has ended");
  assertEquals(bench.host.events.filter((each) => each !== "sign_in_refused"), [
    "sign_in_allowed",
    "grant_ended",
    "token_reused",
  ]);
});

Deno.test("sign-in #3: a stolen code without its verifier is refused, and gone", async () => {
  for (const proof of ["x".repeat(43), "", "short"]) {
    const bench = new SignInBench();
    const { code, verifier, client } = await toCode(bench);
    const stolen = await bench.redeem(code, proof, client);
    assertEquals(await errorOf(stolen), "400 invalid_grant");
    const own = await bench.redeem(code, verifier, client);
    assertEquals(await errorOf(own), "400 invalid_grant");
  }
});

Deno.test("sign-in #4: a code of another client, redirect or resource is refused", async () => {
  const other = { client_id: "https://other.example/client.json" };
  const cases = [
    [other, "400 invalid_grant"],
    [{ redirect_uri: "http://127.0.0.1:1235/callback" }, "400 invalid_grant"],
    [{ resource: `${ISSUER}/mcp/lab` }, "400 invalid_target"],
    [{ resource: `${ISSUER}/mcp` }, "400 invalid_target"],
    [{ resource: "https://other.example/mcp/home" }, "400 invalid_target"],
  ] as const;
  for (const [over, expected] of cases) {
    const bench = new SignInBench();
    const { code, verifier, client } = await toCode(bench);
    const answer = await bench.redeem(code, verifier, client, over);
    assertEquals(await errorOf(answer), expected, JSON.stringify(over));
  }
});

Deno.test("a program that the Server does not know is answered with 401, at which it registers again", async () => {
  const bench = new SignInBench();
  for (const id of ["gone", "smcp_client_!", "http://a.example/c"]) {
    const client = { id, redirect: "http://127.0.0.1:1/cb" };
    const answer = await bench.redeem("c", "v", client);
    assertEquals(await errorOf(answer), "401 invalid_client");
  }
});

Deno.test("a code lives for a minute, an access token for an hour", async () => {
  using date = new TestDate();
  const bench = new SignInBench();
  const { code, verifier, client } = await toCode(bench);
  date.pass(60_001);
  const late = await bench.redeem(code, verifier, client);
  assertEquals(await errorOf(late), "400 invalid_grant");
  const { access_token } = await bench.enter();
  date.pass(3_600_001);
  assertEquals(
    await bench.admit(access_token, "home"),
    "the access token expired",
  );
});

Deno.test("sign-in #13: a token of an office is none of another, of the gateway's path, or of another server", async () => {
  const bench = new SignInBench();
  const { access_token } = await bench.enter();
  assertEquals(await bench.admit(access_token, "home"), "key:ann");
  for (const office of ["lab", undefined, "Home", "ho%6De", "home/"]) {
    assertMatch(await bench.admit(access_token, office), /another resource/);
  }
  const other = new SignInBench();
  assertMatch(await other.admit(access_token, "home"), /no access token/);
  const client = await bench.register();
  for (
    const resource of [
      `${ISSUER}/mcp/ho%6De`,
      `${ISSUER}/MCP/home`,
      `${ISSUER}.evil.example/mcp/home`,
      `${ISSUER}/mcp/home/x`,
      `${ISSUER}/mcp/%ff`,
      `${ISSUER}/mcp/..%2fhome`,
      "https://other.example/mcp/home",
      "home",
    ]
  ) {
    const answer = await bench.request(bench.ask(client, { resource }).path);
    const to = new URL(answer.headers.get("location") ?? "x:");
    assertEquals(to.searchParams.get("error"), "invalid_target", resource);
  }
});

Deno.test("an office that is called as a pattern is one office", async () => {
  const bench = new SignInBench();
  const { access_token } = await bench.enter({ key: "team-key" }, {
    resource: `${ISSUER}/mcp/team-*`,
  });
  assertEquals(await bench.admit(access_token, "team-*"), "key:team");
  assertMatch(await bench.admit(access_token, "team-a"), /another resource/);
});

Deno.test("sign-in #15: no forged token lets in, and none for another purpose", async () => {
  const bench = new SignInBench();
  const { access_token, refresh_token } = await bench.enter();
  const page = await bench.openPage(bench.ask(await bench.register()).path);
  const [head = ""] = access_token.split(".");
  const claims = JSON.stringify({
    grant: "x",
    office: "home",
    resource: "/mcp/home",
    expiresAt: Date.now() + 1000,
  });
  const json = btoa(claims).replaceAll("=", "");
  const forged = [
    refresh_token,
    page.consent,
    head,
    `${head}.`,
    `${head}.${"A".repeat(43)}`,
    `smcp_at_${json}.${"A".repeat(43)}`,
    access_token.replace("smcp_at_", "smcp_rt_"),
    refresh_token.replace("smcp_rt_", "smcp_at_"),
    page.consent.replace("smcp_consent_", "smcp_at_"),
  ];
  for (const token of forged) {
    assertEquals(
      await bench.admit(token, "home"),
      "no access token of this Server",
    );
  }
  // What is none of a sign-in is left to the keys of the Server.
  for (const token of ["", "eyJhbGciOiJub25lIn0.e30.", "ann-key"]) {
    assertEquals(await bench.admit(token, "home"), "none");
  }
  for (const token of [access_token, page.consent, "x"]) {
    const answer = await bench.renew({ refresh_token: token });
    assertEquals(await errorOf(answer), "400 invalid_grant");
  }
});

Deno.test("sign-in #16: ten refreshes at once have one successor, and the chain goes on", async () => {
  const bench = new SignInBench();
  let tokens = await bench.enter();
  for (let round = 0; round < 5; round++) {
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => bench.renew(tokens)),
    );
    const made = await Promise.all(answers.map((each) => each.json()));
    const [first] = made;
    assertNotEquals(first.refresh_token, tokens.refresh_token);
    for (const each of made) {
      assertEquals(each.refresh_token, first.refresh_token);
      assertEquals(await bench.admit(each.access_token, "home"), "key:ann");
    }
    tokens = { ...tokens, ...first };
  }
});

Deno.test("sign-in #17: an old refresh token ends the grant after its grace, and the access token at once", async () => {
  using date = new TestDate();
  const bench = new SignInBench();
  const first = await bench.enter();
  const second = await (await bench.renew(first)).json();
  date.pass(119_000);
  assertEquals((await bench.renew(first)).status, 200);
  assertEquals(await bench.admit(second.access_token, "home"), "key:ann");
  date.pass(2_000);
  assertEquals(await errorOf(await bench.renew(first)), "400 invalid_grant");
  assertEquals(
    await bench.admit(second.access_token, "home"),
    "the grant has ended",
  );
  assertEquals(await errorOf(await bench.renew(second)), "400 invalid_grant");
  assert(bench.host.events.includes("token_reused"));
  assert(bench.host.rechecks > 0, "open streams end, too");
});

Deno.test("sign-in #18: a refresh by another client, or for another office, is refused", async () => {
  const bench = new SignInBench();
  const tokens = await bench.enter();
  const other = await bench.register("https://other.example/cb");
  const refused = await bench.renew(tokens, { client_id: other.id });
  assertEquals(await errorOf(refused), "400 invalid_grant");
  const resource = `${ISSUER}/mcp/lab`;
  const elsewhere = await bench.renew(tokens, { resource });
  assertEquals(await errorOf(elsewhere), "400 invalid_target");
  const client_id = tokens.client.id;
  const own = { client_id, resource: `${ISSUER}/mcp/home/` };
  assertEquals((await bench.renew(tokens, own)).status, 200);
});

Deno.test("a grant ends 30 days after its last renewal, 180 days after its beginning, and with its key's time", async () => {
  using date = new TestDate();
  const bench = new SignInBench();
  const day = 86_400_000;
  const unused = await bench.enter();
  date.pass(30 * day + 1);
  assertEquals(await errorOf(await bench.renew(unused)), "400 invalid_grant");
  let used = await bench.enter();
  for (let month = 0; month < 6; month++) {
    date.pass(29 * day);
    used = { ...used, ...await (await bench.renew(used)).json() };
  }
  date.pass(6 * day + 1);
  assertEquals(await errorOf(await bench.renew(used)), "400 invalid_grant");
  const expires = new Date(Date.now() + 60_000).toISOString();
  bench.host.keys = [{ id: "ann", key: "ann-key", expires }];
  const short = await bench.enter();
  assert(short.expires_in <= 60);
  date.pass(60_001);
  assertMatch(await bench.admit(short.access_token, "home"), /expired/);
  assertEquals(await bench.signIn.grants(), []);
});

Deno.test("sign-in #33: a grant ends with its key: removed, restricted, replaced", async () => {
  const changes = {
    removed: [],
    restricted: [{ id: "ann", key: "ann-key", offices: ["lab"] }],
    "of another role": [
      { id: "ann", key: "ann-key", roles: ["computer"] as const },
    ],
    replaced: [{ id: "ann", key: "new-key" }],
    "under another id": [{ id: "bob", key: "ann-key" }],
  };
  for (const [change, keys] of Object.entries(changes)) {
    const bench = new SignInBench();
    const tokens = await bench.enter();
    const admitted = await bench.signIn.admit(tokens.access_token, "home");
    assert(admitted && "identity" in admitted);
    bench.host.keys = keys;
    const checked = await bench.signIn.refresh(admitted.identity);
    assertEquals(checked, { refused: "the grant has ended" }, change);
    assertEquals(
      await bench.admit(tokens.access_token, "home"),
      "the grant has ended",
    );
    assertEquals(await errorOf(await bench.renew(tokens)), "400 invalid_grant");
    assertEquals(
      bench.host.audit.find(({ event }) => event === "grant_ended"),
      {
        event: "grant_ended",
        grant: admitted.grant.id,
        why: "key",
        office: "home",
        principal: "key:ann",
        program: "Test",
      },
    );
  }
});

Deno.test("sign-in #34: either token ends the grant where it is given back, and always with one answer", async () => {
  for (const kind of ["access_token", "refresh_token"] as const) {
    const bench = new SignInBench();
    const tokens = await bench.enter();
    const { rechecks } = bench.host;
    const stranger = { token: tokens[kind], client_id: "https://a.example/c" };
    for (const form of [stranger, { token: "x" }, {}]) {
      assertEquals((await bench.post("/revoke", form)).status, 200);
    }
    assertEquals(await bench.admit(tokens.access_token, "home"), "key:ann");
    const answer = await bench.post("/revoke", { token: tokens[kind] });
    assertEquals(answer.status, 200);
    assertEquals(
      await bench.admit(tokens.access_token, "home"),
      "the grant has ended",
    );
    assertEquals(await errorOf(await bench.renew(tokens)), "400 invalid_grant");
    assertEquals(bench.host.rechecks, rechecks + 1);
  }
});

Deno.test("an operator sees grants and ends some, with a reason", async () => {
  const bench = new SignInBench();
  await bench.enter({ ticked: [0] });
  const other = await bench.enter({ later: true }, {
    resource: `${ISSUER}/mcp/lab`,
  });
  const order = { by: "key:op", reason: "lost laptop" };
  const ended = await bench.signIn.end(
    order,
    ({ office }) => office === "home",
  );
  assertEquals(ended.map(({ office, computers }) => [office, computers]), [
    ["home", { only: ["desk"] }],
  ]);
  const left = await bench.signIn.grants();
  assertEquals(left.map(({ office, computers }) => [office, computers]), [
    ["lab", { except: [] }],
  ]);
  assertEquals(await bench.admit(other.access_token, "lab"), "key:ann");
  const { by, reason, why } = Object(bench.host.audit.at(-1));
  assertEquals({ by, reason, why }, { ...order, why: "operator" });
});

Deno.test("a grant from before the Server had keys ends when it has some, and the reverse", async () => {
  for (const hadKeys of [false, true]) {
    const store = memoryStore();
    const local = new TestHost();
    local.issuer = "http://127.0.0.1:8787";
    const before = new SignInBench({ store }, local, hadKeys);
    const { access_token } = await before.enter();
    const after = new SignInBench({ store }, local, !hadKeys);
    assertEquals(
      await after.admit(access_token, "home"),
      "the grant has ended",
    );
    assertEquals(await after.signIn.grants(), []);
  }
});
