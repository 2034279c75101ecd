import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { waitedFor } from "../../../agent/mod.ts";
import {
  type Confirm,
  type ConfirmAnswer,
  type ElicitResult,
  ToolHost,
} from "../../../computer/mod.ts";
import {
  type CallToolResult,
  CANCEL_TOOL_CALL_EVENT,
  resultMeta,
  TOOL_CALL_EVENT,
  TOOL_CALL_PROGRESS_EVENT,
  TOOL_CALL_PROGRESS_NOTIFICATION,
  type ToolProgress,
} from "../../../protocol/mod.ts";
import { runMain, startMain } from "../../support/command.ts";
import { startComputer, takeSeat } from "../../support/computer/computer.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { CLIENTS } from "../../support/mcp/clients.ts";
import { serveOffice } from "../../support/mcp/office.ts";
import { OFFICE } from "../../support/office.ts";
import { openEvents, operate } from "../../support/server/operator_client.ts";
import { rawPair } from "../../support/wire/raw_client.ts";
import { createSmcpServer } from "../../../server/mod.ts";

const TIME = { timeout: 120_000 };
const TOKEN = "0123456789abcdef0123456789abcdef";
const files = () => fixture({ only: ["echo", "ask"] });
const textOf = ({ content }: CallToolResult) => content[0]?.text ?? "";

/** A person who says nothing before the test does. */
function person() {
  const asked = Promise.withResolvers<void>();
  const said = Promise.withResolvers<ConfirmAnswer>();
  const confirm: Confirm = () => {
    asked.resolve();
    return said.promise;
  };
  return { confirm, asked: asked.promise, say: said.resolve };
}

/** Collects reports; resolves when there are as many. */
function reports() {
  const all: ToolProgress[] = [];
  const waiting: { count: number; done: () => void }[] = [];
  return {
    all,
    take: (report: ToolProgress) => {
      all.push(report);
      for (const each of waiting) if (all.length >= each.count) each.done();
    },
    until: (count: number) =>
      new Promise<void>((done) => waiting.push({ count, done })),
  };
}

const WAITS = {
  progress: 0,
  message: "waits for confirmation at pc",
  waiting: "confirmation",
} as const;

Deno.test(
  "a call that waits for confirmation says so at once, and that it goes on",
  TIME,
  async () => {
    const { confirm, say } = person();
    await using pc = await startComputer({ files: files() }, { confirm });
    const told = reports();
    const first = told.until(1);
    const call = pc.office.agent.callTool("pc", "echo", { text: "x" }, {
      onProgress: told.take,
    });
    await first;
    assertEquals(told.all, [WAITS]);
    const goesOn = told.until(2);
    say("once");
    await goesOn;
    assertEquals(told.all[1], { progress: 0, waiting: null });
    const result = await call;
    assertEquals([textOf(result), waitedFor(result)], ["x", undefined]);
  },
);

Deno.test(
  "the result of a call that nobody confirmed says so, also where the caller asked for no progress",
  TIME,
  async () => {
    const { confirm, say } = person();
    await using pc = await startComputer({ files: files() }, { confirm });
    const { agent } = pc.office;
    const result = await agent.callTool("pc", "echo", { text: "x" }, {
      timeoutMs: 1000,
    });
    assertEquals(resultMeta(result), {
      error_code: 4004,
      a2c_timeout: true,
      timeout: true,
      a2c_waited_for: "confirmation",
    });
    assertEquals(waitedFor(result), "confirmation");
    assertEquals(
      textOf(result),
      "Nobody at pc confirmed the call within 1 s; the tool did not run",
    );
    say("no");
  },
);

Deno.test(
  "a Computer's own answer says what the call waited for: at its timeout, when it is cancelled, and after a no",
  TIME,
  async () => {
    const say: ((answer: ConfirmAnswer) => void)[] = [];
    const asked = [0, 1, 2].map(() => Promise.withResolvers<void>());
    await using pc = await startComputer({ files: files() }, {
      confirm: () =>
        new Promise((resolve) => {
          asked[say.push(resolve) - 1]?.resolve();
        }),
    });
    const wire = await takeSeat(pc.office);
    const params = { text: "x" };
    const echo = { tool_name: "echo", params };
    const late = await wire.call({ ...echo, req_id: "1", timeout: 1 });
    assertEquals(resultMeta(late), {
      error_code: 4004,
      a2c_timeout: true,
      timeout: true,
      a2c_waited_for: "confirmation",
    });
    assertStringIncludes(textOf(late), "Nobody at pc confirmed");

    const cancelled = wire.call({ ...echo, req_id: "2" });
    await asked[1]?.promise;
    wire.connection.send(CANCEL_TOOL_CALL_EVENT, {
      agent: "wire",
      req_id: "2",
    });
    assertEquals(resultMeta(await cancelled), {
      a2c_cancelled: true,
      a2c_cancel_reason: "agent_requested",
      a2c_waited_for: "confirmation",
    });

    const declined = wire.call({ ...echo, req_id: "3" });
    await asked[2]?.promise;
    say[2]?.("no");
    assertEquals(resultMeta(await declined), {
      error_code: 4005,
      a2c_waited_for: "confirmation",
    });
    assertStringIncludes(textOf(await declined), "The person at pc refused");
  },
);

Deno.test(
  "a call whose MCP server asks a person waits for an answer",
  TIME,
  async () => {
    const answer = Promise.withResolvers<ElicitResult>();
    await using pc = await startComputer({
      files: fixture({ only: ["ask"] }, {
        default_tool_meta: { auto_apply: true },
      }),
    }, { elicit: () => answer.promise });
    const told = reports();
    const first = told.until(1);
    const call = pc.office.agent.callTool("pc", "ask", {}, {
      onProgress: told.take,
    });
    await first;
    assertEquals(told.all, [{
      progress: 0,
      message: "waits for an answer at pc",
      waiting: "answer",
    }]);
    answer.resolve({ action: "decline" });
    assertEquals((await call).isError ?? false, false);
    assertEquals(told.all.at(-1)?.waiting, null);
  },
);

Deno.test(
  "ToolHost.callTool() reports it too, without a name",
  TIME,
  async () => {
    const { confirm, say } = person();
    await using host = new ToolHost({ servers: { files: files() }, confirm });
    await host.start();
    const told = reports();
    const first = told.until(1);
    const call = host.callTool("echo", { text: "x" }, {
      onProgress: told.take,
    });
    await first;
    assertEquals(told.all, [{
      ...WAITS,
      message: "waits for confirmation at the Computer",
    }]);
    say("no");
    assertEquals(waitedFor(await call), "confirmation");
  },
);

Deno.test("reports of waiting go to Agents that ask for them, and to no others", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using pair = await rawPair(url);
  const { agent, computer } = pair;
  const report = {
    computer: "computer",
    agent: "agent",
    progress: 0,
    message: "waits for confirmation at computer",
  };
  const heard: unknown[] = [];
  for (const progress of [undefined, "other", "waiting", true]) {
    const req_id = `r${progress}`;
    const called = Promise.withResolvers<(answer: unknown) => void>();
    computer.handle(TOOL_CALL_EVENT, (_, ack) => called.resolve(ack));
    const call = agent.ask(TOOL_CALL_EVENT, {
      agent: "agent",
      req_id,
      computer: "computer",
      tool_name: "t",
      params: {},
      timeout: 60,
      ...(progress !== undefined && { progress }),
    });
    const answer = await called.promise;
    const waits = { ...report, req_id, waiting: "confirmation" };
    await computer.request(TOOL_CALL_PROGRESS_EVENT, waits);
    await computer.request(TOOL_CALL_PROGRESS_EVENT, {
      ...report,
      req_id,
      waiting: "of a later version",
    });
    await computer.request(TOOL_CALL_PROGRESS_EVENT, { ...report, req_id });
    answer({ content: [] });
    await call;
    heard.push(
      agent.heard.splice(0)
        .filter(({ event }) => event === TOOL_CALL_PROGRESS_NOTIFICATION)
        .map(({ payload }) => Object(payload).waiting),
    );
  }
  assertEquals(heard, [
    [],
    [],
    ["confirmation", null],
    ["confirmation", null, undefined],
  ]);
});

Deno.test(
  "operators see what calls wait for: in the list of calls, in the stream, and of their own",
  TIME,
  async () => {
    const people = [person(), person()];
    let asked = 0;
    await using pc = await startComputer({ files: files() }, {
      confirm: (...question) => people[asked++]?.confirm(...question) ?? "no",
    }, { server: { operator: { token: TOKEN } } });
    const { url, agent } = pc.office;
    await using events = await openEvents(url, { token: TOKEN });
    await events.nextOf("open");
    const call = agent.callTool("pc", "echo", { text: "x" }, { reqId: "r1" });
    const began = (await events.nextOf("call_waiting")).data;
    assertEquals(
      [began.agent, began.computer, began.req_id, began.tool, began.waiting],
      ["planner", "pc", "r1", "echo", "confirmation"],
    );
    const { body } = await operate(url, `/offices/${OFFICE}/calls`, {
      token: TOKEN,
    });
    assertEquals(body.calls[0].waiting, "confirmation");
    const env = { SMCP_URL: url, SMCP_TOKEN: TOKEN };
    const { stdout } = await runMain("server", ["calls", OFFICE], { env });
    assertMatch(stdout, / WAITS FOR\nr1 .* confirmation\n$/);
    people[0]?.say("once");
    assertEquals((await events.nextOf("call_waiting")).data.waiting, null);
    await call;

    const own = operate(url, `/offices/${OFFICE}/computers/pc/call`, {
      token: TOKEN,
      post: { tool_name: "echo", params: { text: "y" }, req_id: "mine" },
    });
    const { data } = await events.nextOf("call_waiting");
    assertEquals([data.agent, data.req_id, data.tool, data.waiting], [
      "operator",
      "mine",
      "echo",
      "confirmation",
    ]);
    people[1]?.say("no");
    assertEquals(resultMeta((await own).body).a2c_waited_for, "confirmation");
  },
);

Deno.test(
  "smcp-agent call says that it waits, and that nobody confirmed it",
  TIME,
  async () => {
    const { confirm, say } = person();
    await using pc = await startComputer({ files: files() }, { confirm });
    const { office } = pc;
    await office.agent.leave();
    await using command = startMain("agent", [
      ...["call", "echo", "--url", office.url, "--office", OFFICE],
      ...["--arg", "text=x", "--timeout", "15"],
    ]);
    await command.line(/^waits for confirmation at pc$/);
    const { code } = await command.status;
    assertEquals(code, 1);
    const output = command.lines.join("\n");
    assertStringIncludes(output, "Nobody at pc confirmed the call within 15 s");
    assertStringIncludes(output, "nobody confirmed it");
    assert(!output.includes("--timeout"), output);
    say("no");
  },
);

for (const [kind, connect] of Object.entries(CLIENTS)) {
  Deno.test(
    `${kind}: a client of officeMcp() gets a progress message while its call waits for confirmation`,
    TIME,
    async () => {
      const { confirm, say } = person();
      await using office = await serveOffice({ computer: { confirm } });
      await using client = await connect(office);
      const waits = Promise.withResolvers<void>();
      const call = client.call("pc__echo", { text: "x" }, {
        onprogress: ({ message }) => {
          if (message?.startsWith("waits for confirmation at pc")) {
            waits.resolve();
          }
        },
      });
      await waits.promise;
      say("no");
      const result = await call;
      assertEquals(result._meta?.a2c_waited_for, "confirmation");
    },
  );
}
