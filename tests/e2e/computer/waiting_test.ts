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
import { resultMeta, type ToolProgress } from "../../../protocol/mod.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import { runMain, startMain } from "../../support/command.ts";
import {
  endOf,
  startComputer,
  takeSeat,
} from "../../support/computer/computer.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { CLIENTS } from "../../support/mcp/clients.ts";
import { serveOffice } from "../../support/mcp/gateway.ts";
import { OFFICE } from "../../support/office.ts";
import { openEvents, operate } from "../../support/server/operator_client.ts";
import { rawPair } from "../../support/wire/raw_client.ts";

const TOKEN = "0123456789abcdef0123456789abcdef";
const files = () => fixture({ only: ["echo"] });
const X = { text: "x" };

/** A person who is asked any number of times, and says nothing before the test does. */
function person() {
  const says: ((answer: ConfirmAnswer) => void)[] = [];
  let wake = () => {};
  const confirm: Confirm = () =>
    new Promise((say) => {
      says.push(say);
      wake();
    });
  /** Resolves with the answer to the question of this number, once it is asked. */
  const asked = async (at = 0) => {
    while (!says[at]) await new Promise<void>((resolve) => wake = resolve);
    return says[at];
  };
  const say = async (answer: ConfirmAnswer, at?: number) =>
    (await asked(at))(answer);
  return { confirm, asked, say };
}

/** Collects reports. */
function reports() {
  const all: ToolProgress[] = [];
  let wake = () => {};
  return {
    onProgress: (report: ToolProgress) => {
      all.push(report);
      wake();
    },
    /** Resolves with all when there are as many. */
    until: async (count: number) => {
      while (all.length < count) await new Promise<void>((r) => wake = r);
      return all;
    },
  };
}

const WAITS = (place: string) => ({
  progress: 0,
  message: `waits for confirmation at ${place}`,
  waiting: "confirmation" as const,
});
const GOES_ON = { progress: 0, waiting: null };

Deno.test("a call that waits for confirmation says so at once, and that it goes on", async () => {
  const { confirm, say } = person();
  await using pc = await startComputer({ files: files() }, { confirm });
  const { onProgress, until } = reports();
  const call = pc.call("echo", X, { onProgress });
  assertEquals(await until(1), [WAITS("pc")]);
  await say("once");
  assertEquals(await until(2), [WAITS("pc"), GOES_ON]);
  const { text, result } = await call;
  assertEquals([text, waitedFor(result)], ["x", undefined]);
  // Without a Server it has no name.
  await using host = new ToolHost({ servers: { files: files() }, confirm });
  await host.start();
  const local = reports();
  const own = host.callTool("echo", X, { onProgress: local.onProgress });
  assertEquals(await local.until(1), [WAITS("the Computer")]);
  await say("no", 1);
  assertEquals(waitedFor(await own), "confirmation");
});

const LATE = {
  error_code: 4004,
  a2c_timeout: true,
  timeout: true,
  a2c_waited_for: "confirmation",
};

Deno.test("the result of a call that nobody confirmed says so, also where the caller asked for no progress", async () => {
  const { confirm, say } = person();
  await using pc = await startComputer({ files: files() }, { confirm });
  const { text, meta, result } = await pc.call("echo", X, {
    confirmationTimeoutMs: 1000,
  });
  assertEquals([meta, waitedFor(result)], [LATE, "confirmation"]);
  assertEquals(
    text,
    "The call was not confirmed at pc within 1 s; the tool did not run",
  );
  await say("no");
});

Deno.test("a Computer's own answer says what the call waited for: at its timeout, when it is cancelled, and after a no", async () => {
  const { confirm, asked, say } = person();
  await using pc = await startComputer({ files: files() }, { confirm });
  const wire = await takeSeat(pc.office);
  const call = async (req_id: string, timeout = 30) =>
    endOf(await wire.call({ tool_name: "echo", params: X, req_id, timeout }));
  const late = await call("1", 1);
  assertEquals(late.meta, LATE);
  assertStringIncludes(late.text, "not confirmed at pc");

  const cancelled = call("2");
  await asked(1);
  wire.connection.send("server:tool_call_cancel", {
    agent: "wire",
    req_id: "2",
  });
  assertEquals((await cancelled).meta, {
    a2c_cancelled: true,
    a2c_cancel_reason: "agent_requested",
    a2c_waited_for: "confirmation",
  });

  const declined = call("3");
  await say("no", 2);
  const { meta, text } = await declined;
  assertEquals(meta, { error_code: 4005, a2c_waited_for: "confirmation" });
  assertStringIncludes(text, "The person at pc refused");
});

Deno.test("a call whose MCP server asks a person waits for an answer", async () => {
  const answer = Promise.withResolvers<ElicitResult>();
  await using pc = await startComputer({
    files: fixture({ only: ["ask"] }, {
      default_tool_meta: { auto_apply: true },
    }),
  }, { elicit: () => answer.promise });
  const { onProgress, until } = reports();
  const call = pc.call("ask", {}, { onProgress });
  const waits = {
    progress: 0,
    message: "waits for an answer at pc",
    waiting: "answer" as const,
  };
  assertEquals(await until(1), [waits]);
  answer.resolve({ action: "decline" });
  assertEquals((await call).result.isError ?? false, false);
  assertEquals(await until(2), [waits, GOES_ON]);
});

Deno.test("reports of waiting go to Agents that ask for them, and to no others", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using pair = await rawPair(url);
  const { agent, computer } = pair;
  const heard: unknown[] = [];
  for (const progress of [undefined, "other", "waiting", true]) {
    const req_id = `r${progress}`;
    const called = Promise.withResolvers<(answer: unknown) => void>();
    computer.handle("client:tool_call", (_, ack) => called.resolve(ack));
    const call = agent.ask("client:tool_call", {
      agent: "agent",
      req_id,
      computer: "computer",
      tool_name: "t",
      params: {},
      timeout: 60,
      ...(progress !== undefined && { progress }),
    });
    const answer = await called.promise;
    for (const waiting of ["confirmation", "of a later version", undefined]) {
      await computer.request("server:tool_call_progress", {
        computer: "computer",
        agent: "agent",
        req_id,
        progress: 0,
        message: "waits for confirmation at computer",
        ...(waiting !== undefined && { waiting }),
      });
    }
    answer({ content: [] });
    await call;
    heard.push(
      agent.heard.splice(0)
        .filter(({ event }) => event === "notify:tool_call_progress")
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

Deno.test("operators see what calls wait for: in the list of calls, in the stream, and of their own", async () => {
  const { confirm, say } = person();
  await using pc = await startComputer({ files: files() }, { confirm }, {
    server: { operator: { token: TOKEN } },
  });
  const { url } = pc.office;
  const token = TOKEN;
  await using events = await openEvents(url, { token });
  await events.nextOf("open");
  const waiting = async () => {
    const { data } = await events.nextOf("call_waiting");
    return [data.agent, data.computer, data.req_id, data.tool, data.waiting];
  };
  const call = pc.call("echo", X, { reqId: "r1" });
  assertEquals(await waiting(), [
    "planner",
    "pc",
    "r1",
    "echo",
    "confirmation",
  ]);
  const { body } = await operate(url, `/offices/${OFFICE}/calls`, { token });
  const [{ waiting: shown, waiting_ms, ms }] = body.calls;
  assertEquals(shown, "confirmation");
  assert(waiting_ms >= 0 && waiting_ms <= ms);
  const env = { SMCP_URL: url, SMCP_TOKEN: TOKEN };
  const { stdout } = await runMain("server", ["calls", OFFICE], { env });
  assertMatch(stdout, / WAITS FOR +WAITS, S\nr1 .* confirmation +\d+\.\d\n$/);
  await say("once");
  assertEquals((await waiting()).at(-1), null);
  await call;

  const post = { tool_name: "echo", params: X, req_id: "mine" };
  const own = operate(url, `/offices/${OFFICE}/computers/pc/call`, {
    token,
    post,
  });
  assertEquals(await waiting(), [
    "operator",
    "pc",
    "mine",
    "echo",
    "confirmation",
  ]);
  await say("no", 1);
  assertEquals(resultMeta((await own).body).a2c_waited_for, "confirmation");
});

Deno.test("smcp-agent call shows that it waits, and that it was not confirmed", async () => {
  const { confirm, say } = person();
  await using pc = await startComputer({ files: files() }, { confirm });
  const { office } = pc;
  await office.agent.leave();
  await using command = startMain("agent", [
    ...["call", "echo", "--url", office.url, "--office", OFFICE],
    ...["--arg", "text=x", "--confirmation-timeout", "2"],
  ]);
  await command.line(/^waits for confirmation at pc$/);
  assertEquals((await command.status).code, 1);
  const output = command.lines.join("\n");
  assertStringIncludes(output, "The call was not confirmed at pc within 2 s");
  assertStringIncludes(output, "not confirmed in time");
  assertEquals(output.includes(" --timeout"), false, output);
  await say("no");
});

for (const [kind, connect] of Object.entries(CLIENTS)) {
  Deno.test(`${kind}: a client of officeMcp() gets a progress message while its call waits for confirmation`, async () => {
    const { confirm, say } = person();
    await using office = await serveOffice({ computer: { confirm } });
    await using client = await connect(office);
    const waits = Promise.withResolvers<void>();
    const call = client.call("pc__echo", X, {
      onprogress: ({ message }) => {
        if (message?.startsWith("waits for confirmation at pc")) {
          waits.resolve();
        }
      },
    });
    await waits.promise;
    await say("no");
    assertEquals((await call)._meta?.a2c_waited_for, "confirmation");
  });
}
