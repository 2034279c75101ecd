import { assert, assertEquals } from "@std/assert";
import type { Page } from "playwright-core";
import { OFFICE } from "../../support/office.ts";
import { joinRaw } from "../../support/wire/raw_client.ts";
import { startConsole, TOKEN } from "../support/console_office.ts";
import { consoleTest, openTab } from "../support/driven.ts";

/** The most steps between two elements of a page. */
const MAX_STEPS = 60;

/** What has the focus: its name or text, and whether one can see that. */
const FOCUSED = `(() => {
  const element = document.activeElement;
  if (!element || element === document.body) return { name: "", visible: true };
  const style = getComputedStyle(element);
  const label = element.labels?.[0]?.textContent;
  return {
    name: element.getAttribute("aria-label") ?? label ?? element.textContent,
    visible: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0,
  };
})()`;

/** Goes from element to element until one has a name; each must show that it has the focus. */
async function tabTo(page: Page, name: RegExp): Promise<void> {
  const passed: string[] = [];
  for (let step = 0; step < MAX_STEPS; step++) {
    await page.keyboard.press("Tab");
    const focused: { name: string; visible: boolean } = await page.evaluate(
      FOCUSED,
    );
    assert(focused.visible, `the focus of ${focused.name} cannot be seen`);
    if (name.test(focused.name)) return;
    passed.push(focused.name);
  }
  throw new Error(`There is no ${name} among ${passed.join(", ")}`);
}

consoleTest(
  "the keyboard alone signs in, finds a member, thinks again, and kicks it",
  async () => {
    await using console = await startConsole();
    await using guest = await joinRaw(
      console.office.url,
      "computer",
      "guest",
      OFFICE,
    );
    const ended = new Promise((resolve) =>
      guest.socket.on("disconnect", resolve)
    );
    await using tab = await openTab();
    const { page } = tab;
    await page.goto(console.console);
    await page.getByLabel("Token").waitFor();
    await page.keyboard.type(TOKEN); // the field has the focus
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: OFFICE }).waitFor();

    await tabTo(page, /^Skip to content$/);
    await page.keyboard.press("Enter");
    await tabTo(page, new RegExp(`^${OFFICE}$`));
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "guest" }).waitFor();

    await tabTo(page, /^Filter$/);
    await page.keyboard.type("gue");
    await page.getByText("1 of 3 members").waitFor();
    await tabTo(page, /Kick.*guest/);
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog");
    await dialog.waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "hidden" });
    const { name } = await page.evaluate<{ name: string }>(FOCUSED);
    assert(/guest/.test(name), `the focus is lost to ${JSON.stringify(name)}`);
    assert(guest.socket.connected);

    await page.keyboard.press("Enter");
    await dialog.waitFor();
    await page.keyboard.type("by keyboard");
    await page.keyboard.press("Enter");
    await page.getByText("guest was kicked").waitFor();
    await ended;
    assertEquals(await page.getByRole("dialog").count(), 0);
  },
);
