import type { ConfirmAnswer } from "../../../computer/mod.ts";
import { configFile } from "../../support/computer/config_file.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { pageLink } from "../../support/computer/page_client.ts";
import { runComputer } from "../../support/computer/run_computer.ts";
import { OFFICE, startOffice } from "../../support/office.ts";
import { go, startConsole } from "../support/console_office.ts";
import { consoleTest, openTab } from "../support/driven.ts";

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
    const waits = /^echo north planner pc .* waits for confirmation/;
    await page.getByRole("row", { name: waits }).waitFor();
    await page.getByRole("link", { name: "echo" }).click();
    await page.getByText("waits for confirmation").waitFor();
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

consoleTest(
  "the page of a Computer shows which calls wait for confirmation",
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
    office.agent.callTool("pc", "echo", { text: "x" }).catch(() => {});
    await page.getByRole("link", { name: "Calls" }).click();
    await page.getByRole("row", {
      name: /^echo planner .* waits for confirmation/,
    }).waitFor();
  },
);
