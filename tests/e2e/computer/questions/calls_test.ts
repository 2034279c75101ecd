import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import type { CallToolOptions } from "../../../../agent/mod.ts";
import type { ElicitRequest } from "../../../../computer/mod.ts";
import {
  type CallToolResult,
  ProtocolError,
  resultMeta,
} from "../../../../protocol/mod.ts";
import { OFFICE } from "../../../support/office.ts";
import { startComputer, takeSeat } from "../../../support/computer/computer.ts";
import { everything, fixture } from "../../../support/computer/mcp_servers.ts";
import { keepTimers } from "../../../support/timers.ts";

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
  "an MCP server that wants a page to be opened is told that nobody does, and its caller which page",
  TIME,
  async () => {
    await using pc = await startComputer({ fix: fixture({ only: ["page"] }) }, {
      elicit: () => ({ action: "accept", content: {} }),
    });
    const { agent } = pc.office;
    const onElicit = () => ({ action: "accept" as const, content: {} });
    const asked = await agent.callTool("pc", "page", { asks: true }, {
      onElicit,
    });
    assert(asked.isError);
    assertStringIncludes(
      textOf(asked),
      "Client does not support URL-mode elicitation requests",
    );
    const failed = await agent.callTool("pc", "page", {}, { onElicit });
    assert(failed.isError);
    assertStringIncludes(
      textOf(failed),
      `MCP server "fix" needs somebody to open https://sign-in.example/x first; then call again`,
    );
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
    using timers = keepTimers(2_000);
    const wire = await takeSeat(pc.office);
    const late = wire.call({ tool_name: "ask", timeout: 2 });
    await seen.promise;
    timers.fire();
    assertEquals(resultMeta(await late).error_code, 4004);
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

Deno.test(
  "without a person at the Computer, the Agent answers; again and again",
  TIME,
  async () => {
    await using pc = await startComputer({ files: asking() });
    const { agent } = pc.office;
    const asked: string[] = [];
    const result = await agent.callTool("pc", "ask", { rounds: 2 }, {
      onElicit: ({ message }) => {
        asked.push(message);
        return { action: "accept", content: { name: `Ann${asked.length}` } };
      },
    });
    assertEquals(JSON.parse(textOf(result)), [
      { action: "accept", content: { name: "Ann1" } },
      { action: "accept", content: { name: "Ann2" } },
    ]);
    assertEquals(asked, ["Who are you?", "Who are you?"]);
  },
);

Deno.test(
  "the person at the Computer comes before the Agent",
  TIME,
  async () => {
    await using pc = await startComputer({ files: asking() }, {
      elicit: () => ({ action: "decline" }),
    });
    const result = await pc.office.agent.callTool("pc", "ask", {}, {
      onElicit: () => {
        throw new Error("asked");
      },
    });
    assertEquals(JSON.parse(textOf(result)), { action: "decline" });
  },
);

Deno.test("request_state is of one call and one answer", TIME, async () => {
  await using pc = await startComputer({ files: asking() });
  const { agent } = pc.office;
  const question = await agent.callTool("pc", "ask", {}, { input: {} });
  assertEquals(question.resultType, "input_required");
  const state = String(question.requestState);
  const responses = { question: { action: "decline" as const } };
  for (
    const [params, input] of [
      [{ other: 1 }, { state, responses }],
      [{}, { state: "x", responses }],
      [{}, { state }],
    ] as const
  ) {
    await assertRejects(
      () => agent.callTool("pc", "ask", params, { input }),
      ProtocolError,
      "Cannot continue the call",
    );
  }
  const input = { state, responses };
  const result = await agent.callTool("pc", "ask", {}, { input });
  assertEquals(JSON.parse(textOf(result)), { action: "decline" });
  await assertRejects(
    () => agent.callTool("pc", "ask", {}, { input }),
    ProtocolError,
    "request_state is unknown",
  );
});

Deno.test(
  "a question ends when its Agent cancels the call, or leaves",
  TIME,
  async () => {
    await using pc = await startComputer({ files: asking() });
    const { agent } = pc.office;
    const ask = async (reqId: string) =>
      String(
        (await agent.callTool("pc", "ask", {}, { input: {}, reqId }))
          .requestState,
      );
    const answer = (state: string) =>
      agent.callTool("pc", "ask", {}, {
        input: { state, responses: { question: { action: "decline" } } },
      });
    const cancelled = await ask("a");
    agent.cancel("a");
    await assertRejects(() => answer(cancelled), ProtocolError, "unknown");
    const left = await ask("b");
    await agent.leave();
    await agent.join(OFFICE);
    await assertRejects(() => answer(left), ProtocolError, "unknown");
  },
);

Deno.test(
  "a question that the MCP server names has that name, and an answer that came with the call",
  TIME,
  async () => {
    await using pc = await startComputer({ files: asking() });
    const { agent } = pc.office;
    const ann = { action: "accept" as const, content: { name: "Ann" } };
    const call = (input: NonNullable<CallToolOptions["input"]>) =>
      agent.callTool("pc", "ask", { key: "who" }, { input });
    const known = await call({ responses: { who: ann, other: ann } });
    assertEquals(JSON.parse(textOf(known)), ann);
    const question = await call({ responses: { other: ann } });
    assertEquals(Object.keys(question.inputRequests as object), ["who"]);
    const state = String(question.requestState);
    await assertRejects(
      () => call({ state, responses: { question: ann } }),
      ProtocolError,
      "input_responses.who is required",
    );
    const answered = await call({ state, responses: { who: ann } });
    assertEquals(JSON.parse(textOf(answered)), ann);
    for (const key of ["", "__proto__", "two words", "x".repeat(65), 7]) {
      const unnamed = await agent.callTool("pc", "ask", { key }, {
        input: {},
        reqId: `unnamed ${key}`,
      });
      assertEquals(Object.keys(unnamed.inputRequests as object), ["question"]);
      agent.cancel(`unnamed ${key}`);
    }
  },
);
