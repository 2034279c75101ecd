/** Sign-in by a provider in a real browser, which holds back cookies and forms that a scripted one sends. */
import { assert, assertEquals } from "@std/assert";
import {
  CLIENT_ID,
  CLIENT_SECRET,
  TestProvider,
} from "../support/server/oidc_provider.ts";
import { SignedInServer } from "../support/server/signed_in_server.ts";
import { consoleTest, openTab } from "./support/driven.ts";

consoleTest(
  "a person logs in at a provider of another site, comes back with the page's cookie, and lets a program in",
  async () => {
    // A native client's port is any (RFC 8252).
    await using provider = await TestProvider.start(
      "http://127.0.0.1/authorize/callback",
    );
    await using server = await SignedInServer.start({
      signIn: {
        provider: {
          issuer: provider.issuer,
          clientId: CLIENT_ID,
          clientSecret: CLIENT_SECRET,
        },
      },
    });
    await using tab = await openTab();
    const { page } = tab;
    const client = await server.register("http://127.0.0.1:1/callback", "Site");
    const resource = `${server.issuer}/mcp/north`;
    const { path, verifier } = server.ask(client, { resource });
    await page.goto(server.url + path);
    await page.getByRole("button", { name: /^Continue with localhost/ })
      .click();
    await page.locator("input[name=login]").fill("cem");
    await page.locator("input[name=password]").fill("any");
    await page.locator("button[type=submit]").click();
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("heading", { name: /^What may “Site” use/ }).waitFor();
    assert(await page.getByLabel("pc", { exact: true }).isChecked());
    const left = page.waitForRequest(/127\.0\.0\.1:1\/callback/);
    await page.getByRole("button", { name: "Allow" }).click();
    const { searchParams } = new URL((await left).url());
    const code = searchParams.get("code") ?? "";
    const answer = await server.redeem(code, verifier, client);
    assertEquals((await answer.json()).scope, "office");
  },
);
