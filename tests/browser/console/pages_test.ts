import { assert, assertEquals } from "@std/assert";
import {
  go,
  signIn,
  startComputerPage,
  startConsole,
} from "../support/console_office.ts";
import { consoleTest, openTab } from "../support/driven.ts";
import { LOOKS, startLooking, tooWide } from "../support/looking.ts";
import { decodePng, encodePng } from "../support/png.ts";
import { everything, fixture } from "../../support/computer/mcp_servers.ts";
import { joinRaw } from "../../support/wire/raw_client.ts";

/**
 * Every page of the console, in both sizes and both colours. With `SMCP_SCREENSHOTS_WRITE=1` it writes
 * the screenshots of `docs/console/`: `deno task docs:screenshots`.
 */

/** The name of a screenshot, a route, and a text that is there once the page is filled. */
type PageToSee = readonly [
  name: string,
  route: string,
  filled: string | RegExp,
];

const COMPUTER_VIEWS: readonly PageToSee[] = [
  ["computer", "#/offices/north/computers/pc", "A vice"],
  ["tool", "#/offices/north/computers/pc?tool=order", "what to order"],
];

const SERVER_PAGES: readonly PageToSee[] = [
  ["offices", "#/offices", "planner calls wait of pc"],
  ["office", "#/offices/north", "planner"],
  ["office-calls", "#/offices/north/calls", "wait"],
  ...COMPUTER_VIEWS,
  ["calls", "#/calls", "order"],
  ["status", "#/status", /p99: \d/],
  ["log", "#/log", "call_ended"],
];

const COMPUTER_PAGES: readonly PageToSee[] = [
  ["own-overview", "#/overview", "run its command by hand"],
  ["own-tools", "#/tools", "echo"],
  ["own-calls", "#/calls", "tool error"],
];

/** What a busy Server would have sent in the last five minutes, so that the pictures show plots. */
function history(): string {
  const now = Date.now();
  const events = Array.from({ length: 300 }, (_, second) => {
    const at = new Date(now - 1000 * (300 - second)).toISOString();
    const wave = 3 + 2 * Math.sin(second / 19) + Math.sin(second / 5);
    return Array.from({ length: Math.max(1, Math.round(wave)) }, (_, i) => ({
      event: "call_ended",
      at,
      protocol: "0.2",
      req_id: `${second}-${i}`,
      office: i % 3 === 2 ? "library" : "north",
      agent: i % 3 === 2 ? "reviewer" : "planner",
      computer: i % 3 === 2 ? "scanner" : "pc",
      request: "client:tool_call",
      tool: i % 3 === 2 ? "scan" : "order",
      outcome: second % 37 === 5 && i === 0 ? "tool error" : "ok",
      bytes: 118,
      ms: 4 + 3 * i + 2 * wave + (second % 61 === 0 ? 40 : 0),
    }));
  }).flat();
  return [{ event: "open", missed: false }, ...events].map((data) =>
    `event: ${data.event}\ndata: ${JSON.stringify(data)}\n\n`
  ).join("");
}

consoleTest(
  "on telephones the header shows all views, and whether the page is connected",
  async () => {
    await using console = await startConsole();
    for (const width of [320, 360, 390, 430]) {
      await using tab = await console.open("#/status", {
        size: { width, height: 740 },
      });
      const { page } = tab;
      const header = page.getByRole("banner");
      await header.getByText("Connected", { exact: true }).waitFor();
      const parts = [
        ...await header.getByRole("link").all(),
        ...await header.getByRole("status").all(),
      ];
      assertEquals(parts.length, 6); // the name, four views, the state
      for (const part of parts) {
        const text = `${await part.innerText()} at ${width} px`;
        const box = await part.boundingBox();
        assert(box !== null && box.height > 8, text);
        assert(box.x >= 0 && box.x + box.width <= width, text);
      }
      assertEquals(await tooWide(page), []);
    }
  },
);

for (const look of LOOKS) {
  const how = `at ${look.size.width} px in ${look.scheme}`;
  consoleTest(
    `no page of a Server ${how} has a serious fault, nor is it too wide`,
    async () => {
      await using console = await startConsole({
        server: { auditPayloads: true },
        computer: { servers: { everything: everything() } },
      });
      const { url } = console.office;
      await using others = new AsyncDisposableStack();
      others.use(await joinRaw(url, "agent", "reviewer", "library"));
      others.use(await joinRaw(url, "computer", "scanner", "library"));
      others.use(await joinRaw(url, "computer", "tractor", "barn"));
      await using tab = await openTab(look);
      const { page } = tab;
      const looking = startLooking(tab, look);
      await page.goto(console.console);
      await page.getByLabel("Token").waitFor();
      await looking.at("sign-in");
      // The stream ends with it, and the page goes on with that of the Server.
      await page.route(
        "**/operator/v1/events",
        (route) =>
          route.fulfill({
            contentType: "text/event-stream",
            body: history(),
          }),
        { times: 1 },
      );
      let streams = 0;
      const again = page.waitForResponse((response) =>
        response.url().endsWith("/events") && ++streams === 2
      );
      await signIn(tab, console.console);
      await again;
      others.use(await joinRaw(url, "computer", "plough", "barn"));
      const { agent } = console.office;
      const order = { part: "vice", colour: "green", count: 3, price: 12.5 };
      for (let i = 0; i < 10; i++) await agent.callTool("pc", "order", order);
      await agent.callTool("pc", "fail", {});
      await agent.callTool("pc", "get-sum", { a: 2, b: 3 });
      const waiting = agent.callTool("pc", "wait", { note: "for the lathe" });
      waiting.catch(() => {}); // a test that fails earlier does so with its own error
      for (const [name, route, filled] of SERVER_PAGES) {
        await go(page, route);
        await page.getByRole("main").getByText(filled).first().waitFor();
        // The crosshair, in the picture of the plots.
        if (name === "status") {
          await page.getByRole("slider").first().hover();
        }
        await looking.at(name);
        await page.mouse.move(0, 0);
      }
      await go(page, "#/calls");
      await page.getByRole("link", { name: "order" }).first().click();
      await page.getByText('"vice"').first().waitFor();
      await looking.at("call");
      console.workshop.release();
      await waiting;
      assertEquals(looking.findings, {});
    },
  );

  consoleTest(
    `no page of a Computer ${how} has a serious fault, nor is it too wide`,
    async () => {
      const auto_apply = true;
      await using shown = await startComputerPage({
        servers: {
          files: fixture({ only: ["echo", "fail"] }, {
            tool_meta: { fail: { auto_apply } },
          }),
          broken: fixture({ start: "exit" }),
        },
      }, look);
      const { page, office } = shown;
      const looking = startLooking(shown, look);
      await page.getByText(/^running/).first().waitFor();
      await office.agent.callTool("pc", "fail", {});
      for (const [name, route, filled] of COMPUTER_PAGES) {
        await go(page, route);
        await page.getByRole("main").getByText(filled).first().waitFor();
        await looking.at(name);
      }
      const asking = office.agent.callTool("pc", "echo", { text: "Good day" });
      asking.catch(() => {});
      await page.getByRole("article").getByText("Good day").waitFor();
      await page.locator("article button:not([aria-disabled])").first()
        .waitFor();
      await looking.at("own-question");
      await page.getByRole("button", { name: "No", exact: true }).click();
      await asking;
      assertEquals(looking.findings, {});
    },
  );
}

consoleTest(
  "a screenshot becomes smaller, and a browser still shows it",
  async () => {
    await using tab = await openTab({ size: { width: 200, height: 100 } });
    const { page } = tab;
    await page.setContent(
      "<title>T</title><body style='background:#246;color:white'>many <b>shades</b> of <i>text</i>",
    );
    const file = await page.screenshot();
    const small = encodePng(decodePng(file));
    assert(small.length < file.length);
    await page.setContent(
      `<body style='margin:0'><img src='data:image/png;base64,${
        small.toString("base64")
      }'>`,
    );
    await page.locator("img").waitFor();
    await page.evaluate(`document.querySelector("img").decode()`);
    const again = decodePng(await page.screenshot());
    const { rgb } = decodePng(file);
    const furthest = rgb.reduce(
      (most, one, i) => Math.max(most, Math.abs(one - (again.rgb[i] ?? 0))),
      0,
    );
    assertEquals([again.width, again.height], [200, 100]);
    assert(furthest <= 32, `a colour is off by ${furthest}`);
  },
);
