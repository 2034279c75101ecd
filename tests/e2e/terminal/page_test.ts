import { assert, assertEquals, assertNotMatch } from "@std/assert";
import { argumentsOf } from "../../support/command.ts";
import { configFile } from "../../support/computer/config_file.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { openPage, pageLink } from "../../support/computer/page_client.ts";
import { OFFICE, startOffice } from "../../support/office.ts";
import {
  assertRestored,
  ON_TERMINAL,
  startTerminal,
} from "../../support/terminal/terminal.ts";

const READY = "y, a or n; or ↑ ↓ and Enter";

Deno.test(
  "a question is asked at the terminal and on the page: the first answer wins, and the other is told",
  ON_TERMINAL,
  async (t) => {
    await using office = await startOffice();
    await using config = await configFile({
      inputs: [{ id: "key", type: "promptString", description: "The key" }],
      servers: {
        files: fixture({ only: ["echo", "ask"] }, {
          tool_meta: { ask: { auto_apply: true } },
          server_parameters: {
            ...fixture({ only: ["echo", "ask"] }).server_parameters,
            env: {
              ...fixture().server_parameters.env,
              KEY: "${input:key}",
            },
          },
        }),
      },
    });
    await using terminal = await startTerminal(
      Deno.execPath(),
      argumentsOf("computer", [
        "run",
        ...["--url", office.url, "--office", OFFICE, "--name", "pc"],
        ...["--config", config.file, "--ui"],
      ]),
      { columns: 120, rows: 30 },
    );
    await using page = await openPage(
      await pageLink({
        line: async (pattern) => {
          await terminal.until(/page: http:\S+/);
          const found = terminal.written.match(pattern);
          if (found) return found;
          throw new Error("no link");
        },
      }),
    );

    await t.step("an input on the page", async () => {
      await terminal.until("The key (input");
      const { id } = await page.question("The key");
      await page.ask(`/questions/${id}`, { value: "abcd" });
      await terminal.until("2 tools");
      const { all } = await terminal.until("answered on the page: The key");
      assert(!all.includes("abcd"));
    });

    const call = (text: string) =>
      office.agent.callTool("pc", "echo", { text });
    /** Waits until this question takes keys; the one before may still be on the screen. */
    const asked = (what: string) =>
      terminal.until(({ all }) => {
        const last = all.slice(all.lastIndexOf("wants to run"));
        return last.includes(what) && last.includes(READY);
      });

    await t.step("the page first", async () => {
      const called = call("one");
      await asked('text: "one"');
      const { id } = await page.question('text: "one"');
      await page.ask(`/questions/${id}`, { answer: "once" });
      assertEquals((await called).content[0]?.text, "one");
      const { text } = await terminal.until(/✓ echo by planner/);
      await terminal.until(
        /answered on the page: Agent "planner" .* Yes, this once/,
      );
      assertNotMatch(text, /Always for this tool/);
    });

    await t.step("the terminal first", async () => {
      const called = call("two");
      const { id } = await page.question('text: "two"');
      await asked('text: "two"');
      await terminal.type("n");
      assert((await called).isError);
      const { endedBy, said } = await page.question('text: "two"', "ended");
      assertEquals([endedBy, said], ["terminal", "No"]);
      const late = await page.ask(`/questions/${id}`, { answer: "once" });
      assertEquals(
        [late.status, late.body.errors[0].problem],
        [409, "it was answered at the terminal already: No"],
      );
    });

    await t.step("one that waits at the terminal behind another", async () => {
      const calls = [call("three"), call("four")];
      await asked('text: "three"');
      const { id } = await page.question('text: "four"');
      await page.ask(`/questions/${id}`, { answer: "no" });
      assert((await calls[1])?.isError);
      await terminal.until(/text: "three"/);
      await terminal.type("y");
      assertEquals((await calls[0])?.content[0]?.text, "three");
    });

    await t.step("a form, half filled in at the terminal", async () => {
      const called = office.agent.callTool("pc", "ask", {});
      await terminal.until("Esc cancels");
      await terminal.type("y");
      await terminal.until(/name/);
      const { id } = await page.question("asks while agent");
      await page.ask(`/questions/${id}`, { action: "decline" });
      assertEquals(JSON.parse((await called).content[0]?.text ?? ""), {
        action: "decline",
      });
      await terminal.until(
        /answered on the page: MCP server "files" .* Declined/,
      );
    });

    await terminal.type("\x03");
    assertEquals(await assertRestored(terminal), 0);
  },
);
