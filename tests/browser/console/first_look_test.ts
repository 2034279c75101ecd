import { assert, assertEquals } from "@std/assert";
import { apiKeys, createSmcpServer } from "../../../server/mod.ts";
import { OFFICE } from "../../support/office.ts";
import { joinRaw } from "../../support/wire/raw_client.ts";
import { go, signIn, startConsole, TOKEN } from "../support/console_office.ts";
import { consoleTest, openTab, type Tab } from "../support/driven.ts";

/** The links of the navigation that are marked as the place where one is. */
const marked = (page: Tab["page"]) =>
  page.getByRole("navigation", { name: "Views" })
    .locator('a[aria-current="page"]').allTextContents();

consoleTest(
  "the navigation marks the view that is shown, on the first page and where there is none",
  async () => {
    await using console = await startConsole();
    await using tab = await console.open();
    const { page } = tab;
    await page.getByRole("link", { name: OFFICE }).waitFor();
    assertEquals(new URL(page.url()).hash, "");
    assertEquals(await marked(page), ["Offices"]);
    await go(page, "#/log");
    await page.getByRole("heading", { name: "Log" }).waitFor();
    assertEquals(await marked(page), ["Log"]);
    await go(page, "#/no/such/view");
    await page.getByRole("link", { name: OFFICE }).waitFor();
    assertEquals(await marked(page), ["Offices"]);
  },
);

consoleTest(
  "an office whose only member is kicked is empty, says what to do, and shows who comes next",
  async () => {
    await using console = await startConsole();
    const { url } = console.office;
    await using guest = await joinRaw(url, "computer", "guest", "attic");
    await using tab = await console.open("#/offices/attic");
    const { page } = tab;
    await page.getByRole("button", { name: "Kick… guest" }).click();
    const dialog = page.getByRole("dialog", { name: /guest/ });
    await dialog.getByLabel(/reason/i).fill("it is the last one");
    await dialog.getByRole("button", { name: "Kick" }).click();
    await page.getByText("guest was kicked").waitFor();
    await guest.disconnected();
    await page.getByRole("heading", { name: "Nobody is in attic now" })
      .waitFor();
    assertEquals(await page.getByRole("alert").count(), 0);
    assertEquals(await page.getByRole("rowheader").count(), 0);
    assertEquals(await page.getByRole("button", { name: /^Kick/ }).count(), 0);

    await using _next = await joinRaw(url, "computer", "next", "attic");
    await page.getByRole("link", { name: "next" }).waitFor();
    assertEquals(
      await page.getByRole("heading", { name: /^Nobody/ }).count(),
      0,
    );
  },
);

consoleTest(
  "the first page shows what is alive: counts, states, calls of the last minutes and the last event",
  async () => {
    await using console = await startConsole();
    const { agent, url } = console.office;
    await using _lathe = await joinRaw(url, "computer", "lathe", "south");
    await using tab = await console.open("#/offices");
    const { page } = tab;
    const tile = (name: string) =>
      page.getByRole("main").locator("dl.tiles > div").filter({
        has: page.getByText(name, { exact: true }),
      });
    await tile("Offices").getByText("2", { exact: true }).waitFor();
    await tile("Members").getByText("3", { exact: true }).waitFor();
    const north = page.getByRole("row", { name: /^north/ });
    await north.getByText("ready").waitFor();
    await page.getByRole("row", { name: /^south/ }).getByText("no Agent")
      .waitFor();
    await north.getByRole("img", { name: "no call in the last 5 minutes" })
      .waitFor();

    await agent.callTool("pc", "fail", {});
    await agent.callTool("pc", "order", { part: "vice", colour: "red" });
    await north.getByRole("img", {
      name: "2 calls in the last 5 minutes, 1 failed",
    }).waitFor();
    await north.getByText(/order of pc: ok/).waitFor();
    const waiting = agent.callTool("pc", "wait", {});
    await north.getByText("busy").waitFor();
    await tile("Calls in flight").getByText("1", { exact: true }).waitFor();
    console.workshop.release();
    await waiting;

    await using _late = await joinRaw(url, "computer", "late", "south");
    await page.getByRole("region", { name: "Latest events" })
      .getByText("late joined").waitFor();
  },
);

consoleTest("a Server without members says how to begin", async () => {
  await using server = createSmcpServer({ operator: { token: TOKEN } });
  const { url } = await server.listen();
  await using tab = await openTab();
  const { page } = tab;
  await signIn(tab, `${url}/console`);
  await page.getByRole("heading", { name: "Nobody is in an office" }).waitFor();
  const commands = await page.getByRole("main").locator("pre").allInnerTexts();
  assertEquals(commands.length, 2);
  for (const command of commands) {
    assert(command.includes(`--url ${url}`), command);
  }
  await go(page, "#/calls");
  await page.getByRole("heading", { name: "No call yet" }).waitFor();
});

consoleTest(
  "a key is revoked where it is seen, and chosen from those that are used",
  async () => {
    const authenticator = apiKeys([
      { id: "ops", key: "key-of-ops", roles: ["operator"] },
      { id: "lab", key: "key-of-lab" },
      { id: "barn", key: "key-of-barn" },
    ]);
    const auth = { api_key: "key-of-lab" };
    await using console = await startConsole({
      server: { authenticator },
      auth,
    });
    await using barn = await joinRaw(
      { url: console.office.url, auth: { api_key: "key-of-barn" } },
      "computer",
      "tractor",
      "south",
    );
    await using tab = await console.open("#/offices");
    const { page } = tab;
    const dialog = page.getByRole("dialog", { name: /Revoke/ });
    await page.getByRole("button", { name: "Revoke a key" }).click();
    const keys = dialog.getByLabel("Key");
    await keys.waitFor();
    assertEquals(await keys.locator("option").allTextContents(), [
      "key:barn · tractor in south",
      "key:lab · pc, planner in north",
      "another one…",
    ]);
    await keys.selectOption("key:barn");
    assert(!await dialog.getByLabel("Principal").isVisible());
    await dialog.getByLabel(/reason/i).fill("it leaked");
    await dialog.getByRole("button", { name: "Revoke", exact: true }).click();
    await page.getByText("key:barn is refused").waitFor();
    await barn.disconnected();

    await go(page, `#/offices/${OFFICE}`);
    const ended = new Promise((resolve) =>
      console.office.agent.on("disconnected", resolve)
    );
    await page.getByRole("button", { name: "Revoke key:lab… planner" }).click();
    await dialog.getByText("key:lab").first().waitFor();
    await dialog.getByLabel(/reason/i).fill("it leaked as well");
    await dialog.getByRole("button", { name: "Revoke", exact: true }).click();
    await page.getByText("key:lab is refused").waitFor();
    await ended;
  },
);
