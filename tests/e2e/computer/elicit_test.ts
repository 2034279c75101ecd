import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { ElicitRequest } from "../../../computer/mod.ts";
import { type CallToolResult, resultMeta } from "../../../protocol/mod.ts";
import { startComputer } from "../../support/computer/computer.ts";
import { everything, fixture } from "../../support/computer/mcp_servers.ts";

const TIME = { timeout: 120_000 };

const asking = () =>
  fixture({ only: ["ask"] }, {
    default_tool_meta: { auto_apply: true },
  });

const textOf = ({ content }: CallToolResult) => content[0]?.text ?? "";

Deno.test(
  "an MCP server that asks is answered by the person at the Computer",
  TIME,
  async () => {
    const asked: ElicitRequest[] = [];
    const answers = [
      { action: "accept" as const, content: { name: "Ann" } },
      { action: "decline" as const },
      { action: "cancel" as const },
    ];
    const todo = [...answers];
    await using pc = await startComputer({ files: asking() }, {
      elicit: (request) => {
        asked.push(request);
        return todo.shift() ?? { action: "cancel" };
      },
    });
    const { agent } = pc.office;
    for (const answer of answers) {
      const result = await agent.callTool("pc", "ask", {});
      assertEquals(JSON.parse(textOf(result)), answer);
    }
    assertEquals(asked[0], {
      server: "files",
      agent: "planner",
      tool: "ask",
      message: "Who are you?",
      requestedSchema: {
        type: "object",
        properties: { name: { type: "string", minLength: 2 } },
        required: ["name"],
      },
    });
  },
);

Deno.test(
  "values that the form does not allow, and an error, refuse the question; their text stays here",
  TIME,
  async () => {
    const answers = [
      () => ({ action: "accept" as const, content: { name: "x" } }),
      () => {
        throw new Error("my password is hunter2");
      },
    ];
    await using pc = await startComputer({ files: asking() }, {
      elicit: () => answers.shift()?.() ?? { action: "cancel" },
    });
    for (let i = 0; i < 2; i++) {
      const result = await pc.office.agent.callTool("pc", "ask", {});
      assert(result.isError);
      assertStringIncludes(textOf(result), "asking the person");
      assert(!textOf(result).includes("hunter2"));
    }
  },
);

Deno.test(
  "nobody at the Computer: the MCP server says that it cannot ask",
  TIME,
  async () => {
    await using pc = await startComputer({ files: asking() });
    const result = await pc.office.agent.callTool("pc", "ask", {});
    assert(result.isError);
    assertStringIncludes(textOf(result), "does not support");
  },
);

Deno.test(
  "a call that is cancelled or times out withdraws its question",
  TIME,
  async () => {
    const open: AbortSignal[] = [];
    let seen = Promise.withResolvers<void>();
    await using pc = await startComputer({ files: asking() }, {
      elicit: (_, signal) => {
        open.push(signal);
        seen.resolve();
        return new Promise(() => {});
      },
    });
    const { agent } = pc.office;
    const cancel = new AbortController();
    const call = agent.callTool("pc", "ask", {}, { signal: cancel.signal });
    await seen.promise;
    seen = Promise.withResolvers();
    const withdrawn = new Promise((done) =>
      open[0]?.addEventListener("abort", done)
    );
    cancel.abort();
    await call.catch(() => {});
    await withdrawn;
    const late = await agent.callTool("pc", "ask", {}, { timeoutMs: 2_000 });
    assertEquals(resultMeta(late).error_code, 4004);
    await seen.promise;
    if (!open[1]?.aborted) {
      await new Promise((done) => open[1]?.addEventListener("abort", done));
    }
  },
);

Deno.test("server-everything's form is answered", TIME, async () => {
  await using pc = await startComputer({
    everything: {
      ...everything(),
      default_tool_meta: { auto_apply: true },
    },
  }, {
    elicit: () => ({ action: "accept", content: { name: "Ann", check: true } }),
  });
  const { agent } = pc.office;
  const result = await agent.callTool("pc", "trigger-elicitation-request", {});
  assertStringIncludes(JSON.stringify(result.content), "Ann");
});
