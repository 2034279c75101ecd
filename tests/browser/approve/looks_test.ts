/**
 * What a person sees on a phone, in both themes: no serious fault for people with other means, nothing
 * wider than the screen. With `SMCP_SCREENSHOTS_WRITE=1` it writes the screenshots of docs/approvals.md.
 */
import { assertEquals } from "@std/assert";
import { consoleTest } from "../support/driven.ts";
import { startLooking } from "../support/looking.ts";
import {
  NARROW,
  openPairing,
  startApproving,
  tap,
} from "../support/approving.ts";

const BEFORE = Array.from({ length: 40 }, (_, i) => `- item ${i + 1}`);
const AFTER = BEFORE.with(20, "- item 21, done").toSpliced(22, 1);

const OPTIONS = [
  { id: "once", text: "Yes, this once" },
  {
    id: "hour",
    text: "Yes, for an hour",
    covers:
      "Agent “planner” may run write_file of MCP server “files” with path = /srv/notes/today.md for an hour, at most 20 times.",
  },
  { id: "no", text: "No" },
  {
    id: "mute",
    text: "No, and nothing of this Agent for 10 minutes",
    covers:
      "All calls of Agent “planner” that would ask are refused for 10 minutes.",
  },
] as const;

for (const scheme of ["light", "dark"] as const) {
  consoleTest(`the page for devices can be used, in ${scheme}`, async () => {
    const look = { size: NARROW, scheme };
    await using approving = await startApproving();
    await using tab = await approving.open(look);
    const { page } = tab;
    await page.clock.setFixedTime(new Date());
    const looking = startLooking(tab, look, "approvals");
    const pairing = await openPairing(approving.approvals, approving.page);
    await looking.at("not-paired");
    await page.goto(pairing.link);
    await page.getByLabel("Name of this device").fill("Pixel");
    await looking.at("link");
    await page.getByRole("button", { name: "Pair", exact: true }).click();
    const digits = page.locator(".digits");
    const code = await digits.innerText();
    // So that the screenshot is the same each time.
    await digits.evaluate((element) => element.textContent = "042 719");
    await looking.at("pairing");
    await pairing.type(code);
    await page.getByText("Nothing to decide").waitFor();
    await looking.at("paired");

    const first = approving.ask({ options: OPTIONS });
    await still(page);
    await looking.at("question");
    first.end("answered at the terminal");
    await page.getByText("answered at the terminal").waitFor();
    await looking.at("ended");
    await page.getByRole("button", { name: "Continue" }).click();

    const long = approving.ask({
      tool: "run_script",
      server: "shell",
      name: "run_script",
      params: {
        note: "harmless\u202E gpj.exe",
        text: `echo start\n${"echo step\n".repeat(600)}rm -rf ~\n`,
      },
    });
    await still(page);
    await looking.at("long-arguments");
    await tap(page, /^Show the rest first$/);
    await still(page);
    await tap(page, /^No$/);
    await long.answer;
    await page.getByText("Nothing to decide").waitFor();

    const change = approving.ask({
      params: { path: "/srv/notes/list.md", content: AFTER.join("\n") },
      diff: { of: "content", before: BEFORE.join("\n") },
    });
    await still(page);
    await looking.at("diff");
    change.end("timeout");
    await page.getByText("The call has timed out.").waitFor();
    await still(page);
    await looking.at("late");
    await tap(page, /^No$/);
    await page.getByText("Nothing to decide").waitFor();

    await page.context().setOffline(true);
    await page.getByText("Not connected").first().waitFor();
    await looking.at("offline");
    assertEquals(looking.findings, {});
  });
}

/** Waits until a question takes taps. */
async function still(page: Parameters<typeof tap>[0]): Promise<void> {
  const no = page.getByRole("button", { name: /^No$/ });
  await no.and(page.locator(":not([aria-disabled])")).waitFor();
}
