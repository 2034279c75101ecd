/** The pages of the sign-in in a real browser, which enforces what a scripted one does not. */
import { assertEquals, assertMatch } from "@std/assert";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { GATEWAY_KEYS } from "../support/mcp/gateway.ts";
import { SignedInServer } from "../support/server/signed_in_server.ts";
import { consoleTest, DESK, openTab, type Tab } from "./support/driven.ts";
import { seriousFindings, tooWide } from "./support/looking.ts";

/** A website that begins a sign-in, and redirects its answer to another origin, as claude.ai does to its app. */
class Website implements AsyncDisposable {
  /** Where the person is sent. */
  page = "";
  readonly #server = createServer((request, response) => {
    const { pathname, search } = new URL(`${this.origin}${request.url}`);
    if (pathname === "/callback") {
      const location = `http://127.0.0.1:${this.#port}/done${search}`;
      return void response.writeHead(302, { location }).end();
    }
    response.setHeader("content-type", "text/html");
    response.end(
      pathname === "/begin"
        ? `<a id="go" href="${this.page.replaceAll("&", "&amp;")}">Connect</a>`
        : "<p>done</p>",
    );
  });

  static async start(): Promise<Website> {
    const site = new Website();
    site.#server.listen(0, "127.0.0.1");
    await once(site.#server, "listening");
    return site;
  }

  get #port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Of another site than the Server, which is at 127.0.0.1. */
  get origin(): string {
    return `http://localhost:${this.#port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, "close");
  }
}

/** Brings the person from the website to the first page. */
async function arrive(
  server: SignedInServer,
  site: Website,
  tab: Tab,
  over = {},
) {
  const client = await server.register(`${site.origin}/callback`, "Claude");
  const { path, verifier } = server.ask(client, {
    resource: `${server.issuer}/mcp/north`,
    ...over,
  });
  site.page = server.url + path;
  await tab.page.goto(`${site.origin}/begin`);
  await tab.page.click("#go");
  await tab.page.waitForURL(/\/authorize\?/);
  return { client, verifier };
}

consoleTest(
  "a person comes from a website, types a key, chooses Computers, and returns with a code",
  async () => {
    await using server = await SignedInServer.start();
    await using site = await Website.start();
    await using tab = await openTab();
    const { page } = tab;
    const { client, verifier } = await arrive(server, site, tab);
    assertMatch(await page.title(), /^Let a program use the office north\?$/);
    await page.fill("#key", "wrong");
    await page.click("button.go");
    await page.waitForSelector("[role=alert]");
    await page.fill("#key", GATEWAY_KEYS.ann);
    await page.click("button.go");
    await page.waitForSelector("input[name=computer]");
    assertEquals(await page.isChecked("input[name=computer]"), true);
    assertEquals(await page.isChecked("input[name=later]"), false);
    await page.click("button.go");
    await page.waitForURL(/\/done/);
    const { searchParams } = new URL(page.url());
    assertEquals(searchParams.get("iss"), server.url);
    const code = searchParams.get("code") ?? "";
    const answer = await server.redeem(code, verifier, client);
    assertEquals(answer.status, 200, await answer.text());
    const sent = tab.requests.filter(({ url }) => url.startsWith(site.origin));
    for (const { headers } of sent) {
      assertEquals(headers.referer?.includes("/authorize") ?? false, false);
    }
  },
);

consoleTest(
  "a person cancels, and the program gets access_denied",
  async () => {
    await using server = await SignedInServer.start();
    await using site = await Website.start();
    await using tab = await openTab();
    await arrive(server, site, tab);
    await tab.page.click("button:not(.go)");
    await tab.page.waitForURL(/\/done/);
    const { searchParams } = new URL(tab.page.url());
    assertEquals(searchParams.get("error"), "access_denied");
  },
);

consoleTest(
  "the person names the office where the URL does not, and the Enter key goes on",
  async () => {
    await using server = await SignedInServer.start();
    await using site = await Website.start();
    await using tab = await openTab();
    const { page } = tab;
    await arrive(server, site, tab, { resource: `${server.issuer}/mcp` });
    await page.fill("#office", "north");
    await page.fill("#key", GATEWAY_KEYS.ann);
    await page.press("#key", "Enter");
    await page.waitForSelector("input[name=computer]");
    await page.press("input[name=later]", "Space");
    await page.press("input[name=later]", "Enter");
    await page.waitForURL(/\/done\?.*code=/);
  },
);

const PHONE = { width: 390, height: 844 };

for (const size of [PHONE, DESK]) {
  for (const scheme of ["light", "dark"] as const) {
    consoleTest(
      `the pages can be used by all at ${size.width} pixels, ${scheme}`,
      async () => {
        await using server = await SignedInServer.start();
        await using site = await Website.start();
        await using tab = await openTab({ size, scheme });
        const { page } = tab;
        const findings: string[] = [];
        const look = async (name: string) => {
          findings.push(...await seriousFindings(page), ...await tooWide(page));
          const folder = Deno.env.get("SMCP_CONSENT_SHOTS");
          if (folder === undefined) return;
          const path = `${folder}/${name}-${scheme}-${size.width}.png`;
          await page.screenshot({ path, fullPage: true });
        };
        await arrive(server, site, tab);
        await look("first");
        await page.fill("#key", "wrong");
        await page.click("button.go");
        await page.waitForSelector("[role=alert]");
        await look("wrong");
        await page.fill("#key", GATEWAY_KEYS.ann);
        await page.click("button.go");
        await page.waitForSelector("input[name=computer]");
        await look("choice");
        await page.goto(`${server.url}/authorize?client_id=x`);
        await look("refused");
        assertEquals(findings, []);
      },
    );
  }
}
