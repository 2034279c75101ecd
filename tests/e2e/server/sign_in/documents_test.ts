import { assertEquals, assertMatch } from "@std/assert";
import { SignInBench, TestDate } from "../../../support/server/sign_in.ts";

const ID = "https://app.example/oauth/client.json";
const REDIRECT = "https://app.example/cb";
const DOCUMENT = {
  client_id: ID,
  client_name: "App",
  redirect_uris: [REDIRECT, "https://app.example/cb2"],
  token_endpoint_auth_method: "private_key_jwt",
  token_endpoint_auth_methods_supported: ["private_key_jwt", "none"],
};
const CLIENT = { id: ID, redirect: REDIRECT };

/** A bench whose clients' documents are what a test says. */
class Documents {
  fetched = 0;
  answer: () => Response | Promise<Response> = () => Response.json(DOCUMENT);
  readonly bench = new SignInBench({
    fetchDocument: async () => {
      this.fetched++;
      return await this.answer();
    },
  });

  async status(id = ID, redirect = REDIRECT): Promise<string> {
    const { path } = this.bench.ask({ id, redirect });
    const page = await this.bench.openPage(path);
    const [, why = ""] = /developer: (client_id: [^<]*)/.exec(page.text) ?? [];
    return `${page.answer.status} ${why}`.trim();
  }
}

Deno.test("a program is let in by its metadata document, also one that offers private_key_jwt", async () => {
  const { bench } = new Documents();
  const tokens = await bench.enter({}, {}, CLIENT);
  assertEquals(await bench.admit(tokens.access_token, "home"), "key:ann");
  const [grant] = await bench.signIn.grants();
  assertEquals(grant?.vouched_by, "app.example");
});

Deno.test("sign-in #27: whatever is wrong with a document, the page has one text", async () => {
  const faults: readonly (() => Response | Promise<Response>)[] = [
    () => new Response(null, { status: 302, headers: { location: "x" } }),
    () => Response.json(DOCUMENT, { status: 404 }),
    () => new Response(JSON.stringify(DOCUMENT)),
    () => new Response("<html>", { headers: { "content-type": "text/html" } }),
    () =>
      new Response("{", { headers: { "content-type": "application/json" } }),
    () => Response.json([]),
    () => Response.json(null),
    () => Response.json({ ...DOCUMENT, client_id: `${ID}x` }),
    () => Response.json({ ...DOCUMENT, redirect_uris: [] }),
    () => Response.json({ ...DOCUMENT, redirect_uris: ["javascript:x"] }),
    () => Promise.reject(new Error("connect ECONNREFUSED 10.0.0.1:443")),
  ];
  const texts = new Set<string>();
  for (const answer of faults) {
    const documents = new Documents();
    documents.answer = answer;
    texts.add(await documents.status());
  }
  assertEquals(texts.size, 1);
  assertMatch([...texts].join(), /^400 client_id: its document cannot be read/);
});

Deno.test("what cannot be the URL of a document is not fetched", async () => {
  const documents = new Documents();
  for (
    const id of [
      "https://127.0.0.1/c",
      "https://localhost/c",
      "https://app.example:8443/c",
      "http://app.example/c",
      "https://app.example/",
      "https://app.example/x/../c",
      "https://u:p@app.example/c",
      "",
    ]
  ) assertMatch(await documents.status(id), /^400 client_id: unknown/);
  assertEquals(documents.fetched, 0);
});

Deno.test("a document is kept as its headers state, a failure for half a minute, and asked for once at a time", async () => {
  using date = new TestDate();
  const documents = new Documents();
  documents.answer = () => {
    const headers = { "cache-control": "max-age=3600" };
    return Response.json(DOCUMENT, { headers });
  };
  await Promise.all(Array.from({ length: 5 }, () => documents.status()));
  date.pass(3_599_000);
  assertEquals(await documents.status(), "200");
  assertEquals(documents.fetched, 1);
  date.pass(2_000);
  documents.answer = () => Response.error();
  assertMatch(await documents.status(), /^400/);
  documents.answer = () => Response.json(DOCUMENT);
  assertMatch(await documents.status(), /^400/);
  assertEquals(documents.fetched, 2);
  date.pass(30_001);
  assertEquals(await documents.status(), "200");
  assertEquals(documents.fetched, 3);
});

Deno.test("sign-in #28: a document that changes after the consent changes nothing", async () => {
  using date = new TestDate();
  const documents = new Documents();
  const { bench } = documents;
  const { path, verifier } = bench.ask(CLIENT);
  const page = await bench.openPage(path);
  documents.answer = () =>
    Response.json({
      ...DOCUMENT,
      client_name: "Evil",
      redirect_uris: ["https://app.example/evil"],
    });
  date.pass(301_000);
  assertMatch(await documents.status(), /^400/);
  const second = await page.send({ key: "ann-key" });
  const { leads } = await second.send({}, second.computers);
  assertEquals(leads.origin + leads.pathname, REDIRECT);
  const code = leads.searchParams.get("code") ?? "";
  assertEquals((await bench.redeem(code, verifier, CLIENT)).status, 200);
  const [grant] = await bench.signIn.grants();
  assertEquals(grant?.program, "App");
});
