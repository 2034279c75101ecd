import { assert, assertEquals } from "@std/assert";
import { PROFILES } from "../../../protocol/mod.ts";
import type { Peer } from "../../../server/office/peer.ts";
import { Payload } from "../../../server/shared/payload.ts";
import {
  type ConsoleOffice,
  go,
  startConsole,
} from "../support/console_office.ts";
import { consoleTest, PHONE } from "../support/driven.ts";
import { tooWide } from "../support/looking.ts";
import { assertResponsive } from "../support/page_work.ts";
import { plainText } from "../../../shared/shown_text.ts";
import { OFFICE } from "../../support/office.ts";
import { clusterOf } from "../../support/server/slow_cluster.ts";
import { joinRaw } from "../../support/wire/raw_client.ts";

const MARKUP = [
  '<script>globalThis.pwned="script"</script>',
  '<img src=x onerror="globalThis.pwned=1">',
  '"><svg onload="globalThis.pwned=2">',
  "javascript:globalThis.pwned=3",
  "\u202Eright to left",
  "{{constructor.constructor('pwned=4')()}}",
  "__proto__",
  "a\u0000b\u0007c",
  "../../../etc",
  "%2e%2e%2f?tool=x#y",
  "n".repeat(200),
];

consoleTest("names stay names, whatever they spell", async () => {
  await using console = await startConsole();
  const { url } = console.office;
  await using clients = new AsyncDisposableStack();
  const taken: string[] = [];
  for (const name of MARKUP) {
    try {
      clients.use(await joinRaw(url, "computer", name, OFFICE));
      clients.use(await joinRaw(url, "agent", name, name));
      taken.push(name);
    } catch { // the Server does not take it
    }
  }
  assert(taken.length >= 6, `only ${taken.length}`);
  await using tab = await console.open("#/offices");
  const { page } = tab;
  const shown = taken.map((name) => plainText(name));
  for (const name of shown) {
    const link = page.getByRole("link", { name, exact: true });
    await link.click();
    await page.getByRole("heading", { level: 1 }).getByText(name).waitFor();
    assertEquals(await page.title(), `${name} · A2C-SMCP`);
    await page.goBack();
  }
  await page.getByRole("link", { name: OFFICE, exact: true }).click();
  await page.getByText(taken[0] ?? "").first().waitFor();
  assertEquals(await tooWide(page), []);
  await page.setViewportSize(PHONE);
  assertEquals(await tooWide(page), []);
  const names = await page.getByRole("rowheader").allTextContents();
  assertEquals(shown.filter((name) => !names.includes(name)), []);
  assertEquals(await page.evaluate("globalThis.pwned"), undefined);
  assertEquals(
    await page.evaluate("document.querySelectorAll('script, img').length"),
    1, // its own
  );
});

consoleTest(
  "results stay text, and a large one leaves the page responsive",
  async () => {
    await using console = await startConsole({
      server: { auditPayloads: true },
      texts: { markup: MARKUP.join("\n"), much: "much ".repeat(200_000) },
    });
    const { agent } = console.office;
    await using tab = await console.open("#/calls");
    const { page } = tab;
    await assertResponsive(page, async () => {
      await go(page, "#/calls");
      await agent.callTool("pc", "say", { what: "markup" });
      await page.getByRole("link", { name: "say" }).first().click();
      const result = page.getByRole("region", { name: "Result" });
      await result.getByText("<img src=x onerror=").waitFor();
      for (const text of ["<script>", "javascript:", "⟨U+202E⟩"]) {
        assert((await result.innerText()).includes(text), text);
      }
      await go(page, "#/calls");
      await agent.callTool("pc", "say", { what: "much" });
      await page.getByRole("row", { name: /1\.0 MB/ })
        .getByRole("link", { name: "say" }).first().click();
      await page.getByText(/^Not shown/).waitFor(); // it is more than 16 KiB
      await go(page, "#/log");
      await page.getByText("<script>").first().waitFor();
    });
    assertEquals(await page.evaluate("globalThis.pwned"), undefined);
    assertEquals(
      await page.evaluate("document.querySelectorAll('script, img').length"),
      1, // its own
    );
    assertEquals(await tooWide(page), []);
  },
);

consoleTest("3,000 members leave the page responsive", async () => {
  const cluster = clusterOf((local) => {
    for (let i = 0; i < 3_000; i++) {
      const wanted = { role: "computer", name: `computer-${i}` } as const;
      local.join(quietPeer(i), { ...wanted, office: OFFICE });
    }
    return local;
  });
  await using console = await startConsole({
    server: { cluster, limits: false },
  });
  await using tab = await console.open("#/offices");
  const { page } = tab;
  await assertResponsive(page, async () => {
    await go(page, "#/offices");
    await page.getByRole("link", { name: OFFICE }).click();
    await page.getByText(/3002 members/).waitFor();
    await page.getByLabel("Filter").pressSequentially("computer-2999");
    await page.getByRole("link", { name: "computer-2999" }).waitFor();
    await page.getByLabel("Filter").fill("");
    await page.getByText(/3002 members/).waitFor();
    await using _late = await joinRaw(
      console.office.url,
      "computer",
      "a-late-one",
      OFFICE,
    );
    await page.getByText(/3003 members/).waitFor();
  });
  assertEquals(await page.locator("tbody tr").count(), 200);
});

/** A member that answers nothing but errors. */
const quietPeer = (i: number): Peer => ({
  id: `socket-${i}`,
  profile: PROFILES["0.2"],
  version: "0.2.0",
  instance: undefined,
  identity: undefined,
  address: "127.0.0.1",
  send: () => {},
  ask: (_event, _payload, answered) => {
    const none = { code: 404, message: "nobody is there" };
    queueMicrotask(() => answered(Payload.of(none)));
    return () => {};
  },
  end: () => {},
});

/** The pages that calls change. */
const ROUTES = [
  "#/offices",
  `#/offices/${OFFICE}`,
  `#/offices/${OFFICE}/calls`,
  "#/calls",
  "#/status",
  "#/log",
];

consoleTest("2,000 calls a second leave every page responsive", async () => {
  await using console = await startConsole({ server: { limits: false } });
  await using tab = await console.open("#/offices");
  const { page } = tab;
  for (const route of ROUTES) {
    await go(page, route);
    await assertResponsive(page, () => flood(console));
  }
});

/** The calls that begin together, and those of a second. */
const BATCH = 100;
const RATE = 2000;

/** Makes 4,000 calls of the Computer "echo", which answers immediately, in two seconds if the machine can keep up. */
async function flood({ office }: ConsoleOffice): Promise<void> {
  const result = { content: [{ type: "text", text: "yes" }] };
  const echo = await office.addScriptedComputer("echo", () => result);
  const began = performance.now();
  const calls: Promise<unknown>[] = [];
  while (calls.length < 2 * RATE) {
    const due = began + calls.length * 1000 / RATE;
    const early = due - performance.now();
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, early)));
    for (let i = 0; i < BATCH; i++) {
      calls.push(office.agent.callTool("echo", "echo", { number: i }));
    }
  }
  await Promise.all(calls);
  await echo.close();
}
