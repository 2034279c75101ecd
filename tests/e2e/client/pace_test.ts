import { assert, assertEquals, assertRejects } from "@std/assert";
import { ProtocolError } from "../../../agent/mod.ts";
import type { RequestHandler } from "../../../client/options.ts";
import { GET_TOOLS_EVENT } from "../../../protocol/mod.ts";
import { startOffice } from "../../support/office.ts";

/** A Computer that counts executed calls by their parameters. */
function counting(): { handler: RequestHandler; runs: Map<unknown, number> } {
  const runs = new Map<unknown, number>();
  const handler: RequestHandler = (event, payload) => {
    if (event === GET_TOOLS_EVENT) return { tools: [], req_id: "1" };
    const { n } = (payload as { params: { n: unknown } }).params;
    runs.set(n, (runs.get(n) ?? 0) + 1);
    return { content: [] };
  };
  return { handler, runs };
}

/** Checks whether each call ran exactly once. */
const eachOnce = (runs: Map<unknown, number>, calls: number) =>
  runs.size === calls && [...runs.values()].every((times) => times === 1);

Deno.test({
  name:
    "a loop of 5,000 calls, and 500 at once, exceed no default limit of a Server",
  timeout: 120_000,
}, async () => {
  const { handler, runs } = counting();
  await using office = await startOffice({ computers: { pc: handler } });
  const { agent } = office;
  for (let n = 0; n < 5_000; n++) await agent.callTool("pc", "count", { n });
  await Promise.all(
    Array.from(
      { length: 500 },
      (_, i) => agent.callTool("pc", "count", { n: 5_000 + i }),
    ),
  );
  assert(eachOnce(runs, 5_500), `${runs.size} ran`);
});

Deno.test("calls over the Server's rate are repeated at that rate, and run once", async () => {
  const { handler, runs } = counting();
  await using office = await startOffice({
    server: { limits: { eventsPerSecond: 50 } },
    computers: { pc: handler },
  });
  const { agent } = office;
  const calls = Array.from(
    { length: 120 },
    (_, n) => agent.callTool("pc", "count", { n }),
  );
  await Promise.all(calls);
  assert(eachOnce(runs, 120), `${runs.size} ran`);
});

Deno.test("calls over the Server's limit of concurrent calls wait for running ones", async () => {
  const { handler, runs } = counting();
  let running = 0;
  let most = 0;
  const slow: RequestHandler = async (event, payload) => {
    if (event === GET_TOOLS_EVENT) return handler(event, payload);
    most = Math.max(most, ++running);
    await new Promise((resolve) => setTimeout(resolve, 5));
    running--;
    return handler(event, payload);
  };
  await using office = await startOffice({
    server: { limits: { callsPerAgent: 3 } },
    computers: { pc: slow },
  });
  const { agent } = office;
  await Promise.all(
    Array.from({ length: 40 }, (_, n) => agent.callTool("pc", "slow", { n })),
  );
  assert(eachOnce(runs, 40), `${runs.size} ran`);
  assertEquals(most, 3);
});

Deno.test("a call that cannot be sent within its timeout fails with the Server's 429; an aborted one with its reason", async () => {
  const { handler, runs } = counting();
  const hanging: RequestHandler = (event, payload) =>
    event === GET_TOOLS_EVENT ? handler(event, payload) : new Promise(() => {});
  await using office = await startOffice({
    server: { limits: { callsPerAgent: 1 } },
    computers: { pc: hanging },
  });
  const { agent } = office;
  const first = agent.callTool("pc", "slow", {}, { timeoutMs: 60_000 });
  const error = await assertRejects(
    () => agent.callTool("pc", "slow", {}, { timeoutMs: 3_000 }),
    ProtocolError,
    "Too many calls",
  );
  assertEquals([error.code, error.details], [
    429,
    { ran: false, retry_in_ms: 100 },
  ]);
  const abort = new AbortController();
  const aborted = assertRejects(
    () => agent.callTool("pc", "slow", {}, { signal: abort.signal }),
    Error,
    "no more",
  );
  abort.abort(new Error("no more"));
  await aborted;
  const lost = assertRejects(() => first);
  await agent.close();
  await lost;
  assertEquals(runs.size, 0);
});

Deno.test("a request with a 429 that does not say that nothing ran is not repeated", async () => {
  let asked = 0;
  const tooMany: RequestHandler = (event) => {
    if (event === GET_TOOLS_EVENT) return { tools: [], req_id: "1" };
    asked++;
    throw new ProtocolError(429, "The tool's own limit", {
      ...(asked === 2 && { details: { ran: true } }),
    });
  };
  await using office = await startOffice({ computers: { pc: tooMany } });
  for (const times of [1, 2]) {
    await assertRejects(
      () => office.agent.callTool("pc", "busy"),
      ProtocolError,
      "own limit",
    );
    assertEquals(asked, times);
  }
});
