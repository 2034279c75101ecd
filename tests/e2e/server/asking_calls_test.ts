import { assert, assertEquals } from "@std/assert";
import { createMetrics } from "../../../server/mod.ts";
import type { TestOfficeOptions } from "../../../testing/mod.ts";
import { startComputer } from "../../support/computer/computer.ts";
import { fixtureHere } from "../../support/computer/fixture_here.ts";
import { captureLog } from "../../support/log_capture.ts";
import { keepTimers } from "../../support/timers.ts";

/** How long the answer to a question is waited for. */
const ANSWER_TIMEOUT_MS = 11 * 60_000;

/** A Computer without a person, whose tool asks the Agent; and spans of the Server. */
async function startAsking(server: TestOfficeOptions["server"] = {}) {
  const spans: Record<string, string>[] = [];
  const pc = await startComputer(
    { fix: fixtureHere({ only: ["ask", "echo"] }) },
    {},
    {
      server: {
        ...server,
        tracer: {
          startSpan: (name, { attributes }) => {
            const span: Record<string, string> = { name, ...attributes };
            return {
              setAttribute: (key, value) => span[key] = value,
              setStatus() {},
              end: () => void spans.push(span),
            };
          },
        },
      },
    },
  );
  return {
    ...pc,
    spans,
    /** Calls the tool, and does not answer what it asks. */
    async leaveOpen() {
      const { agent } = pc.office;
      const asked = await agent.callTool("pc", "ask", {}, { input: {} });
      assertEquals(asked.resultType, "input_required");
    },
    [Symbol.asyncDispose]: () => pc[Symbol.asyncDispose](),
  };
}

type Log = ReturnType<typeof captureLog>;

const callsIn = ({ audit }: Log) =>
  audit.filter(({ event }) => event === "tool_call");

Deno.test("a call whose MCP server asks its Agent is one in the audit log, the metrics and the spans", async () => {
  using log = captureLog();
  const metrics = createMetrics();
  await using pc = await startAsking({ metrics });
  const name = () => ({ action: "accept" as const, content: { name: "Ann" } });
  const reqId = "first";
  await pc.office.agent.callTool("pc", "ask", { rounds: 3 }, {
    onElicit: name,
    reqId,
  });
  const [line, ...more] = callsIn(log);
  assertEquals([line?.req_id, line?.outcome, more], [reqId, "ok", []]);
  assertEquals(
    pc.spans.filter(({ "smcp.tool": tool }) => tool === "ask")
      .map((span) => [span["smcp.req_id"], span["smcp.outcome"]]),
    [[reqId, "ok"]],
  );
  const text = await metrics.text();
  const counted = text.split("\n").filter((each) =>
    each.includes("client:tool_call") && each.includes("_count")
  );
  assert(counted.length === 1 && counted[0]?.endsWith(" 1"), counted.join());
});

Deno.test("a call whose question has no answer ends as one that its Agent has cancelled", async () => {
  using log = captureLog();
  using timers = keepTimers(ANSWER_TIMEOUT_MS);
  await using pc = await startAsking();
  await pc.leaveOpen();
  timers.fire();
  await pc.office.agent.callTool("pc", "echo", { text: "then" });
  const [line, echo, ...more] = callsIn(log);
  assertEquals([line?.tool, line?.outcome, line?.ended_by], [
    "ask",
    "cancelled",
    "agent",
  ]);
  assertEquals([echo?.tool, more], ["echo", []]);
});

Deno.test("a Server that ends shows the calls whose questions are open", async () => {
  using log = captureLog();
  await using pc = await startAsking();
  await pc.leaveOpen();
  assertEquals(callsIn(log), []);
  await pc.office.server.close();
  assertEquals(callsIn(log).map(({ tool, outcome }) => [tool, outcome]), [
    ["ask", "agent gone"],
  ]);
});
