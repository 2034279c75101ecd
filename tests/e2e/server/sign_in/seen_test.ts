import { assertEquals, assertMatch } from "@std/assert";
import { SignInBench } from "../../../support/server/sign_in.ts";

Deno.test("a grant has an id that no command line takes for an option, and ends by it", async () => {
  const bench = new SignInBench();
  const tokens = await bench.enter();
  const [grant] = await bench.signIn.grants();
  assertMatch(grant?.id ?? "", /^[0-9a-f]{20}$/);
  assertEquals(await bench.admit(tokens.access_token, "home"), "key:ann");
  const [ended, more] = await bench.signIn.end(
    { by: "key:ops", reason: "it is lost" },
    ({ id }) => id === grant?.id,
  );
  assertEquals([ended?.id, more], [grant?.id, undefined]);
  assertEquals(
    await bench.admit(tokens.access_token, "home"),
    "the grant has ended",
  );
  assertEquals(bench.host.events, ["sign_in_allowed", "grant_ended"]);
  assertEquals(await bench.signIn.grants(), []);
});
