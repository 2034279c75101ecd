/** The page as a folder, served from another origin than the Server's. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { consoleTest, openTab } from "../support/driven.ts";
import {
  NARROW,
  openPairing,
  pairTab,
  startApproving,
  tap,
} from "../support/approving.ts";
import { approveFolder } from "../../../console/approve.ts";

const TYPES: Readonly<Record<string, string>> = {
  html: "text/html",
  css: "text/css",
  js: "text/javascript",
  svg: "image/svg+xml",
};

/** A static host, which adds no headers, and the page of a folder at `/site/`. */
function host(files: Readonly<Record<string, string>>) {
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    (request) => {
      const path = new URL(request.url).pathname.replace(/\/$/, "/index.html");
      if (path === "/frame.html") {
        return new Response(`<iframe src="/site/"></iframe>`, {
          headers: { "Content-Type": "text/html" },
        });
      }
      const text = files[path.replace("/site/", "")];
      const type = TYPES[path.split(".").at(-1) ?? ""] ?? "text/plain";
      return new Response(text ?? "none", {
        status: text === undefined ? 404 : 200,
        headers: { "Content-Type": type },
      });
    },
  );
  return {
    // Of another site than the relay, which is at 127.0.0.1.
    origin: `http://localhost:${server.addr.port}`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

consoleTest(
  "a page from another origin pairs and answers, and reaches the one Server alone",
  async () => {
    await using approving = await startApproving();
    const { url } = approving.relay;
    await using site = host(approveFolder(url));
    await using tab = await openTab({
      size: NARROW,
      expected: /Content Security Policy|Failed to load|Fetch API cannot load/,
    });
    const { page } = tab;
    const folder = `${site.origin}/site/`;
    const pairing = await approving.approvals.pair({
      page: folder,
      url,
      office: "north",
      computer: "laptop",
    });
    await pairTab(page, pairing);
    await page.getByText("Nothing to decide").waitFor();
    assertEquals(page.url(), folder);
    const asked = approving.ask();
    await tap(page, /^Yes, this once$/);
    assertEquals((await asked.answer).answer, "once");
    const elsewhere = [site.origin, `${url}/approve`, "https://example.com"];
    for (const address of elsewhere) {
      assertMatch(
        await page.evaluate(
          `fetch(${JSON.stringify(address)}).then(() => "sent", String)`,
        ),
        /TypeError/,
      );
    }
    await page.goto(`${site.origin}/frame.html`);
    const text = await page.frameLocator("iframe").locator("body").innerText();
    assertStringIncludes(text, "does not work in a frame");
  },
);

consoleTest("a page for one Server refuses the link of another", async () => {
  await using approving = await startApproving();
  await using site = host(approveFolder("https://smcp.example"));
  await using tab = await openTab({ size: NARROW });
  const { page } = tab;
  const { link } = await openPairing(approving.approvals, approving.page);
  await page.goto(`${site.origin}/site/${link.slice(link.indexOf("#"))}`);
  await page.getByText(/This page is for https:\/\/smcp\.example/).waitFor();
  assertEquals(page.url(), `${site.origin}/site/`);
  assertEquals(approving.relay.requests.size, 0);
});
