import { assert, assertEquals } from "@std/assert";
import { configFile } from "../../support/computer/config_file.ts";
import { everything, fixture } from "../../support/computer/mcp_servers.ts";
import { startOAuth } from "../../support/computer/oauth.ts";
import { pageLink } from "../../support/computer/page_client.ts";
import { runComputer } from "../../support/computer/run_computer.ts";
import { scratch } from "../../support/scratch.ts";
import { startOffice } from "../../support/office.ts";
import { consoleTest, openTab } from "../support/driven.ts";
import { seriousFindings } from "../support/findings.ts";

consoleTest(
  "a form with every kind of field is filled in on the page of a Computer",
  async () => {
    await using office = await startOffice();
    await using config = await configFile({
      servers: {
        every: { ...everything(), default_tool_meta: { auto_apply: true } },
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
    await page.getByRole("row", { name: /^every running/ }).waitFor();
    const called = office.agent.callTool(
      "pc",
      "trigger-elicitation-request",
      {},
    );
    called.catch(() => {});
    const form = page.getByRole("article");
    await form.getByText("Please provide inputs").waitFor();
    assertEquals(await seriousFindings(page), []);
    await form.getByLabel("String", { exact: true }).fill("Ann");
    await form.getByLabel("Boolean (optional)").selectOption("Yes");
    await form.getByLabel("String with email format (optional)").fill("ann");
    await form.getByLabel("Integer (optional)").fill("1.5");
    await form.getByLabel("Titled Single Select Enum (optional)", {
      exact: true,
    }).selectOption("Wonder Woman");
    await form.getByLabel("Untitled Single Select Enum (optional)")
      .selectOption("(no answer)");
    await form.getByRole("checkbox", { name: "Piano" }).check();
    const answer = form.getByRole("button", { name: "Answer" });
    await answer.click();
    const said = form.getByRole("alert");
    await said.waitFor();
    assertEquals(
      await said.textContent(),
      "email: Expected an email address; correct it. integer: Expected a whole number; correct it",
    );
    await form.getByLabel("String with email format (optional)")
      .fill("ann@example.org");
    await form.getByLabel("Integer (optional)").fill("7");
    await answer.click();
    const text = JSON.stringify((await called).content);
    for (const part of ["Ann", "ann@example.org", "hero-3", "Piano"]) {
      assert(text.includes(part), `${part}: ${text}`);
    }
    assert(!text.includes("Monica"), text);
  },
);

consoleTest(
  "values of inputs are typed and picked on the page of a Computer",
  async () => {
    await using office = await startOffice();
    const names = ["word", "secret", "size", "none"];
    const input = names.map((id) => "${input:" + id + "}").join("_");
    await using config = await configFile({
      inputs: [
        {
          id: "word",
          type: "promptString",
          description: "A word",
          default: "hello",
        },
        {
          id: "secret",
          type: "promptString",
          description: "A secret",
          password: true,
        },
        {
          id: "size",
          type: "pickString",
          description: "A size",
          options: [{ label: "Small one", value: "s" }, "l"],
          default: "l",
        },
        {
          id: "none",
          type: "promptString",
          description: "Nothing",
          default: "fallback",
        },
      ],
      servers: {
        files: fixture({
          only: ["echo"],
          extraTools: [{ name: input, inputSchema: { type: "object" } }],
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
    const question = (name: string) =>
      page.getByRole("article", { name: `${name} (input` });
    const answerable = (name: string) =>
      question(name).locator("button:not([aria-disabled])").first().waitFor();
    const answers: readonly [string, () => Promise<unknown>, string][] = [
      ["A word", async () => {
        const field = question("A word").getByLabel("Value");
        assertEquals(await field.inputValue(), "hello");
        await field.fill("typed");
      }, "Answer"],
      ["A secret", async () => {
        const field = question("A secret").getByLabel("Value");
        assertEquals(await field.getAttribute("type"), "password");
        await field.fill("p4ssword");
      }, "Answer"],
      [
        "A size",
        () => question("A size").getByLabel("Value").selectOption("Small one"),
        "Answer",
      ],
      ["Nothing", async () => {}, "No answer"],
    ];
    for (const [name, fill, button] of answers) {
      await answerable(name);
      await fill();
      await question(name).getByRole("button", { name: button, exact: true })
        .click();
    }
    await page.getByRole("row", { name: /^files running/ }).waitFor();
    await page.getByRole("link", { name: "Tools" }).click();
    await page.getByText("typed_p4ssword_s_fallback").waitFor();
  },
);

consoleTest(
  "a click at the moment when a question appears is no answer to it",
  async () => {
    await using office = await startOffice();
    await using config = await configFile({
      servers: { files: fixture({ only: ["echo"] }) },
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
    await page.evaluate(`new MutationObserver(() => {
      const button = document.querySelector("article button");
      if (button && !window.clicked) {
        button.click();
        window.clicked = button.textContent;
      }
    }).observe(document.body, { subtree: true, childList: true })`);
    const called = office.agent.callTool("pc", "echo", { text: "hi" });
    called.catch(() => {});
    const no = page.getByRole("button", { name: "No", exact: true });
    await page.locator("article button:not([aria-disabled])").first().waitFor();
    assertEquals(await page.evaluate("window.clicked"), "Yes, this once");
    await no.click();
    assert((await called).isError);
  },
);

consoleTest(
  "the page of a Computer opens the one where it is authorized for an MCP server",
  async () => {
    await using office = await startOffice();
    await using server = await startOAuth();
    await using folder = await scratch();
    await using config = await configFile({
      servers: {
        a: {
          type: "streamable",
          server_parameters: { url: `${server.origin}/mcp` },
        },
      },
    });
    await using computer = runComputer(office, config.file, {
      flags: ["--ui", "--oauth-dir", folder.path],
    });
    const { link } = await pageLink(computer);
    await computer.line(/^joined/);
    await using tab = await openTab();
    const { page } = tab;
    await page.goto(link);
    const opened = page.context().waitForEvent("page");
    await page.getByRole("button", { name: "Authorize in the browser" })
      .click();
    const other = await opened;
    await other.getByText("the Computer is authorized").waitFor();
    assertEquals(await other.evaluate("[opener, document.referrer]"), [
      null,
      "",
    ]);
    await page.getByRole("row", { name: /^a running/ }).waitFor();
    assertEquals(
      await page.getByRole("button", { name: "Authorize in the browser" })
        .count(),
      0,
    );
  },
);
