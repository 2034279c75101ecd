import { assert, assertEquals, assertMatch } from "@std/assert";
import { startServerCommand } from "../../support/server/server_command.ts";
import { go } from "../support/console_office.ts";
import { consoleTest, openTab } from "../support/driven.ts";

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

    const { requests } = tab;
    for (const { url, headers } of requests) {
      if (url !== "") assertEquals(new URL(url).origin, server.url);
      assert(!url.includes(token), "it is in a URL");
      assertEquals(headers.referer, undefined);
      assertEquals(headers.cookie, undefined);
    }
    const withToken = requests.filter(({ headers }) =>
      JSON.stringify(headers).includes(token)
    );
    for (const { url, headers } of withToken) {
      // Of a request that is on its way, or ended with its page, only the headers may be told.
      if (url !== "") assertMatch(url, /\/operator\/v1\//);
      assertEquals(headers.host, new URL(server.url).host);
      assertEquals(headers.authorization, `Bearer ${token}`);
    }
    assert(withToken.some(({ url }) => url !== ""));

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
