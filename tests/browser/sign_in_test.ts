/**
 * Sign-in in a real browser, whose rules no request of a test's own has: which origin a form names, which
 * cookies come along, and how far the policy of a page reaches.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { GATEWAY_KEYS } from "../support/mcp/gateway.ts";
import { INITIALIZE, post } from "../support/mcp/post.ts";
import type { TestClient } from "../support/server/sign_in.ts";
import { bearer, SignedInServer } from "../support/server/signed_in_server.ts";
import { consoleTest, openTab, type Tab } from "./support/driven.ts";

/** A program on a site of its own, which sends people to the page and takes the answer. */
interface Program extends AsyncDisposable {
  readonly client: TestClient;
  /** Opens the page by a link of the site; the request's secret. */
  begin(tab: Tab): Promise<string>;
  /** Resolves with what the answer was, once the browser is where the site sends it. */
  answered(tab: Tab): Promise<URLSearchParams>;
}

/** Its callback leads on to another origin, as that of claude.ai leads to an app. */
async function startProgram(server: SignedInServer): Promise<Program> {
  let page = "";
  const site = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    (request) => {
      const { pathname, search, port } = new URL(request.url);
      if (pathname === "/callback") {
        const landed = `http://localhost:${port}/landed${search}`;
        return new Response(null, {
          status: 302,
          headers: { location: landed },
        });
      }
      const body = pathname === "/" ? `<a href="${page}">Connect</a>` : "";
      return new Response(
        `<!doctype html><title>${pathname}</title><link rel="icon" href="data:,">${body}`,
        { headers: { "content-type": "text/html" } },
      );
    },
  );
  const origin = `http://127.0.0.1:${site.addr.port}`;
  const client = await server.register(`${origin}/callback`, "Site");
  return {
    client,
    async begin({ page: shown }) {
      const asked = server.ask(client, {
        resource: `${server.issuer}/mcp/north`,
      });
      page = (server.url + asked.path).replaceAll("&", "&amp;");
      // A site of another name, so that nothing of the Server's is sent along.
      await shown.goto(`http://localhost:${site.addr.port}/`);
      await shown.getByRole("link", { name: "Connect" }).click();
      await shown.getByRole("heading", { name: /Let “Site” use/ }).waitFor();
      return asked.verifier;
    },
    async answered({ page: shown }) {
      await shown.waitForURL(/\/landed\?/);
      return new URL(shown.url()).searchParams;
    },
    [Symbol.asyncDispose]: () => site.shutdown(),
  };
}

consoleTest(
  "a person signs a program in: the form is taken, and the browser gets through to where the program's site sends it",
  async () => {
    await using server = await SignedInServer.start();
    await using program = await startProgram(server);
    await using tab = await openTab();
    const { page } = tab;
    const verifier = await program.begin(tab);

    const key = page.getByLabel("Your key for this Server");
    await key.fill("no such key");
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("alert").waitFor();
    await key.fill(GATEWAY_KEYS.ann);
    await key.press("Enter");
    await page.getByRole("heading", { name: /^What may “Site” use/ }).waitFor();
    assert(await page.getByLabel("pc", { exact: true }).isChecked());
    await page.getByRole("button", { name: "Allow" }).click();

    const answer = await program.answered(tab);
    assertEquals(answer.get("iss"), server.issuer);
    const code = answer.get("code") ?? "";
    const redeemed = await server.redeem(code, verifier, program.client);
    assertEquals(redeemed.status, 200);
    const { access_token } = await redeemed.json();
    const opened = await post(`${server.url}/mcp/north`, {
      headers: bearer(access_token),
      body: INITIALIZE,
    });
    assertEquals(opened.status, 200);

    const forms = tab.requests.filter(({ url, headers }) =>
      url === `${server.url}/authorize` && "origin" in headers
    );
    assertEquals(
      forms.map(({ headers }) => headers.origin),
      Array(3).fill(server.issuer),
    );
    // Both hops have the address of the last one.
    const left = tab.requests.filter(({ url }) => url.includes("/landed?"));
    assertEquals(
      left.map(({ headers }) => [headers.referer, headers.cookie]),
      [[undefined, undefined], [undefined, undefined]],
    );
  },
);

consoleTest(
  "who cancels goes back to the program with the reason, from the first page and from the second",
  async () => {
    await using server = await SignedInServer.start();
    await using program = await startProgram(server);
    for (const isSecond of [false, true]) {
      await using tab = await openTab();
      const { page } = tab;
      await program.begin(tab);
      if (isSecond) {
        const key = page.getByLabel("Your key for this Server");
        await key.fill(GATEWAY_KEYS.ann);
        await key.press("Enter");
        await page.getByRole("heading", { name: /^What may/ }).waitFor();
      }
      await page.getByRole("button", { name: "Cancel" }).click();
      const answer = await program.answered(tab);
      assertEquals(answer.get("error"), "access_denied");
      assertEquals(answer.get("iss"), server.issuer);
    }
  },
);
