import { assert, assertEquals, assertMatch } from "@std/assert";
import type { ConfirmAnswer } from "../../../computer/mod.ts";
import { ProtocolError } from "../../../protocol/mod.ts";
import { go, signIn, startConsole } from "../support/console_office.ts";
import {
  consoleTest,
  DESK,
  inTime,
  openTab,
  PHONE,
} from "../support/driven.ts";
import { tooWide } from "../support/looking.ts";
import { assertResponsive } from "../support/page_work.ts";
import { everything, fixture } from "../../support/computer/mcp_servers.ts";
import { captureLog } from "../../support/log_capture.ts";
import { OFFICE } from "../../support/office.ts";
import { startProxy } from "../../support/proxy.ts";

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
    const { office: { agent }, workshop } = console;
    // It begins before anybody watches.
    const called = agent.callTool("pc", "wait", {}).catch((error) => error);
    await inTime("the call", workshop.waits);
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

consoleTest(
  "calls in flight from before the page was opened are among those of all offices, and are cancelled there",
  async () => {
    await using console = await startConsole();
    const { office: { agent }, workshop } = console;
    const called = agent.callTool("pc", "wait", {}).catch((error) => error);
    await inTime("the call", workshop.waits);
    await using tab = await console.open("#/calls", { size: PHONE });
    const { page } = tab;
    const row = page.getByRole("row", { name: /wait .* running/ });
    await row.waitFor();
    assertEquals(await page.getByText("No calls yet").isVisible(), false);
    await row.getByRole("button", { name: /Cancel… wait/ }).click();
    const dialog = page.getByRole("dialog", { name: /Cancel wait of planner/ });
    await dialog.getByLabel("Reason").fill("it hangs");
    await dialog.getByRole("button", { name: "Cancel the call" }).click();
    await page.getByRole("row", { name: /wait .* cancelled by the operator/ })
      .waitFor();
    assertEquals((await called).message, "Cancelled by an operator: it hangs");
    assertEquals(await page.getByRole("row", { name: /wait/ }).count(), 1);
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

/** An event as the stream sends it. */
const sse = (id: string, event: string, data: unknown): string =>
  `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`;

consoleTest(
  "a page whose connection is lost says so, and goes on where it was",
  async () => {
    await using console = await startConsole();
    const { office: { agent, url }, workshop } = console;
    await using proxy = await startProxy(url);
    await using tab = await openTab();
    const { page } = tab;
    await signIn(tab, `${proxy.url}/console`, "#/calls");
    await page.getByText("live", { exact: true }).waitFor();
    const waiting = agent.callTool("pc", "wait", {});
    await page.getByRole("row", { name: /wait .* running/ }).waitFor();

    proxy.turnTo("http://127.0.0.1:9"); // nobody listens there
    proxy.sever();
    await page.getByText(/lost/).first().waitFor();
    workshop.release();
    await waiting;
    await agent.callTool("pc", "fail", {});
    proxy.turnTo(url);
    await page.getByText("live", { exact: true }).waitFor();
    await page.getByRole("row", { name: /wait .* ok/ }).waitFor();
    await page.getByRole("row", { name: /fail .* tool error/ }).waitFor();
    await page.getByText("2 of 2 calls").waitFor();
  },
);

consoleTest(
  "a call that is listed before the stream tells of it is shown once",
  async () => {
    await using console = await startConsole();
    await using tab = await console.open();
    const { page } = tab;
    const call = {
      office: "north",
      protocol: "0.2",
      agent: "planner",
      computer: "pc",
      req_id: "r1",
      request: "client:tool_call",
      tool: "listed-first",
    };
    let streams = 0;
    await page.route("**/operator/v1/events", async (route) => {
      const open = sse("a.0", "open", { missed: false });
      const began = sse("a.1", "call_began", {
        ...call,
        at: new Date().toISOString(),
        event: "call_began",
      });
      streams++;
      await route.fulfill({
        contentType: "text/event-stream",
        body: streams === 2 ? open + began : open,
      });
    });
    await page.route(
      "**/offices/north/calls",
      (route) => route.fulfill({ json: { calls: [{ ...call, ms: 5 }] } }),
    );
    const third = page.waitForResponse((response) =>
      response.url().endsWith("/operator/v1/events") && streams === 3
    );
    await page.reload();
    await page.getByRole("navigation").first().waitFor();
    await go(page, "#/offices/north/calls");
    const rows = page.getByRole("row", { name: /listed-first/ });
    await rows.first().waitFor();
    await third; // the second was read to its end
    assertEquals(await rows.count(), 1);
  },
);

consoleTest(
  "a call that waits for confirmation says so in the list of calls, on its page and in the form; a cancelled one is cancelled in all",
  async () => {
    const people: ((answer: ConfirmAnswer) => void)[] = [];
    await using console = await startConsole({
      computer: {
        servers: { files: fixture({ only: ["echo"] }) },
        confirm: () => new Promise((say) => people.push(say)),
      },
    });
    const { office: { agent } } = console;
    await using tab = await console.open("#/calls");
    const { page } = tab;
    await page.getByText("live", { exact: true }).waitFor();
    const call = agent.callTool("pc", "echo", { text: "x" });
    const waits = /^echo north planner pc .* waits for confirmation, \d+ s/;
    await page.getByRole("row", { name: waits }).waitFor();
    await page.setViewportSize(PHONE);
    await page.getByText(/waits for confirmation, \d+ s/).waitFor();
    assertEquals(await tooWide(page), []);
    await page.getByRole("link", { name: "echo" }).click();
    await page.getByText("waits for confirmation").waitFor();
    await page.getByText(/^the person at pc, since .*\d/).waitFor();
    assertEquals(await tooWide(page), []);
    const buttons = page.getByRole("main").getByRole("button");
    // It can be cancelled there, and not answered.
    assertEquals(await buttons.allInnerTexts(), ["Cancel…"]);
    await page.setViewportSize(DESK);
    people[0]?.("once");
    await page.getByText("ok", { exact: true }).waitFor();
    await call;

    await go(page, `#/offices/${OFFICE}/computers/pc?tool=echo`);
    await page.getByRole("button", { name: "Call", exact: true }).click();
    const form = page.getByRole("article").first();
    await form.getByText("waits for confirmation").waitFor();
    await form.getByRole("button", { name: "Cancel" }).click();
    await form.getByText("cancelled", { exact: true }).waitFor();
    await go(page, "#/calls");
    await page.getByRole("row", {
      name: /^echo north operator pc .* cancelled by the operator/,
    }).waitFor();
  },
);

const PC = `#/offices/${OFFICE}/computers/pc`;

consoleTest(
  "a Computer's MCP servers, tools and windows are shown, and a tool is tried by its form",
  async () => {
    await using console = await startConsole({
      computer: { servers: { everything: everything() } },
    });
    const { workshop } = console;
    await using tab = await console.open(PC);
    const { page } = tab;
    const section = (name: string) => page.getByRole("region", { name });
    await section("MCP servers").getByText("everything").first().waitFor();
    await section("Windows").getByText("A vice, two files and a lamp.")
      .waitFor();
    await section("Tools").getByRole("button", { name: "get-sum" })
      .waitFor();

    await page.getByRole("button", { name: "order", exact: true }).click();
    await page.getByRole("button", { name: "Call" }).click();
    await page.getByText(/^part/).first().waitFor();
    assertEquals(workshop.asked, [], "it was called without what it needs");
    await page.getByLabel(/^part/).fill("vice");
    await page.getByLabel(/^count/).fill("3");
    await page.getByLabel(/^price/).fill("12.5");
    await page.getByLabel(/^colour/).selectOption("green");
    await page.getByLabel(/^street/).fill("Mill Lane 1");
    await page.getByLabel(/^town/).fill("Ely");
    await page.getByRole("button", { name: "Call" }).click();
    const result = page.getByRole("article").first();
    await result.getByText("done").waitFor();
    await result.getByText("37.5").first().waitFor();
    assertEquals(workshop.asked, [{
      tool: "order",
      params: {
        part: "vice",
        count: 3,
        price: 12.5,
        colour: "green",
        address: { street: "Mill Lane 1", town: "Ely" },
      },
    }]);

    await page.getByRole("button", { name: "draw", exact: true }).click();
    await page.getByRole("button", { name: "Call" }).click();
    const image = page.getByRole("article").getByRole("img");
    await image.waitFor();
    await page.waitForFunction(
      "document.querySelector('article img').complete",
    );
    assertEquals(
      await page.evaluate("document.querySelector('article img').naturalWidth"),
      160, // its default
    );

    await page.getByRole("button", { name: "fail", exact: true }).click();
    await page.getByRole("button", { name: "Call" }).click();
    await page.getByText("the part is sold out").waitFor();
  },
);

consoleTest(
  "a result of 1 MB, and one that is markup, leave the page responsive",
  async () => {
    await using console = await startConsole({
      texts: {
        markup:
          '<img src=x onerror="globalThis.pwned=1"><script>pwned=2</script>',
        much: "much ".repeat(200_000),
      },
    });
    await using tab = await console.open(`${PC}?tool=say`);
    const { page } = tab;
    const say = async (what: string) => {
      await page.getByLabel(/^what/).fill(what);
      await page.getByRole("button", { name: "Call" }).click();
      return page.getByRole("article").first();
    };
    await assertResponsive(page, async () => {
      await (await say("markup")).getByText("<img src=x onerror=").waitFor();
      await (await say("much")).getByText("much much").first().waitFor();
    });
    assertEquals(await page.evaluate("globalThis.pwned"), undefined);
    assertEquals(await page.locator("article img, article script").count(), 0);
  },
);

consoleTest(
  "a result of 3 MB without a space, and one with 48,000 marks on a letter, leave the page responsive",
  async () => {
    await using console = await startConsole({
      texts: {
        tower: `a${"\u0301".repeat(48_000)}${"b".repeat(1_100)}`,
        large: "\u0436".repeat(1_700_000),
      },
    });
    await using tab = await console.open(`${PC}?tool=say`);
    const { page } = tab;
    const say = async (what: string) => {
      await page.getByLabel(/^what/).fill(what);
      await page.getByRole("button", { name: "Call" }).click();
      return page.getByRole("article").first();
    };
    await assertResponsive(page, async () => {
      const tower = await say("tower");
      await tower.getByText(/⟨\d+ × U\+0301⟩/).first().waitFor();
      const large = await say("large");
      const more = large.getByRole("button", { name: /^Show more/ });
      await large.getByText(/10,000 of 1,700,000 characters/).waitFor();
      await more.click();
      await large.getByText(/20,000 of 1,700,000 characters/).waitFor();
    });
  },
);
