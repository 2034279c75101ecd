import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { SignInBench, type TestPage } from "../../../support/server/sign_in.ts";
import { CLIENT_ID, CLIENT_SECRET, TestProvider } from "../../../support/server/oidc_provider.ts";

const CALLBACK = "https://smcp.example/authorize/callback";

class Setup {
  constructor(readonly provider: TestProvider, readonly bench: SignInBench) {}
}

Deno.test("x", async () => {
  await using provider = await TestProvider.start(CALLBACK);
  const bench = new SignInBench({ provider: { issuer: provider.issuer, clientId: CLIENT_ID, clientSecret: CLIENT_SECRET } });
  const client = await bench.register();
  const page = await bench.openPage(bench.ask(client).path);
  const second = await page.send();
  const to = second.leads;
  console.log(String(to).length);
  const back = await provider.logIn(to, "ann");
  const answer = await bench.request(back.pathname + back.search, { headers: { cookie: page.cookie } });
  Deno.writeTextFileSync("/tmp/out.html", await answer.text() + JSON.stringify(bench.host.audit));
});
