import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { memoryStore, type SignInStore } from "@a2c-smcp/server/sign-in";
import { sha256 } from "../../../../server/sign_in/seals.ts";
import { ISSUER, SignInBench } from "../../../support/server/sign_in.ts";

Deno.test("signIn() lets a program in by key and choice, and its token at its office alone", async () => {
  const bench = new SignInBench();
  const client = await bench.register();
  const { path, verifier } = bench.ask(client);
  const to = await bench.visit(path, { ticked: [1] });
  assertEquals(to.searchParams.get("state"), "s+1 /ü");
  assertEquals(to.searchParams.get("iss"), ISSUER);
  assertEquals(to.origin + to.pathname, client.redirect);
  const code = to.searchParams.get("code") ?? "";
  const answer = await bench.redeem(code, verifier, client);
  assertEquals(answer.headers.get("cache-control"), "no-store");
  const tokens = await answer.json();
  assertEquals(tokens.expires_in, 3600);
  assertEquals(tokens.scope, "office");
  const admitted = await bench.signIn.admit(tokens.access_token, "home");
  assertEquals(admitted && "office" in admitted && admitted.office, "home");
  assertEquals(
    admitted && "grant" in admitted && admitted.grant.computers,
    { only: ["laptop"] },
  );
  assertEquals(bench.host.events, ["sign_in_allowed"]);
  const renewed = await (await bench.renew(tokens)).json();
  assertEquals(await bench.admit(renewed.access_token, "home"), "key:ann");
  const [grant] = await bench.signIn.grants();
  assertEquals(grant?.program, "Test");
});

Deno.test("signIn() lets the person name the office at the gateway's path", async () => {
  const bench = new SignInBench();
  const tokens = await bench.enter({ office: "lab" }, {
    resource: `${ISSUER}/mcp`,
  });
  const admitted = await bench.signIn.admit(tokens.access_token, undefined);
  assertEquals(admitted && "office" in admitted && admitted.office, "lab");
  assertMatch(
    await bench.admit(tokens.access_token, "lab"),
    /another resource/,
  );
});

Deno.test("signIn() shows Computers and the taken seat only after the key", async () => {
  const bench = new SignInBench();
  bench.host.agent = "claude-on-desk";
  const first = await bench.openPage(bench.ask(await bench.register()).path);
  assertEquals(first.text.includes("laptop"), false);
  assertEquals(first.text.includes("claude-on-desk"), false);
  const second = await first.send({ key: "ann-key" });
  assertStringIncludes(second.text, "laptop");
  assertStringIncludes(second.text, "claude-on-desk");
});

Deno.test("sign-in #38: codes are found by their hash, and the store has no code, verifier, key or token", async () => {
  const kept: string[] = [];
  const store = memoryStore();
  const spied: SignInStore = {
    secret: () => store.secret(),
    putCode: (hash, code) => store.putCode(keep(hash), keep(code)),
    takeCode: (hash) => store.takeCode(keep(hash)),
    putGrant: (grant, hash) => store.putGrant(keep(grant), keep(hash)),
    grantOfCode: (hash) => store.grantOfCode(keep(hash)),
    grant: (id) => store.grant(id),
    rotate: (next, from) => store.rotate(keep(next), from),
    touch: (id, at) => store.touch(id, at),
    endGrant: (id) => store.endGrant(id),
    grants: () => store.grants(),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
  function keep<T>(value: T): T {
    kept.push(JSON.stringify(value));
    return value;
  }
  const bench = new SignInBench({ store: spied });
  const client = await bench.register();
  const { path, verifier } = bench.ask(client);
  const to = await bench.visit(path);
  const code = to.searchParams.get("code") ?? "";
  const tokens = await (await bench.redeem(code, verifier, client)).json();
  await bench.renew(tokens);
  const all = kept.join();
  for (
    const secret of [
      code,
      verifier,
      tokens.access_token,
      tokens.refresh_token,
      "ann-key",
    ]
  ) assertEquals(all.includes(secret), false);
  const hash = await sha256(code);
  assertEquals(kept[0], JSON.stringify(hash));
});
