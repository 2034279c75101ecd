import { assert, assertEquals, assertMatch } from "@std/assert";
import { ProtocolError } from "../../../protocol/mod.ts";
import { captureLog } from "../../support/log_capture.ts";
import { OFFICE } from "../../support/office.ts";
import { go, startConsole } from "../support/console_office.ts";
import { consoleTest, DESK, PHONE } from "../support/driven.ts";
import { tooWide } from "../support/findings.ts";

const ORDER = { part: "vice", colour: "green", count: 3 };

consoleTest(
  "calls appear as they begin and end, with their contents where payloads are audited",
  async () => {
    await using console = await startConsole({
      server: { auditPayloads: true },
    });
    const { office: { agent }, workshop } = console;
    await using tab = await console.open("#/calls");
    const { page } = tab;
    await page.getByText("live", { exact: true }).waitFor();
    const waiting = agent.callTool("pc", "wait", { note: "for the lathe" });
    await page.getByRole("row", { name: /wait north planner pc .* running/ })
      .waitFor();
    await agent.callTool("pc", "order", ORDER);
    await page.getByRole("row", { name: /order .* ok .* B .* B/ }).waitFor();
    await agent.callTool("pc", "fail", {});
    await page.getByRole("row", { name: /fail .* tool error/ }).waitFor();
    workshop.release();
    await waiting;
    await page.getByRole("row", { name: /wait .* ok/ }).waitFor();
    assertEquals(await page.getByRole("button", { name: /Cancel/ }).count(), 0);

    await page.getByLabel("Filter").fill("tool error");
    await page.getByText("1 of 3 calls").waitFor();
    await page.getByLabel("Filter").fill("");
    await page.getByRole("link", { name: "order" }).click();
    const region = (name: string) => page.getByRole("region", { name });
    assertEquals(
      JSON.parse(await region("Arguments").innerText()),
      ORDER,
    );
    assertEquals(
      JSON.parse(await region("Result").innerText()).structuredContent,
      { part: "vice", sum: 3 },
    );
  },
);

consoleTest(
  "without audited payloads a call shows no contents, and a call that hangs is cancelled",
  async () => {
    using log = captureLog();
    await using console = await startConsole();
    const { office: { agent } } = console;
    // It begins before anybody looks on.
    const called = agent.callTool("pc", "wait", {}).catch((error) => error);
    await using tab = await console.open(`#/offices/${OFFICE}/calls`);
    const { page } = tab;
    const row = page.getByRole("row", { name: /wait .* running/ });
    await row.waitFor();
    await row.getByRole("link", { name: "wait" }).click();
    await page.getByText("Not shown").waitFor();
    await page.getByRole("button", { name: /Cancel… wait/ }).click();
    const dialog = page.getByRole("dialog", { name: /Cancel wait of planner/ });
    await dialog.getByLabel("Reason").fill("it hangs");
    await dialog.getByRole("button", { name: "Cancel the call" }).click();
    await page.getByText("wait was cancelled").waitFor();
    const error = await called;
    assert(error instanceof ProtocolError);
    assertEquals([error.code, error.message], [
      403,
      "Cancelled by an operator: it hangs",
    ]);
    await page.getByText("cancelled by the operator").waitFor();
    const [audit] = log.audit.filter(({ event }) => event === "call_cancelled");
    assertEquals([audit?.by, audit?.reason], ["operator", "it hangs"]);
  },
);

consoleTest("the plots say what happens, and the log is filtered", async () => {
  await using console = await startConsole();
  const { office: { agent } } = console;
  await using tab = await console.open("#/status");
  const { page } = tab;
  await page.getByRole("img", { name: /^Memory; resident: \d/ }).waitFor();
  for (let i = 0; i < 5; i++) await agent.callTool("pc", "order", ORDER);
  await agent.callTool("pc", "fail", {});
  const plot = (name: RegExp) => page.getByRole("img", { name });
  await plot(/^Latency of calls; p50: [\d.]+ m?s, p99: [\d.]+ m?s$/).waitFor();
  await plot(/^Failures a second; tool error: \d$/).waitFor();
  const line = plot(/^Calls a second/).locator("path");
  // Two seconds are over.
  await line.and(page.locator("[d*=L]")).waitFor({ state: "attached" });
  assertMatch(await line.getAttribute("d") ?? "", /^M[\d.]+ [\d.]+h0.1L/);
  await page.getByText("Calls in flight").waitFor();

  const times = page.locator(".legend .muted");
  const slider = page.getByRole("slider", { name: "Calls a second: time" });
  await slider.press("ArrowLeft");
  assertEquals(await times.count(), 5, "a plot without the crosshair");
  assertMatch(
    await slider.getAttribute("aria-valuetext") ?? "",
    /^\d\d:\d\d:\d\d calls: \d$/,
  );
  await slider.blur();
  assertEquals(await times.count(), 0);
  await slider.hover();
  assertEquals(await times.count(), 5);
  await page.getByRole("heading", { name: "Status" }).hover();
  assertEquals(await times.count(), 0);

  await go(page, "#/log");
  const rows = page.getByRole("main").getByRole("row");
  await rows.filter({ hasText: /call_ended.*tool error/ }).waitFor();
  await page.getByLabel("Filter").fill("ended tool=fail");
  await page.getByText(/^1 of \d+ events/).waitFor();
  assertEquals(await rows.count(), 2); // its head, too
  await page.getByLabel("Filter").fill("");
  await page.getByLabel("with calls").uncheck();
  await page.getByText(/^\d of \d+ events/).waitFor();
  assertEquals(await page.getByText("call_ended").count(), 0);
});

consoleTest(
  "an event of the log is one line that uses the width, and unfolds to its fields",
  async () => {
    await using console = await startConsole({
      server: { auditPayloads: true },
    });
    const { office: { agent } } = console;
    for (const [size, most] of [[DESK, 44], [PHONE, 80]] as const) {
      await using tab = await console.open("#/log", { size });
      const { page } = tab;
      await page.getByText("live", { exact: true }).waitFor();
      await agent.callTool("pc", "say", { what: "words ".repeat(300) });
      const row = page.getByRole("row", { name: /call_began/ });
      await row.waitFor();
      const heights: number[] = await page.evaluate(
        "[...document.querySelectorAll('tbody tr')].map((row) => row.offsetHeight)",
      );
      assert(heights.every((height) => height <= most), heights.join());
      await row.locator("summary").first().click();
      await row.getByText(/^req_id:/).waitFor();
      await row.locator("summary", { hasText: "params" }).last().click();
      await row.getByText('"words words words').last().waitFor();
      assertEquals(await tooWide(page), []);
    }
  },
);
