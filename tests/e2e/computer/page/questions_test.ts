import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { configFile } from "../../../support/computer/config_file.ts";
import { fixture } from "../../../support/computer/mcp_servers.ts";
import { openPage, pageLink } from "../../../support/computer/page_client.ts";
import { runComputer } from "../../../support/computer/run_computer.ts";
import { OFFICE, startOffice } from "../../../support/office.ts";

const TIME = { timeout: 120_000 };

Deno.test(
  "--ui: the page decides whether a tool may run, by the rules of the terminal",
  TIME,
  async (t) => {
    await using office = await startOffice();
    await using config = await configFile({
      servers: { files: fixture({ only: ["echo", "fail"] }) },
    });
    await using computer = runComputer(office, config.file, {
      flags: ["--ui"],
    });
    await using page = await openPage(await pageLink(computer));
    await page.until(({ computer }) =>
      computer.tools.length === 2 && computer.office === OFFICE
    );
    const call = (text: string) =>
      office.agent.callTool("pc", "echo", { text });
    const wanted = 'Agent "planner" wants to run "echo" of MCP server "files"';

    await t.step("no", async () => {
      const called = call("one");
      const asked = await page.question(wanted);
      assertEquals(asked.text, `${wanted}\n  text: "one"`);
      assertEquals(asked.asking, {
        kind: "confirm",
        choices: [
          { answer: "once", label: "Yes, this once" },
          { answer: "always", label: "Always for this tool" },
          { answer: "no", label: "No" },
        ],
      });
      for (const wrong of [{}, { answer: "yes" }, { answer: "no", more: 1 }]) {
        const { status, body } = await page.ask(
          `/questions/${asked.id}`,
          wrong,
        );
        assertEquals([status, body.title], [400, "Bad Request"]);
      }
      const done = await page.ask(`/questions/${asked.id}`, { answer: "no" });
      assertEquals(done.body, { done: true });
      const result = await called;
      assert(result.isError);
      assertStringIncludes(
        result.content[0]?.text ?? "",
        'The person at pc refused the call of tool "echo"',
      );
      const { endedBy, said } = await page.question(wanted, "ended");
      assertEquals([endedBy, said], ["page", "No"]);
      const late = await page.ask(`/questions/${asked.id}`, { answer: "once" });
      assertEquals(
        [late.status, late.body.errors[0].problem],
        [409, "it was answered at the page already: No"],
      );
      await computer.line(/^answered on the page: Agent "planner" .* No$/);
    });

    await t.step("once, then always", async () => {
      for (const [text, answer] of [["two", "once"], ["three", "always"]]) {
        const called = call(`${text}`);
        const { id } = await page.question(`text: "${text}"`);
        await page.ask(`/questions/${id}`, { answer });
        assertEquals((await called).content[0]?.text, text);
      }
      assertEquals((await call("four")).content[0]?.text, "four");
      const { questions } = await page.until(({ calls }) =>
        calls.filter(({ outcome }) => outcome === "ok").length === 3
      );
      assertEquals(questions.length, 3);
    });

    await t.step("a call that ends takes its question with it", async () => {
      const cancel = new AbortController();
      const called = office.agent.callTool("pc", "fail", {}, {
        signal: cancel.signal,
      });
      called.catch(() => {});
      const { id } = await page.question('"fail"');
      cancel.abort();
      const ended = await page.question('"fail"', "ended");
      assertEquals(ended.endedBy, "nobody");
      const late = await page.ask(`/questions/${id}`, { answer: "once" });
      assertEquals(late.status, 409);
      await called.catch(() => {});
    });

    await t.step("what was never asked is not found", async () => {
      const { status } = await page.ask("/questions/x", { answer: "once" });
      assertEquals(status, 404);
    });
  },
);

Deno.test(
  "--ui: the page gives values of inputs, and answers what MCP servers ask, without a terminal",
  TIME,
  async (t) => {
    await using office = await startOffice();
    const tool = {
      name: "${input:size}_tool",
      inputSchema: { type: "object" },
    };
    const files = fixture({ only: ["ask"], extraTools: [tool] }, {
      default_tool_meta: { auto_apply: true },
    });
    await using config = await configFile({
      inputs: [
        {
          id: "key",
          type: "promptString",
          description: "The key",
          password: true,
          default: "a default that is not shown",
        },
        {
          id: "size",
          type: "pickString",
          description: "The size",
          options: ["small", "large"],
          default: "large",
        },
      ],
      servers: {
        files: {
          ...files,
          server_parameters: {
            ...files.server_parameters,
            env: {
              ...files.server_parameters.env,
              KEY: "${input:key}",
            },
          },
        },
      },
    });
    await using computer = runComputer(office, config.file, {
      flags: ["--ui", "--ui-port", "0"],
    });
    await using page = await openPage(await pageLink(computer));

    await t.step("inputs", async () => {
      const size = await page.question("The size");
      assertEquals(size.asking, {
        kind: "input",
        type: "pickString",
        isSecret: false,
        options: ["small", "large"],
        fallback: 1,
      });
      const wrong = await page.ask(`/questions/${size.id}`, { option: 2 });
      assertEquals(wrong.status, 400);
      await page.ask(`/questions/${size.id}`, { option: 0 });
      const key = await page.question("The key");
      assertEquals(key.asking, {
        kind: "input",
        type: "promptString",
        isSecret: true,
        options: [],
      });
      await page.ask(`/questions/${key.id}`, { value: "s3cret-value" });
      await page.until(({ computer }) =>
        computer.tools.some(({ name }) => name === "small_tool") &&
        computer.office === OFFICE
      );
      await computer.line(
        /^answered on the page: The key \(input "key"\) Answered$/,
      );
      assert(!computer.lines.join("\n").includes("s3cret"));
      const { questions } = await page.until(() => true);
      assert(!JSON.stringify(questions).includes("s3cret"));
    });

    await t.step("elicitation", async () => {
      const called = office.agent.callTool("pc", "ask", {});
      const asked = await page.question('MCP server "files" asks while agent');
      assertStringIncludes(asked.text, "Who are you?");
      assertEquals(asked.asking, {
        kind: "elicit",
        choices: [
          { answer: "accept", label: "Answer" },
          { answer: "decline", label: "Decline" },
        ],
        fields: [{
          kind: "text",
          name: "name",
          label: "name",
          isRequired: true,
          isSecret: false,
          minLength: 2,
        }],
      });
      const answer = (body: unknown) =>
        page.ask(`/questions/${asked.id}`, body);
      const short = await answer({ action: "accept", content: { name: "x" } });
      assertEquals(short.body.errors, [{
        field: "name",
        problem: "At least 2 characters",
        fix: "correct it",
      }]);
      const more = await answer({
        action: "accept",
        content: { name: "Ann", more: 1 },
      });
      assertEquals(more.body.errors[0].field, "more");
      await answer({ action: "accept", content: { name: "Ann" } });
      assertEquals(JSON.parse((await called).content[0]?.text ?? ""), {
        action: "accept",
        content: { name: "Ann" },
      });
    });
  },
);
