import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { assertEquals, assertStringIncludes } from "@std/assert";
import type { SignInStore } from "../../../../server/sign_in/grant.ts";
import { sqliteStore } from "../../../../server/sign_in/sqlite_store.ts";
import { captureLog } from "../../../support/log_capture.ts";
import { scratch } from "../../../support/scratch.ts";
import {
  CLIENT_ID,
  CLIENT_SECRET,
  TestProvider,
} from "../../../support/server/oidc_provider.ts";
import { memoryStore } from "../../../../server/sign_in/memory_store.ts";
import { modernRequest, post } from "../../../support/mcp/post.ts";
import { ISSUER, KEY, SignInBench } from "../../../support/server/sign_in.ts";
import { SignedInServer } from "../../../support/server/signed_in_server.ts";

const LIST = modernRequest("tools/list");
const LISTEN = modernRequest("subscriptions/listen", {
  notifications: { toolsListChanged: true },
});

/** A store whose notes of uses a test changes. */
function storeWith(touch: SignInStore["touch"]): SignInStore {
  const store = memoryStore();
  return Object.assign(store, { touch });
}

Deno.test("sign-in #34: a stream that is let in while its grant ends does not outlive it", async () => {
  const touched = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  let isSlow = false;
  const store = storeWith(async () => {
    if (!isSlow) return;
    isSlow = false;
    touched.resolve();
    await goOn.promise;
  });
  await using server = await SignedInServer.start({ signIn: { store } });
  const { as, ...tokens } = await server.token();
  isSlow = true;
  const asking = fetch(server.gateway.url, {
    method: "POST",
    headers: {
      ...LISTEN.headers,
      ...as,
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
    },
    body: LISTEN.body,
  });
  await touched.promise;
  const revoked = await server.post("/revoke", { token: tokens.refresh_token });
  assertEquals([revoked.status, await revoked.text()], [200, ""]);
  goOn.resolve();
  const { status, body } = await asking;
  assertEquals(status, 401);
  await body?.cancel();
});

Deno.test("a store that cannot note a use lets programs in that it knows", async () => {
  const store = storeWith(() =>
    Promise.reject(new Error("database is locked"))
  );
  await using server = await SignedInServer.start({ signIn: { store } });
  const { as } = await server.token();
  const listed = await post(server.gateway.url, {
    ...LIST,
    headers: { ...LIST.headers, ...as },
  });
  assertEquals(listed.status, 200, listed.body);
});

Deno.test("sign-in #22: wrong keys at once are counted like those in a row", async () => {
  const bench = new SignInBench();
  const client = await bench.register();
  const page = await bench.openPage(bench.ask(client).path);
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, i) => page.send({ key: `wrong ${i}` })),
  );
  const tried = answers.filter(({ answer }) => answer.status === 401);
  assertEquals(tried.length, 10);
});

Deno.test("sign-in #24: a flood of slow metadata documents leaves few requests open", async () => {
  let open = 0;
  let most = 0;
  const goOn = Promise.withResolvers<void>();
  const bench = new SignInBench({
    fetchDocument: async () => {
      most = Math.max(most, ++open);
      await goOn.promise;
      open--;
      return new Response(null, { status: 404 });
    },
  });
  const asking = Array.from({ length: 200 }, (_, i) => {
    const id = `https://app${i}.example/client.json`;
    const { path } = bench.ask({ id, redirect: "https://app.example/cb" });
    return bench.openPage(path);
  });
  await new Promise((go) => setTimeout(go));
  goOn.resolve();
  const pages = await Promise.all(asking);
  assertEquals(most <= 20, true, `${most}`);
  const statuses = new Set(pages.map(({ answer }) => answer.status));
  assertEquals(statuses, new Set([400, 429]));
});

Deno.test("sign-in #15: a seal has one spelling", async () => {
  const bench = new SignInBench();
  const { access_token: token } = await bench.enter();
  assertEquals(await bench.admit(token, "home"), "key:ann");
  const others = [
    ..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
  ]
    .map((last) => token.slice(0, -1) + last)
    .filter((other) => other !== token);
  for (const other of others) {
    assertEquals(
      await bench.admit(other, "home"),
      "no access token of this Server",
    );
  }
});

Deno.test("sign-in #29: a name cannot end its quotes, nor cover the lines around it", async () => {
  const bench = new SignInBench();
  const shown = async (name: string) => {
    const client = await bench.register(undefined, name);
    const { text } = await bench.openPage(bench.ask(client).path);
    return /<h1>(.*?)<\/h1>/s.exec(text)?.[1]?.trim();
  };
  assertEquals(
    await shown("Claude” (checked by this Server) „"),
    "Let <bdi>“Claude&#39; (checked by this Server) &#39;”</bdi> use the office home?",
  );
  assertEquals(
    await shown(`b${"\u0301\u0302".repeat(25)}x`),
    "Let <bdi>“b\u0301\u0302x”</bdi> use the office home?",
  );
});

Deno.test("a person chooses among Computers with long names, or among very many", async () => {
  for (
    const [count, name, shown] of [
      [170, "机".repeat(30), 170],
      [300, "机".repeat(30), 0],
      [2600, "", 2600],
    ] as const
  ) {
    const bench = new SignInBench();
    bench.host.computers = Array.from(
      { length: count },
      (_, i) => name + i.toString(36).padStart(2, "0"),
    );
    const client = await bench.register();
    const { path } = bench.ask(client, { state: "\u0001".repeat(3000) });
    const page = await bench.openPage(path);
    const second = await page.send({ key: KEY });
    assertEquals(second.computers.length, shown, `${count}`);
    const last = await second.send({}, second.computers);
    assertEquals(last.leads.searchParams.has("code"), true, `${count}`);
  }
});

Deno.test("where the store fails, the log says why, and the answer that it can be tried again", async () => {
  await using folder = await scratch();
  const file = `${folder.path}/sign_ins.sqlite`;
  const bench = new SignInBench({ store: await sqliteStore(file) });
  const client = await bench.register();
  const { path, verifier } = bench.ask(client);
  const code = (await bench.visit(path)).searchParams.get("code") ?? "";
  using log = captureLog();
  using other = new DatabaseSync(file);
  other.exec("DROP TABLE sign_in_codes");
  const redeemed = await bench.redeem(code, verifier, client);
  assertEquals(redeemed.status, 503);
  assertEquals(
    await redeemed.json().then(({ error }) => error),
    "temporarily_unavailable",
  );
  const page = await bench.openPage(path);
  const second = await page.send({ key: KEY });
  assertEquals((await second.send({}, [0])).answer.status, 503);
  const why = `failed: Cannot keep sign-ins in ${file}: no such table`;
  for (const what of ["request", "page"]) {
    assertStringIncludes(
      log.text.replaceAll('"', ""),
      `A ${what} of the sign-in ${why}`,
    );
  }
  await bench.signIn.close();
});

Deno.test("where the provider fails, the log says why, with the remedy, and no secret", async () => {
  const callback = `${ISSUER}/authorize/callback`;
  await using provider = await TestProvider.start(callback);
  const { issuer } = provider;
  const answers: readonly (readonly [object, number, string])[] = [
    [{ issuer }, 200, "its metadata have no authorization_endpoint of https"],
    [
      { issuer, authorization_endpoint: "javascript:alert(1)" },
      200,
      "its metadata have no authorization_endpoint of https",
    ],
    [{}, 500, "unexpected HTTP status code"],
  ];
  for (const [body, status, why] of answers) {
    using log = captureLog();
    const bench = signInAt(issuer);
    provider.instead = (_, response) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(body));
    };
    const page = await bench.openPage(bench.ask(await bench.register()).path);
    assertEquals((await page.send()).answer.status, 503);
    assertStringIncludes(log.text, `Cannot ask ${issuer}/: `);
    assertStringIncludes(log.text, why);
  }
  provider.instead = undefined;
  using log = captureLog();
  const bench = signInAt(issuer, "another-secret");
  const page = await bench.openPage(bench.ask(await bench.register()).path);
  const { search } = await provider.logIn((await page.send()).leads, "ann");
  const back = await bench.request(`/authorize/callback${search}`, {
    headers: { cookie: page.cookie },
  });
  assertEquals([
    back.status,
    await back.text().then((text) => text.includes("cannot be asked now")),
  ], [503, true]);
  assertStringIncludes(log.text, "check the client's id, its secret");
  for (
    const secret of ["another-secret", ...new URLSearchParams(search).values()]
  ) {
    assertEquals(log.text.includes(secret) && secret !== issuer, false, secret);
  }
});

const signInAt = (issuer: string, clientSecret = CLIENT_SECRET) =>
  new SignInBench({ provider: { issuer, clientId: CLIENT_ID, clientSecret } });

Deno.test("sign-in #39: who floods the endpoints keeps no program behind the same address from its tokens, nor from the page", async () => {
  const bench = new SignInBench({
    fetchDocument: () => Promise.resolve(new Response(null, { status: 404 })),
  });
  const tokens = await bench.enter();
  for (let i = 0; i < 310; i++) {
    const wrong = await bench.renew({ refresh_token: `nonsense-${i}` });
    assertEquals(wrong.status, i < 300 ? 400 : 429);
    await wrong.body?.cancel();
    const id = `https://app${i}.example/client.json`;
    const { path } = bench.ask({ id, redirect: "https://app.example/cb" });
    const { answer } = await bench.openPage(path);
    assertEquals(answer.status, i < 120 ? 400 : 429);
  }
  const refused = bench.host.events.filter((each) =>
    each === "sign_in_refused"
  );
  assertEquals(refused.length, 300);
  const renewed = await bench.renew(tokens);
  assertEquals(renewed.status, 200, await renewed.text());
  const entered = await bench.enter();
  assertEquals(await bench.admit(entered.access_token, "home"), "key:ann");
});

Deno.test("a body that breaks off is a wrong request, and no failure of the Server in its log", async () => {
  using log = captureLog();
  const bench = new SignInBench();
  const paths = ["/token", "/revoke", "/authorize"];
  for (const [path, length] of paths.flatMap((each) => [[each, "9"], [each]])) {
    let pulls = 0;
    const body = new ReadableStream({
      pull(controller) {
        if (pulls++ === 0) controller.enqueue(new TextEncoder().encode("a="));
        else controller.error(new Error("aborted"));
      },
    });
    const headers = {
      "content-type": "application/x-www-form-urlencoded",
      ...(length !== undefined && { "content-length": length }),
    };
    const answer = await bench.request(path ?? "", {
      method: "POST",
      body,
      headers,
    });
    assertEquals([path, answer.status], [path, 400]);
    assertStringIncludes(await answer.text(), "the body broke off");
  }
  assertEquals(log.text.includes("failed"), false, log.text);
});

Deno.test("sign-in #37: no page shows the hash of the key that was typed, not even sealed", async () => {
  const bench = new SignInBench();
  const page = await bench.openPage(bench.ask(await bench.register()).path);
  const second = await page.send({ key: KEY });
  const hash = createHash("sha256").update(KEY).digest("hex");
  for (const { consent, text } of [page, second]) {
    const sealed = Buffer.from(consent.replace(/^smcp_.*?_/, ""), "base64url")
      .toString("latin1");
    for (const secret of [hash, "key:ann", "keySha256", "laptop"]) {
      assertEquals(sealed.includes(secret), false, secret);
    }
    assertEquals(text.includes(hash), false);
  }
});
