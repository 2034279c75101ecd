import type { Page } from "playwright-core";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { apiKeys, createSmcpServer } from "../../../server/mod.ts";
import { go, startConsole, TOKEN } from "../support/console_office.ts";
import { consoleTest, inTime, openTab } from "../support/driven.ts";
import { captureLog } from "../../support/log_capture.ts";
import { operate } from "../../support/server/operator_client.ts";
import { startServerCommand } from "../../support/server/server_command.ts";
import { joinRaw } from "../../support/wire/raw_client.ts";

const KEY = "the-key-of-an-operator";

/** What every attempt may end in: nothing that can be read. */
const NOTHING: Gained[] = [
  ["blind", "opaque 0"],
  ["plain", "TypeError"],
  ["as JSON", "TypeError"],
  ["blind as JSON", "opaque 0"],
  ["beacon", "true"],
  ["image", "failed"],
  ["form of text/plain", "unreadable"],
  ["form of application/x-www-form-urlencoded", "unreadable"],
  ["form of multipart/form-data", "unreadable"],
];

consoleTest(
  "no page of another origin changes anything, not even with a token",
  async () => {
    using log = captureLog();
    await using server = createSmcpServer({
      origins: "*", // which says who may join, not who may operate
      authenticator: apiKeys([
        { id: "ops", key: KEY, roles: ["operator"] },
        { id: "lab", key: "key-of-lab" },
      ]),
    });
    const { url } = await server.listen();
    await using computer = await joinRaw(
      { url, auth: { api_key: "key-of-lab" } },
      "computer",
      "pc",
      "north",
    );
    await using agent = await joinRaw(
      { url, auth: { api_key: "key-of-lab" } },
      "agent",
      "planner",
      "north",
    );
    const called = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<unknown>();
    computer.handle("client:tool_call", (_payload, ack) => {
      called.resolve();
      void answer.promise.then(ack);
    });
    const pending = agent.ask("client:tool_call", {
      agent: "planner",
      req_id: "r1",
      computer: "pc",
      tool_name: "wait",
      params: {},
      timeout: 100,
    });
    await inTime("the call", called.promise);
    const reason = "because";
    const changes: readonly [path: string, body: object][] = [
      [`/members/${computer.socket.id}/kick`, { reason }],
      ["/offices/north/calls/cancel", { reason, req_id: "r1" }],
      ["/keys/revoke", { reason, principal: "key:lab" }],
      ["/offices/north/computers/pc/call", { tool_name: "wait", params: {} }],
    ];
    await using site = startOtherSite();
    await using tab = await openTab({
      expected: /^Failed to load|blocked by CORS policy/,
    });
    for (const origin of [site.crossSite, site.sameSite]) {
      await tab.page.goto(origin);
      for (const [path, body] of changes) {
        assertEquals(
          await attack(tab.page, {
            url: `${url}/operator/v1${path}`,
            body: JSON.stringify(body),
            token: KEY,
          }),
          NOTHING,
          `${origin} ${path}`,
        );
      }
    }
    assert(computer.socket.connected && agent.socket.connected);
    const { body: { calls } } = await operate(
      url,
      "/offices/north/calls",
      { token: KEY },
    );
    assertEquals(calls.map(({ req_id }: { req_id: string }) => req_id), ["r1"]);
    const changed = ["member_kicked", "call_cancelled", "key_revoked"];
    assertEquals(
      log.audit.filter(({ event }) => changed.includes(String(event))),
      [],
    );
    assert(!log.text.includes(KEY), "the token is in the log");
    answer.resolve({ content: [] });
    await pending;
  },
);

consoleTest(
  "no page of another origin shows the console in a frame, nor holds its window",
  async () => {
    await using console = await startConsole();
    await using site = startOtherSite();
    await using tab = await openTab({
      expected: /frame-ancestors|Failed to load/,
    });
    const { page } = tab;
    for (const origin of [site.crossSite, site.sameSite]) {
      await page.goto(origin);
      const url = `${console.console}#token=${TOKEN}`;
      await page.evaluate(`{
        const frame = document.createElement("iframe");
        frame.onload = () => globalThis.loaded = frame;
        frame.src = ${JSON.stringify(url)};
        document.body.append(frame);
      }`);
      await page.waitForFunction("globalThis.loaded");
      assertEquals(await page.evaluate("loaded.contentDocument"), null);
      const [, inside] = page.frames();
      assertEquals(await inside?.getByRole("navigation").count(), 0);
      const [opened] = await Promise.all([
        page.context().waitForEvent("page"),
        page.evaluate(`void (globalThis.other = open(${JSON.stringify(url)}))`),
      ]);
      await page.waitForFunction("other.closed"); // it has lost it
      await opened.getByRole("navigation").first().waitFor(); // it is there, for its user
      await opened.close();
    }
  },
);

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
    await signedIn.waitFor(); // the tab still has it
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

const SCRIPT = await Deno.readTextFile(
  new URL("../support/other_site.js", import.meta.url),
);
const HTML = `<!doctype html><title>Other</title><script>${SCRIPT}</script>`;

/** A site of others, whose page tries what it can. */
interface OtherSite extends AsyncDisposable {
  /** Its page under the name `localhost`: another site than that of an address. */
  readonly crossSite: string;
  /** Its page under an address: the same site, another origin. */
  readonly sameSite: string;
}

/** Serves a page without content and without rules. */
function startOtherSite(): OtherSite {
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    () => new Response(HTML, { headers: { "Content-Type": "text/html" } }),
  );
  const { port } = server.addr;
  return {
    crossSite: `http://localhost:${port}/`,
    sameSite: `http://127.0.0.1:${port}/`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** A change that a page of others wants. */
interface Wanted {
  /** The URL of the operation. */
  readonly url: string;
  /** Its body. */
  readonly body: string;
  /** A token that was stolen. */
  readonly token?: string;
}

/** What came of it: an answer that the page read, or why not. */
type Gained = readonly [way: string, result: string];

/** Lets a page of the site try to make the browser send a change. */
const attack = (page: Page, wanted: Wanted): Promise<Gained[]> =>
  inTime(
    "the end of an attack",
    page.evaluate(`attack(${JSON.stringify(wanted)})`),
  );
