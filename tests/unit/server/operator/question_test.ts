import { assertEquals } from "@std/assert";
import {
  CANCEL_TOOL_CALL_NOTIFICATION,
  type ClientEvent,
  GET_TOOLS_EVENT,
  TOOL_CALL_EVENT,
} from "../../../../protocol/mod.ts";
import { type Answered, askComputer } from "../../../../server/operator/ask.ts";
import type { AuditEvent } from "../../../../server/shared/audit.ts";
import {
  type PlainOffices,
  plainOffices,
} from "../../../support/server/plain_offices.ts";

const CALL = { tool_name: "echo", params: { a: 1 }, timeout: 7 };

const partsOf = (
  { offices, audit }: PlainOffices,
  auditPayloads = false,
) => ({
  ...{ offices, auditPayloads, clock: { now: () => 0, date: () => 0 } },
  audit: (event: AuditEvent) => void audit.push(event),
});

function office() {
  const plain = plainOffices();
  const agent = plain.join("agent", "agent");
  const computer = plain.join("computer", "pc");
  agent.take();
  const ask = (
    event: ClientEvent = TOOL_CALL_EVENT,
    { computer = "pc", signal = new AbortController().signal } = {},
  ) =>
    askComputer({
      ...{ by: "root", office: "north", computer, event, signal },
      request: CALL,
    }, partsOf(plain));
  /** The request that has come, or the next one. */
  const next = async () => {
    while (computer.asked.length === 0) await Promise.resolve();
    return computer.asked.shift()!;
  };
  return { plain, agent, computer, ask, next };
}

const shown = (answered: Answered | undefined): unknown =>
  answered && ("answer" in answered ? answered.answer.parse() : answered);

Deno.test("an operator's question reaches the Computer with who asks, and is answered; the office sees nothing of it", async () => {
  const { plain, agent, computer, ask, next } = office();
  const answered = ask();
  const { payload, answer } = await next();
  const { req_id, ...rest } = payload;
  assertEquals(rest, {
    ...CALL,
    agent: "operator",
    operator: "root",
    computer: "pc",
  });
  answer({ content: [], req_id });
  assertEquals(shown(await answered), { content: [], req_id });
  assertEquals([agent.take(), computer.take()], [[], []]);
  assertEquals(plain.offices.find("north")?.calls, []);
});

Deno.test("an operator sees what the Computer has in its own version, whatever that is (0.4 §3)", async () => {
  for (const protocol of ["0.1", "0.2", "0.4"] as const) {
    const plain = plainOffices();
    const computer = plain.join("computer", "pc", { protocol });
    const answered = askComputer({
      ...{ by: "root", office: "north", computer: "pc", request: {} },
      event: GET_TOOLS_EVENT,
      signal: new AbortController().signal,
    }, partsOf(plain));
    while (computer.asked.length === 0) await Promise.resolve();
    const tools = [{ name: "t" }];
    computer.asked[0]?.answer({ tools, req_id: "r" });
    assertEquals(shown(await answered), { tools, req_id: "r" });
  }
});

Deno.test("an error of the Computer is its answer; one of the Server is why there is none", async () => {
  const { plain, computer, ask, next } = office();
  const refused = ask();
  const error = { code: 404, message: "no such server", mcp_server: "x" };
  (await next()).answer(error);
  assertEquals(shown(await refused), error);
  const nobody = await ask(GET_TOOLS_EVENT, { computer: "nobody" });
  assertEquals(nobody && "failed" in nobody && nobody.failed.code, 404);
  const left = ask();
  await next();
  computer.vanish();
  assertEquals(
    Object(Object(await left).failed).reason,
    "computer disconnected",
  );
  await plain.offices.drain(0);
  assertEquals(
    Object(Object(await ask()).failed).message,
    "The server is shutting down: reconnect and try again",
  );
});

Deno.test("a question that is late, or whose operator is gone, is cancelled for the Computer and leaves nothing behind", async () => {
  for (const way of ["late", "gone"]) {
    const { plain, computer, ask, next } = office();
    const operator = new AbortController();
    const answered = ask(TOOL_CALL_EVENT, { signal: operator.signal });
    const { payload: { req_id } } = await next();
    if (way === "late") plain.advance(12_000);
    else operator.abort();
    const result = await answered;
    assertEquals(
      result && "failed" in result ? result.failed.code : result,
      way === "late" ? 408 : undefined,
    );
    assertEquals(computer.take(), [{
      event: CANCEL_TOOL_CALL_NOTIFICATION,
      payload: { agent: "operator", req_id, reason: "operator" },
    }]);
    assertEquals(plain.offices.find("north")?.calls, []);
    assertEquals(plain.deadlines.size, 0);
  }
});

Deno.test("an operator that is gone asks nothing; an office without members is not left behind", async () => {
  const { plain, computer, ask } = office();
  assertEquals(
    await ask(TOOL_CALL_EVENT, { signal: AbortSignal.abort() }),
    undefined,
  );
  assertEquals(computer.asked, []);
  const question = { by: "root", office: "empty", computer: "pc" };
  const answered = await askComputer({
    ...{ ...question, event: GET_TOOLS_EVENT, request: {} },
    signal: new AbortController().signal,
  }, partsOf(plain));
  assertEquals(answered && "failed" in answered && answered.failed.code, 404);
  assertEquals([...plain.offices].map(({ name }) => name), ["north"]);
});

Deno.test("each question is audited once with who asks and how it ended; contents only where they are switched on (spec §10)", async () => {
  const { plain, computer, next } = office();
  const operator = new AbortController();
  const ask = (auditPayloads: boolean, signal: AbortSignal) =>
    askComputer({
      ...{ by: "root", office: "north", computer: "pc", signal },
      ...{ event: TOOL_CALL_EVENT, request: CALL } as const,
    }, partsOf(plain, auditPayloads));
  const { signal } = operator;
  const ids: unknown[] = [];
  const lines = plain.audit.length;
  for (const auditPayloads of [false, true]) {
    const answered = ask(auditPayloads, signal);
    const { payload, answer } = await next();
    ids.push(payload.req_id);
    answer({ content: [] });
    await answered;
  }
  const last = ask(false, signal);
  ids.push((await next()).payload.req_id);
  operator.abort();
  await last;
  computer.take();
  const line = (at: number, outcome: string) => ({
    ...{ event: "operator_asked", by: "root", office: "north" },
    ...{ computer: "pc", req_id: ids[at], request: TOOL_CALL_EVENT },
    ...{ tool: "echo", ms: 0, outcome },
  });
  assertEquals<unknown>(plain.audit.slice(lines), [
    line(0, "ok"),
    { ...line(1, "ok"), params: { a: 1 }, result: { content: [] } },
    { ...line(2, "cancelled"), ended_by: "operator" },
  ]);
});
