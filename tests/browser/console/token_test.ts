import { assert, assertEquals, assertMatch } from "@std/assert";
import { found } from "../../support/cluster/programs.ts";
import { startServerCommand } from "../../support/server/server_command.ts";
import { go } from "../support/console_office.ts";
import { consoleTest, openTab, type Request } from "../support/driven.ts";

/** What a page can keep beyond its tab, or show to others. */
const KEPT = `(async () => JSON.stringify([
  { ...localStorage },
  document.cookie,
  document.title,
  window.name,
  await indexedDB.databases(),
  await caches.keys(),
  history.state,
]))()`;

const ROUTES = ["#/offices", "#/offices/north"];

const carries = (token: string) => ({ headers }: Request): boolean =>
  JSON.stringify(headers).includes(token);

consoleTest(
  "the token of the printed link is in no log, no address, no Referer, and nothing that outlives the tab",
  async () => {
    await using server = await startServerCommand(
      ["--port", "0", "--log-level", "debug"],
    );
    const printed = await server.printed("#token=");
    const [token = ""] = /^\w+/.exec(printed) ?? [];
    assertMatch(token, /^[0-9a-f]{64}$/);
    await using tab = await openTab();
    const { page } = tab;
    await page.goto(`${server.url}/console#token=${token}`);
    const signedIn = page.getByRole("navigation").first();
    await signedIn.waitFor();
    for (const route of ROUTES) {
      await go(page, route);
      await page.getByRole("main").getByRole("heading").first().waitFor();
      assert(!page.url().includes(token), `${route}: it is in the address`);
      assert(!(await page.content()).includes(token), `${route}: it is shown`);
    }
    await page.reload();
    await signedIn.waitFor(); // the tab still knows it
    // The link again, in a tab that shows the page already.
    await page.goto(`${server.url}/console#token=${token}`);
    await page.waitForURL((url) => !url.href.includes(token));
    await signedIn.waitFor();
    const kept = String(await page.evaluate(KEPT));
    assert(!kept.includes(token), kept);
    const storage = await page.context().storageState({ indexedDB: true });
    assertEquals(storage, { cookies: [], origins: [] });

    // The page asks all the while, and a request's headers may be told before its URL.
    const withToken = await found(
      () => Promise.resolve(tab.requests.filter(carries(token))),
      (sent) => sent.length > 0 && sent.every(({ url }) => url !== ""),
    );
    for (const { url, headers } of tab.requests) {
      if (url !== "") assertEquals(new URL(url).origin, server.url);
      assert(!url.includes(token), "it is in a URL");
      assertEquals(headers.referer, undefined);
      assertEquals(headers.cookie, undefined);
    }
    for (const { url, headers } of withToken) {
      assertMatch(url, /\/operator\/v1\//);
      assertEquals(headers.authorization, `Bearer ${token}`);
    }

    // Another tab of the same browser is not signed in.
    const other = await page.context().newPage();
    await other.goto(`${server.url}/console`);
    await other.getByLabel(/token/i).waitFor();

    for (let back = 0; back < 10; back++) {
      await page.goBack();
      assert(!page.url().includes(token), "it is in the history");
    }
    server.kill("SIGTERM");
    await server.exited;
    assert(!server.log.includes(token), "it is in the log");
    assertEquals(
      server.out.split("\n").filter((line) => line.includes(token)).length,
      2, // the link, and for programs
    );
  },
);
