/**
 * What a person sees on a phone, in both themes: no serious fault for people with other means, nothing
 * wider than the screen. With `SMCP_SCREENSHOTS_WRITE=1` it writes the screenshots of docs/approvals.md.
 */
import { assert, assertEquals } from "@std/assert";
import { parseComputerConfig } from "../../../computer/config/parse_config.ts";
import { shownRule } from "../../../computer/rules/rules.ts";
import { offeredOptions } from "../../../computer/tools/asked_call.ts";
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

const { servers: [config], rules: [rule] = [] } = parseComputerConfig({
  servers: {
    files: { type: "stdio", server_parameters: { command: "files" } },
  },
  rules: [{
    tool: "write_file",
    then: "ask",
    file: { path: "path", content: "content", under: "/srv/notes" },
  }],
});
assert(config && rule);
const PARAMS = { path: "/srv/notes/today.md", content: "Buy milk\n" };

/** What a person reads, in the words of the Computer. */
const WORDS = {
  rule: shownRule(rule, 0),
  options: offeredOptions({
    call: {
      agent: "planner",
      bundleId: "files",
      tool: "write_file",
      params: PARAMS,
      open: "content",
      definition: "d",
      configuration: "c",
    },
    server: "files",
    config,
    isOnly: false,
    isInMemory: false,
  }).filter(({ id }) => id !== "always"),
};

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
    // So that the screenshots are the same each time.
    const server = page.getByText(approving.relay.url);
    await server.evaluate((element) =>
      element.textContent = "https://smcp.example.com"
    );
    await page.getByRole("heading").click();
    await looking.at("link");
    await page.getByRole("button", { name: "Pair", exact: true }).click();
    const digits = page.locator(".digits");
    const code = await digits.innerText();
    await digits.evaluate((element) => element.textContent = "042 719");
    await looking.at("pairing");
    await pairing.type(code);
    await page.getByText("Nothing to decide").waitFor();
    await looking.at("paired");

    const first = approving.ask({ ...WORDS, params: PARAMS });
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
      rule: WORDS.rule,
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
