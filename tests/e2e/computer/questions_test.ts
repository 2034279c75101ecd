import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import type { CallToolOptions } from "../../../agent/mod.ts";
import type { ElicitRequest, ElicitResult } from "../../../computer/mod.ts";
import {
  type CallToolResult,
  ProtocolError,
  resultMeta,
} from "../../../protocol/mod.ts";
import { ASKING_URI, conformanceHttp } from "../../mcp/conformance/server.ts";
import { startComputer, takeSeat } from "../../support/computer/computer.ts";
import { everything, fixture } from "../../support/computer/mcp_servers.ts";
import { OFFICE } from "../../support/office.ts";
import { keepTimers } from "../../support/timers.ts";

const YES = { default_tool_meta: { auto_apply: true } };
const asking = () => ({ files: fixture({ only: ["ask"] }, YES) });
const accept = (content: Record<string, unknown>) =>
  ({ action: "accept", content }) as ElicitResult;
const DECLINE: ElicitResult = { action: "decline" };

type Input = NonNullable<CallToolOptions["input"]>;

Deno.test("an MCP server that asks is answered by the person at the Computer, before the Agent; a wrong answer refuses the question", async () => {
  const asked: ElicitRequest[] = [];
  const answers = [
    accept({ name: "Ann" }),
    DECLINE,
    { action: "cancel" } as const,
  ];
  const todo: (() => ElicitResult)[] = [
    ...answers.map((answer) => () => answer),
    () => accept({ name: "x" }), // its form wants two letters
    () => {
      throw new Error("my password is hunter2");
    },
  ];
  await using pc = await startComputer(asking(), {
    elicit: (request) => {
      asked.push(request);
      return todo.shift()!();
    },
  });
  const onElicit = () => {
    throw new Error("asked");
  };
  for (const answer of answers) {
    const { text } = await pc.call("ask", {}, { onElicit });
    assertEquals(JSON.parse(text), answer);
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
  while (todo.length > 0) {
    const { text, result } = await pc.call("ask");
    assert(result.isError);
    assertStringIncludes(text, "asking the person");
    assert(!text.includes("hunter2"));
  }
});

const ACCEPT: ElicitResult = { action: "accept" };
const PAGE = {
  mode: "url",
  message: "Sign in",
  url: "https://sign-in.example/x",
} as const;
const pages = () => ({ fix: fixture({ only: ["page"] }, YES) });

Deno.test("an MCP server that asks for a page to be opened is answered by the person at the Computer", async () => {
  const asked: ElicitRequest[] = [];
  await using pc = await startComputer(pages(), {
    elicit: (request) => {
      asked.push(request);
      return ACCEPT;
    },
  });
  const { text } = await pc.call("page", { asks: true });
  assertEquals(JSON.parse(text), ACCEPT);
  const { url, message } = PAGE;
  assertEquals(asked.map(({ url, message }) => ({ url, message })), [
    { url, message },
  ]);
});

Deno.test("an Agent that opens pages is asked to; one that answers forms alone is not, and gets the page where the call needs it", async () => {
  await using pc = await startComputer(pages());
  const seen: unknown[] = [];
  const { text } = await pc.call("page", { asks: true }, {
    onElicitUrl: (page) => {
      seen.push(page);
      return DECLINE;
    },
  });
  assertEquals(JSON.parse(text), DECLINE);
  assertEquals(seen, [{ ...PAGE, elicitationId: "1" }]);
  const rows: [Record<string, unknown>, string][] = [
    [{ asks: true }, 'accepts no questions of the mode "url"'],
    [
      {},
      'MCP server "fix" needs a person to open https://sign-in.example/x first; then call again',
    ],
  ];
  const onElicit = () => ACCEPT;
  for (const [params, expected] of rows) {
    const { text, result } = await pc.call("page", params, { onElicit });
    assert(result.isError);
    assertStringIncludes(text, expected);
  }
});

Deno.test("a call that needs a page is made again once the server reports that the person is done; the question is withdrawn", async () => {
  const open: AbortSignal[] = [];
  await using pc = await startComputer(pages(), {
    elicit: (_, signal) => {
      open.push(signal);
      void pc.call("page", { done: true });
      return new Promise(() => {});
    },
  });
  const { text } = await pc.call("page");
  assertEquals(text, "signed in");
  assertEquals(open.map(({ aborted }) => aborted), [true]);
});

Deno.test("a call that needs a page fails with it when the person declines", async () => {
  await using pc = await startComputer(pages(), { elicit: () => DECLINE });
  const { text, result } = await pc.call("page");
  assert(result.isError);
  assertStringIncludes(text, PAGE.url);
});

Deno.test("a call that is cancelled or times out withdraws its question", async () => {
  const open: AbortSignal[] = [];
  let seen = Promise.withResolvers<void>();
  await using pc = await startComputer(asking(), {
    elicit: (_, signal) => {
      open.push(signal);
      seen.resolve();
      return new Promise(() => {});
    },
  });
  const withdrawn = async (at: number) => {
    const signal = open[at]!;
    if (!signal.aborted) {
      await new Promise((done) => signal.addEventListener("abort", done));
    }
  };
  const cancel = new AbortController();
  const call = pc.call("ask", {}, { signal: cancel.signal });
  await seen.promise;
  seen = Promise.withResolvers();
  cancel.abort();
  await call.catch(() => {});
  await withdrawn(0);
  using timers = keepTimers(2_000);
  const wire = await takeSeat(pc.office);
  const late = wire.call({ tool_name: "ask", timeout: 2 });
  await seen.promise;
  timers.fire();
  assertEquals(resultMeta(await late).error_code, 4004);
  await withdrawn(1);
});

Deno.test("server-everything's form is answered", async () => {
  await using pc = await startComputer({
    everything: { ...everything(), ...YES },
  }, {
    elicit: () => accept({ name: "Ann", check: true }),
  });
  assertStringIncludes(
    (await pc.call("trigger-elicitation-request")).text,
    "Ann",
  );
});

Deno.test("without a person at the Computer the Agent answers, again and again; without one that can, the MCP server says that it cannot ask", async () => {
  await using pc = await startComputer(asking());
  const nobody = await pc.call("ask");
  assert(nobody.result.isError);
  assertStringIncludes(nobody.text, "does not support");
  const asked: string[] = [];
  const { text } = await pc.call("ask", { rounds: 2 }, {
    onElicit: ({ message }) => accept({ name: `Ann${asked.push(message)}` }),
  });
  assertEquals(JSON.parse(text), [
    accept({ name: "Ann1" }),
    accept({ name: "Ann2" }),
  ]);
  assertEquals(asked, ["Who are you?", "Who are you?"]);
});

Deno.test("request_state is of one call and one answer, until its Agent cancels the call or leaves", async () => {
  await using pc = await startComputer(asking());
  const { agent } = pc.office;
  const ask = async (reqId: string) => {
    const { result } = await pc.call("ask", {}, { input: {}, reqId });
    assertEquals(result.resultType, "input_required");
    return String(result.requestState);
  };
  const responses = { question: DECLINE };
  const refused = (text: string, input: Input, params = {}) =>
    assertRejects(() => pc.call("ask", params, { input }), ProtocolError, text);
  const state = await ask("a");
  await refused("Cannot continue the call", { state, responses }, { other: 1 });
  await refused("Cannot continue the call", { state: "x", responses });
  await refused("Cannot continue the call", { state });
  const { text } = await pc.call("ask", {}, { input: { state, responses } });
  assertEquals(JSON.parse(text), DECLINE);
  await refused("request_state is unknown", { state, responses });
  const cancelled = await ask("b");
  agent.cancel("b");
  await refused("unknown", { state: cancelled, responses });
  const left = await ask("c");
  await agent.leave();
  await agent.join(OFFICE);
  await refused("unknown", { state: left, responses });
});

Deno.test("a question that the MCP server names has that name, and an answer that came with the call", async () => {
  await using pc = await startComputer(asking());
  const ann = accept({ name: "Ann" });
  const call = (input: Input) => pc.call("ask", { key: "who" }, { input });
  const names = (result: CallToolResult) =>
    Object.keys(Object(result.inputRequests));
  const known = await call({ responses: { who: ann, other: ann } });
  assertEquals(JSON.parse(known.text), ann);
  const { result } = await call({ responses: { other: ann } });
  assertEquals(names(result), ["who"]);
  const state = String(result.requestState);
  await assertRejects(
    () => call({ state, responses: { question: ann } }),
    ProtocolError,
    "input_responses.who is required",
  );
  const answered = await call({ state, responses: { who: ann } });
  assertEquals(JSON.parse(answered.text), ann);
  for (const key of ["", "__proto__", "two words", "x".repeat(65), 7]) {
    const reqId = `unnamed ${key}`;
    const unnamed = await pc.call("ask", { key }, { input: {}, reqId });
    assertEquals(names(unnamed.result), ["question"]);
    pc.office.agent.cancel(reqId);
  }
});

Deno.test("questions of an MCP server for a prompt are answered by the person at the Computer, else by the Agent; those of a read are not of the call that runs", async () => {
  await using served = await conformanceHttp();
  const servers = {
    conf: {
      type: "streamable" as const,
      server_parameters: { url: served.url },
      ...YES,
    },
  };
  const name = "test_input_required_result_prompt";
  const rain = accept({ context: "rain" });
  const asked: ElicitRequest[] = [];
  await using withPerson = await startComputer(servers, {
    elicit: (request) => {
      asked.push(request);
      return rain;
    },
  });
  const got = await withPerson.office.agent.getPrompt("pc", "conf", name, {
    input: {},
  });
  assertStringIncludes(JSON.stringify(got.messages), "About: rain");
  assertEquals(asked.map(({ server, agent, tool }) => [server, agent, tool]), [[
    "conf",
    "planner",
    undefined,
  ]]);

  await using alone = await startComputer(servers);
  const { agent } = alone.office;
  const question = await agent.getPrompt("pc", "conf", name, { input: {} });
  assertEquals(question.resultType, "input_required");
  assertEquals(Object.keys(question.inputRequests ?? {}), ["user_context"]);
  const input = {
    state: String(question.requestState),
    responses: { user_context: rain },
  };
  const answered = await agent.getPrompt("pc", "conf", name, { input });
  assertStringIncludes(JSON.stringify(answered.messages), "About: rain");
  await assertRejects(
    () => agent.getPrompt("pc", "conf", name),
    ProtocolError,
    "the caller accepts no questions",
  );

  const tool = "test_input_required_result_elicitation";
  const { result } = await alone.call(tool, {}, { input: {} });
  assertEquals(result.resultType, "input_required"); // the call goes on
  await assertRejects(
    () => agent.readResource("pc", "conf", ASKING_URI),
    ProtocolError,
    "no tool call is running",
  );
  const state = String(result.requestState);
  const responses = { user_name: accept({ name: "Ann" }) };
  const { text } = await alone.call(tool, {}, { input: { state, responses } });
  assertStringIncludes(text, "Hello, Ann!");
});
