/**
 * The time that a person has to confirm a call, beside the timeout of its tool: as Agents see it, and the
 * Computer that asks.
 *
 * @module
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { waitedFor } from "../../../agent/mod.ts";
import { resultMeta } from "../../../protocol/mod.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { startComputer, takeSeat } from "../../support/computer/computer.ts";
import { slowPerson } from "../../support/approvals/slow_person.ts";
import { startOffice } from "../../support/office.ts";
import { keepTimersOf } from "../../support/timers.ts";

const X = { text: "x" };

Deno.test("the timeout of a call stands still while it waits for confirmation, at both ends", async () => {
  const person = slowPerson();
  await using pc = await startComputer(
    { files: fixture({ only: ["echo"] }) },
    { confirm: person.confirm },
  );
  // The Computer's, and the Agent's half a second later.
  using timers = keepTimersOf(6_500, 7_500);
  const waits = Promise.withResolvers<void>();
  const call = pc.call("echo", X, {
    timeoutMs: 7_000,
    onProgress: ({ waiting }) => void (waiting && waits.resolve()),
  });
  const { request, say } = await person.asked();
  await waits.promise;
  assertEquals(timers.armed.length, 2, timers.armed.join(", "));
  timers.fire();
  assert(request.leftMs > 299_000 && request.leftMs <= 300_000);
  say("once");
  assertEquals((await call).text, "x");
});

Deno.test("what is left of the timeout counts again after the yes", async () => {
  const person = slowPerson();
  await using pc = await startComputer(
    { files: fixture({ only: ["slow"] }) },
    { confirm: person.confirm },
  );
  const call = pc.call("slow", {}, { timeoutMs: 1_000 });
  (await person.asked()).say("once");
  const { text, meta } = await call;
  assertEquals(meta.error_code, 4004);
  assertEquals(waitedFor((await call).result), undefined);
  assertStringIncludes(text, "did not answer within 1 s");
});

Deno.test("a call that nobody confirms ends after the time for that, and its question is withdrawn", async () => {
  const person = slowPerson();
  await using pc = await startComputer(
    { files: fixture({ only: ["echo"] }) },
    { confirm: person.confirm },
  );
  const ended = pc.call("echo", X, { confirmationTimeoutMs: 1_000 });
  const { request, signal } = await person.asked();
  assert(request.leftMs > 900 && request.leftMs <= 1_000);
  const { text, meta } = await ended;
  assertEquals([meta.error_code, meta.a2c_waited_for], [4004, "confirmation"]);
  assertStringIncludes(text, "was not confirmed at pc within 1 s");
  assertEquals([signal.aborted, signal.reason], [true, "timeout"]);
});

Deno.test("with a confirmation time of 0 the timeout runs while the call waits", async () => {
  const person = slowPerson();
  await using pc = await startComputer(
    { files: fixture({ only: ["echo"] }) },
    { confirm: person.confirm },
  );
  const options = { timeoutMs: 1_000, confirmationTimeoutMs: 0 };
  const ended = pc.call("echo", X, options);
  const { request } = await person.asked();
  assert(request.leftMs <= 1_000);
  const { text, result } = await ended;
  assertEquals(waitedFor(result), "confirmation");
  assertStringIncludes(text, "within 1 s");
});

Deno.test("both times together are at most an hour on the wire, and the tool's comes first", async () => {
  const times: unknown[] = [];
  await using office = await startOffice({
    computers: {
      pc: (event, payload) => {
        const { timeout, confirmation_timeout: own } = Object(payload);
        if (event !== "client:tool_call") return { tools: [], req_id: "1" };
        times.push([timeout, own]);
        return { content: [] };
      },
    },
  });
  for (
    const [timeoutMs, confirmationTimeoutMs] of [
      [undefined, undefined],
      [60_001, 1],
      [3_500_000, undefined],
      [3_600_000, undefined],
      [60_000, 3_600_000],
      [60_000, 0],
    ]
  ) {
    await office.agent.callTool("pc", "t", {}, {
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...(confirmationTimeoutMs !== undefined && { confirmationTimeoutMs }),
    });
  }
  assertEquals(times, [
    [360, 300],
    [62, 1],
    [3600, 100],
    [3600, undefined],
    [3600, 3540],
    [60, undefined],
  ]);
});

Deno.test("an Agent ends a call by itself where its Computer is older, and cancels it there", async () => {
  const cancelled = Promise.withResolvers<unknown>();
  const asked = Promise.withResolvers<string>();
  await using office = await startOffice();
  const pc = await office.addScriptedComputer("pc", (event, payload) => {
    if (event !== "client:tool_call") return { tools: [], req_id: "1" };
    asked.resolve(Object(payload).req_id);
    return new Promise(() => {});
  });
  pc.on("notification", ({ event, payload }) => {
    if (event === "notify:tool_call_cancel") cancelled.resolve(payload);
  });
  const call = office.agent.callTool("pc", "t", {}, {
    confirmationTimeoutMs: 999,
  });
  const req_id = await asked.promise;
  pc.send("server:tool_call_progress", {
    computer: "pc",
    agent: "planner",
    req_id,
    progress: 0,
    waiting: "confirmation",
  });
  const result = await call;
  assertEquals(resultMeta(result).a2c_waited_for, "confirmation");
  assertStringIncludes(
    JSON.stringify(result.content),
    "not confirmed at pc within 0.999 s",
  );
  assertEquals(Object(await cancelled.promise).reason, "timeout");
});

Deno.test("an Agent that cancels because of its timeout leaves the question to late answers", async () => {
  const person = slowPerson();
  await using pc = await startComputer(
    { files: fixture({ only: ["echo"] }) },
    { confirm: person.confirm },
  );
  const wire = await takeSeat(pc.office);
  for (const [at, reason] of ["timeout", undefined].entries()) {
    const req_id = `r${at}`;
    const call = wire.call({ tool_name: "echo", params: X, req_id });
    const { signal } = await person.asked(at);
    wire.connection.send("server:tool_call_cancel", {
      agent: "wire",
      req_id,
      ...(reason && { reason }),
    });
    await call;
    assertEquals(signal.reason, reason ?? "cancelled");
  }
});
