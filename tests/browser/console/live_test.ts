import { assertEquals } from "@std/assert";
import { startProxy } from "../../support/proxy.ts";
import { signIn, startConsole } from "../support/console_office.ts";
import { consoleTest, openTab } from "../support/driven.ts";

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
      ...{ office: "north", protocol: "0.2", agent: "planner" },
      ...{ computer: "pc", req_id: "r1", request: "client:tool_call" },
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
    await page.reload();
    await page.getByRole("navigation").first().waitFor();
    await page.evaluate(`location.hash = "#/offices/north/calls"`);
    const rows = page.getByRole("row", { name: /listed-first/ });
    await rows.first().waitFor();
    while (streams < 3) await page.waitForTimeout(100);
    assertEquals(await rows.count(), 1);
  },
);
