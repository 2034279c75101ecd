import { assert, assertEquals, assertRejects } from "@std/assert";
import { type ToolCallAdvanced, ToolHost } from "../../../computer/mod.ts";
import {
  GET_TOOLS_EVENT,
  TOOL_CALL_EVENT,
  TOOL_CALL_PROGRESS_EVENT,
  type ToolCallReq,
  type ToolProgress,
} from "../../../protocol/mod.ts";
import { startComputer } from "../../support/computer/computer.ts";
import { createCounter } from "../../support/fixtures/counter.ts";
import { OFFICE, startOffice } from "../../support/office.ts";
import { joinRaw } from "../../support/wire/raw_client.ts";
import { everything } from "../../support/computer/mcp_servers.ts";

const AUTO = { default_tool_meta: { auto_apply: true } };

const servers = () => ({
  counter: { type: "in-process", server: createCounter(), ...AUTO },
} as const);

const step = (progress: number): ToolProgress => ({
  progress,
  total: 30,
  message: "counting",
});

/** Those in between may be told too on a slow machine: ten a second at most. */
function assertFromFirstToLast(told: readonly ToolProgress[]): void {
  assertEquals([told[0], told.at(-1)], [step(1), step(30)]);
  const steps = told.map(({ progress }) => progress);
  assertEquals(steps, steps.toSorted((a, b) => a - b));
  assertEquals(new Set(steps).size, steps.length);
  assert(steps.length < 30, `${steps}`);
}

Deno.test({
  name:
    "an Agent that asks is told how far its call is, the last report before the result, and one that does not ask is not (spec §7)",
  timeout: 120_000,
}, async () => {
  await using pc = await startComputer(servers());
  const { agent } = pc.office;
  const shown: ToolCallAdvanced[] = [];
  pc.computer.on("callProgress", (call) => shown.push(call));
  const told: ToolProgress[] = [];
  const options = {
    reqId: "c1",
    onProgress: (progress: ToolProgress) => told.push(progress),
  };
  const result = await agent.callTool("pc", "count", {}, options);
  assertEquals(result.content, [{ type: "text", text: "true" }]);
  assertFromFirstToLast(told);
  assertEquals(
    shown,
    told.map((progress) => ({
      agent: "planner",
      reqId: "c1",
      tool: "count",
      progress,
    })),
  );
  const before = told.length;
  const silent = await agent.callTool("pc", "count");
  assertEquals(silent.content, [{ type: "text", text: "false" }]);
  assertEquals(told.length, before);
});

Deno.test({
  name: "progress ends with the call: nothing comes after a cancel (spec §7)",
  timeout: 120_000,
}, async () => {
  await using pc = await startComputer(servers());
  const { agent } = pc.office;
  const cancel = new AbortController();
  const told: ToolProgress[] = [];
  const call = agent.callTool("pc", "count", { wait: true }, {
    signal: cancel.signal,
    onProgress: (progress) => {
      told.push(progress);
      if (progress.progress === 30) cancel.abort(new Error("enough"));
    },
  });
  await assertRejects(() => call, Error, "enough");
  assertFromFirstToLast(told);
  const before = told.length;
  await agent.callTool("pc", "count", {}, { onProgress: () => {} });
  assertEquals(told.length, before);
});

Deno.test("ToolHost.callTool() tells progress too, and a listener that throws disturbs nothing", async () => {
  await using host = new ToolHost({
    servers: servers(),
  });
  await host.start();
  const told: ToolProgress[] = [];
  const result = await host.callTool("count", {}, {
    onProgress: (progress) => {
      told.push(progress);
      throw new Error("from the listener");
    },
  });
  assertEquals(result.content, [{ type: "text", text: "true" }]);
  assertFromFirstToLast(told);
});

Deno.test("a Computer passes on title and icons of a tool (spec §4)", async () => {
  await using pc = await startComputer(servers());
  const [tool] = await pc.office.agent.getTools("pc");
  assertEquals([tool?.title, tool?.icons], [
    "Count",
    [{ src: "data:image/png;base64,AA==", sizes: ["any"] }],
  ]);
});

Deno.test({
  name:
    "the reference server's long operation tells its steps to the Agent (spec §7)",
  timeout: 180_000,
}, async () => {
  await using pc = await startComputer({
    everything: { ...everything(), ...AUTO },
  });
  const told: ToolProgress[] = [];
  const result = await pc.office.agent.callTool(
    "pc",
    "trigger-long-running-operation",
    { duration: 3, steps: 4 },
    { onProgress: (progress) => told.push(progress) },
  );
  assert(!result.isError, JSON.stringify(result));
  // On a machine that stalls, reports come together, and those in between are left out.
  const steps = told.map(({ progress }) => progress);
  assertEquals([steps[0], steps.at(-1)], [1, 4]);
  assertEquals(steps, [1, 2, 3, 4].filter((step) => steps.includes(step)));
  assert(told.every(({ total }) => total === 4), JSON.stringify(told));
});

Deno.test("an Agent is told only what increases; a Computer without progress harms no call that asks (spec §7)", async () => {
  await using office = await startOffice();
  await using computer = await joinRaw(office.url, "computer", "pc", OFFICE);
  computer.handle(GET_TOOLS_EVENT, (_, ack) => ack({ tools: [], req_id: "" }));
  computer.handle(TOOL_CALL_EVENT, (payload, ack) => {
    const { agent, req_id, tool_name } = payload as ToolCallReq;
    const tell = (progress: number) =>
      computer.socket.emit(TOOL_CALL_PROGRESS_EVENT, {
        computer: "pc",
        agent,
        req_id,
        progress,
      });
    if (tool_name === "count") [2, 2, 1, 3].forEach(tell);
    ack({ content: [] });
    tell(4); // too late
  });
  const call = async (tool: string) => {
    const told: ToolProgress[] = [];
    const onProgress = (progress: ToolProgress) => told.push(progress);
    const result = await office.agent.callTool("pc", tool, {}, { onProgress });
    assertEquals(result, { content: [] });
    return told;
  };
  assertEquals(await call("count"), [{ progress: 2 }, { progress: 3 }]);
  assertEquals(await call("silent"), []);
});
