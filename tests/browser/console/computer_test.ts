import { assert, assertEquals } from "@std/assert";
import { argumentsOf } from "../../support/command.ts";
import { configFile } from "../../support/computer/config_file.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { pageLink } from "../../support/computer/page_client.ts";
import { runComputer } from "../../support/computer/run_computer.ts";
import { OFFICE, type Office, startOffice } from "../../support/office.ts";
import {
  hasTerminals,
  startTerminal,
} from "../../support/terminal/terminal.ts";
import {
  consoleTest,
  DESK,
  openTab,
  PHONE,
  type Tab,
} from "../support/driven.ts";
import { assertResponsive } from "../support/frames.ts";
import { seriousFindings, tooWide } from "../support/findings.ts";

const HOSTILE = `<script>alert(1)</script>\u202e"><img src=x onerror=alert(2)>`;

const servers = {
  files: fixture({ only: ["echo", "fail", "slow", "ask"] }, {
    tool_meta: {
      fail: { auto_apply: true },
      slow: { auto_apply: true },
      ask: { auto_apply: true },
    },
  }),
  broken: fixture({ start: "exit" }),
};

/** Calls a tool; that the test failed before the answer is no failure of its own. */
function callTool({ agent }: Office, tool: string, params = {}) {
  const called = agent.callTool("pc", tool, params);
  called.catch(() => {});
  return called;
}

/** Waits until clicks count, half a second after a question appeared. */
const answerable = (page: Tab["page"]) =>
  page.locator("article button:not([aria-disabled])").first().waitFor();

consoleTest(
  "a person approves one call on the page of a Computer, and denies another",
  async () => {
    await using office = await startOffice();
    await using config = await configFile({ servers });
    await using computer = runComputer(office, config.file, {
      flags: ["--ui"],
    });
    const { link, url, token } = await pageLink(computer);
    await computer.line(/^joined/);
    await using tab = await openTab();
    const { page } = tab;
    await page.goto(link);
    assertEquals(new URL(page.url()).hash, "", "the token is not to be seen");
    await page.getByRole("row", { name: /^files running/ }).waitFor();
    await page.getByText("run its command by hand to see why").waitFor();
    await page.getByText(`connected to ${office.url}`).waitFor();

    const call = (text: string) => callTool(office, "echo", { text });
    const approved = call(HOSTILE);
    const heading = 'Agent "planner" wants to run "echo" of MCP server "files"';
    const asked = page.getByRole("article", { name: heading });
    await asked.getByText("<script>alert(1)</script>").waitFor();
    assert(/^\(1\)/.test(await page.title()), await page.title());
    assertEquals(await seriousFindings(page), []);
    await answerable(page);
    await asked.getByRole("button", { name: "Yes, this once" }).click();
    assertEquals((await approved).content[0]?.text, HOSTILE);
    await page.getByText("Answered on a page: Yes, this once").waitFor();

    const denied = call("two");
    await asked.getByText('text: "two"').waitFor();
    // By keyboard alone.
    const no = asked.getByRole("button", { name: "No", exact: true });
    await answerable(page);
    await no.focus();
    await page.keyboard.press("Enter");
    assert((await denied).isError);
    await page.getByText("Answered on a page: No").waitFor();

    await page.getByRole("link", { name: "Calls" }).click();
    await page.getByRole("row", { name: /^echo planner .* ok / }).waitFor();
    await page.getByRole("link", { name: "echo" }).last().click();
    const result = page.getByRole("region", { name: "Result", exact: true });
    await result.getByRole("region", { name: "Text" }).getByText("onerror")
      .waitFor();
    await result.getByText("As JSON").click();
    await result.getByText('"type": "text"').waitFor();
    assertEquals(await seriousFindings(page), []);
    await page.getByRole("link", { name: "Tools" }).click();
    await page.getByText("4 of 4 tools").waitFor();
    await page.getByText("echo", { exact: true }).click();
    await page.getByText('"type": "object"').waitFor();
    for (const { url: asked, headers } of tab.requests) {
      // Of some only the headers are told.
      assert(asked === "" || asked.startsWith(`${url}/`), asked);
      assert(!asked.includes(token));
      assertEquals(headers["referer"], undefined);
    }
  },
);

consoleTest(
  "the page of a Computer fills in what an MCP server asks, and says what is wrong with it",
  async () => {
    await using office = await startOffice();
    await using config = await configFile({ servers });
    await using computer = runComputer(office, config.file, {
      flags: ["--ui"],
    });
    const { link } = await pageLink(computer);
    await computer.line(/^joined/);
    await using tab = await openTab({ size: PHONE, scheme: "dark" });
    const { page } = tab;
    await page.goto(link);
    await page.getByText("running", { exact: true }).waitFor();
    const called = callTool(office, "ask");
    await answerable(page);
    await page.getByLabel("name").fill("x");
    await page.getByRole("button", { name: "Answer" }).click();
    await page.getByText("At least 2 characters").waitFor();
    assertEquals(await seriousFindings(page), []);
    assertEquals(await tooWide(page), []);
    await page.getByLabel("name").fill("Ann");
    await page.getByLabel("name").press("Enter");
    assertEquals(JSON.parse((await called).content[0]?.text ?? ""), {
      action: "accept",
      content: { name: "Ann" },
    });
    await page.getByText("Answered on a page: Answered").waitFor();
  },
);

consoleTest(
  "a call is denied on the page while the terminal waits for the answer, and the other way round",
  async () => {
    if (!hasTerminals) return;
    await using office = await startOffice();
    await using config = await configFile({ servers });
    await using terminal = await startTerminal(
      Deno.execPath(),
      argumentsOf("computer", [
        "run",
        ...["--url", office.url, "--office", OFFICE, "--name", "pc"],
        ...["--config", config.file, "--ui"],
      ]),
      { columns: 120, rows: 30 },
    );
    await terminal.until(/page: http:\S+/);
    await terminal.until("office north");
    const [link = ""] = terminal.written.match(/http:\S+#token=[0-9a-f]{64}/) ??
      [];
    await using tab = await openTab();
    const { page } = tab;
    await page.goto(link);
    await page.getByRole("row", { name: /^files running/ }).waitFor();

    const denied = callTool(office, "echo", { text: "one" });
    await terminal.until("y, a or n; or ↑ ↓ and Enter");
    await answerable(page);
    await page.getByRole("button", { name: "No", exact: true }).click();
    assert((await denied).isError);
    await terminal.until(/answered on the page: Agent "planner" .* No/);

    const approved = callTool(office, "echo", { text: "two" });
    await page.getByText('text: "two"').waitFor();
    await terminal.until("y, a or n; or ↑ ↓ and Enter");
    await terminal.type("y");
    assertEquals((await approved).content[0]?.text, "two");
    await page.getByText("Answered at the terminal: Yes, this once").waitFor();
    assertEquals(await page.getByRole("article").count(), 0);
  },
);

consoleTest(
  "every view of a Computer's page is for everybody, at a desk and on a telephone",
  async () => {
    await using office = await startOffice();
    const long = "a_tool_with_a_long_name_".repeat(8);
    await using config = await configFile({
      servers: {
        ...servers,
        [HOSTILE]: fixture({
          only: ["meta"],
          extraTools: [{
            name: long,
            description: HOSTILE.repeat(20),
            inputSchema: { type: "object" },
          }],
        }, { forbidden_tools: [HOSTILE] }),
      },
    });
    await using computer = runComputer(office, config.file, {
      flags: ["--ui"],
    });
    const { link } = await pageLink(computer);
    await computer.line(/^joined/);
    for (
      const options of [
        { size: DESK, scheme: "light" },
        { size: PHONE, scheme: "dark" },
      ] as const
    ) {
      await using tab = await openTab(options);
      const { page } = tab;
      await page.goto(link);
      await page.getByText("run its command by hand").first().waitFor();
      await page.getByText("which is none of its tools").waitFor();
      const states = page.getByText("running", { exact: true });
      await states.nth(1).waitFor();
      const called = callTool(office, "echo", { text: HOSTILE.repeat(50) });
      await page.getByRole("article").waitFor();
      const views = [
        ["overview", page.getByRole("heading", { name: "Overview" })],
        ["tools", page.getByText(long).first()],
        ["calls", page.getByRole("link", { name: "echo" }).first()],
        ["calls/1", page.getByRole("heading", { name: "Arguments" })],
      ] as const;
      for (const [view, seen] of views) {
        await page.evaluate(`location.hash = "#/${view}"`);
        await seen.waitFor();
        assertEquals(await seriousFindings(page), [], view);
        assertEquals(await tooWide(page), [], view);
      }
      await answerable(page);
      await page.getByRole("button", { name: "No", exact: true }).click();
      assert((await called).isError);
    }
  },
);

consoleTest(
  "the page of a Computer asks for a token that counts, and says when it has lost the Computer",
  async () => {
    await using office = await startOffice();
    await using config = await configFile({ servers: {} });
    await using computer = runComputer(office, config.file, {
      flags: ["--ui"],
    });
    const { url, token } = await pageLink(computer);
    await computer.line(/^joined/);
    await using tab = await openTab();
    const { page } = tab;
    await page.goto(`${url}/#token=${"0".repeat(64)}`); // of an earlier start
    await page.getByText("open the link that it printed last").waitFor();
    assertEquals(await seriousFindings(page), []);
    await page.getByLabel("Token").fill(token);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText(`connected to ${office.url}`).waitFor();
    await page.reload();
    await page.getByText(`connected to ${office.url}`).waitFor();
    await computer.stop();
    await page.getByRole("alert").getByText("does not answer").waitFor();
    assertEquals(await seriousFindings(page), []);
  },
);

consoleTest(
  "the calls of a Computer that never rests leave its page responsive",
  async () => {
    await using office = await startOffice();
    await using config = await configFile({
      servers: {
        files: fixture({ only: ["echo"] }, {
          default_tool_meta: { auto_apply: true },
        }),
      },
    });
    await using computer = runComputer(office, config.file, {
      flags: ["--ui"],
    });
    const { link } = await pageLink(computer);
    await computer.line(/^joined/);
    await using tab = await openTab();
    const { page } = tab;
    await page.goto(link);
    await page.getByRole("row", { name: /^files running/ }).waitFor();
    await page.getByRole("link", { name: "Calls" }).click();
    const text = HOSTILE.repeat(100);
    await assertResponsive(page, async () => {
      await page.reload();
      for (let batch = 0; batch < 30; batch++) {
        await Promise.all(
          Array.from({ length: 100 }, () => callTool(office, "echo", { text })),
        );
      }
      await page.getByText("1000 calls, of which the latest 200").waitFor();
    });
    assertEquals(await page.locator("tbody tr").count(), 200);
  },
);
