/** What a node of a cluster does about a key that it does not have yet: others have reloaded theirs. */
import { assertEquals } from "@std/assert";
import { memoryStore } from "../../../../server/sign_in/memory_store.ts";
import { SignInBench, type TestHost } from "../../../support/server/sign_in.ts";

/** Two nodes with one store, as Redis is, of which the second has the keys of before. */
function nodes(): readonly [SignInBench, SignInBench] {
  const store = Object.assign(memoryStore(), { onEnded() {} });
  return [new SignInBench({ store }), new SignInBench({ store })];
}

const NEW_KEY = { id: "new", key: "new-key", roles: ["agent" as const] };

const withNew = ({ keys }: TestHost) => [...keys, NEW_KEY];

Deno.test("sign-in #33: a node that has not reloaded its keys refuses the grant of a new key, and does not end it", async () => {
  const [reloaded, stale] = nodes();
  reloaded.host.keys = withNew(reloaded.host);
  const tokens = await reloaded.enter({ key: NEW_KEY.key });
  const { access_token: token } = tokens;
  const unknown =
    "the key behind the grant cannot be used at this Server; if it is new, reload the keys here";
  assertEquals(await stale.admit(token, "home"), unknown);
  assertEquals((await stale.renew(tokens)).status, 400);
  // Operators see it there, and can end it.
  const seen = await stale.signIn.grants();
  assertEquals(seen.map(({ principal }) => principal), ["key:new"]);
  assertEquals(stale.host.events, ["sign_in_refused"]);
  assertEquals(await reloaded.admit(token, "home"), "key:new");
  stale.host.keys = withNew(stale.host);
  assertEquals(await stale.admit(token, "home"), "key:new");
});

Deno.test("sign-in #33: a node that has not reloaded the rights of a key refuses its grant, and does not end it", async () => {
  const [reloaded, stale] = nodes();
  const widen = ({ host }: SignInBench) =>
    host.keys = host.keys.map((key) =>
      key.id === "team" ? { ...key, offices: ["team-*", "home"] } : key
    );
  widen(reloaded);
  const { access_token: token } = await reloaded.enter({ key: "team-key" });
  await stale.admit(token, "home");
  assertEquals(await reloaded.admit(token, "home"), "key:team");
  widen(stale);
  assertEquals(await stale.admit(token, "home"), "key:team");
});

Deno.test("sign-in #33: a node of a cluster ends the grants of a key that it had and has no more", async () => {
  const [first, second] = nodes();
  const { access_token: token } = await first.enter();
  assertEquals(await first.admit(token, "home"), "key:ann");
  first.host.keys = [];
  assertEquals(await first.admit(token, "home"), "the grant has ended");
  assertEquals(first.host.events.at(-1), "grant_ended");
  assertEquals(await second.admit(token, "home"), "the grant has ended");
});
