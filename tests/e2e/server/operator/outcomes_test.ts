import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  CANCEL_TOOL_CALL_EVENT,
  CANCEL_TOOL_CALL_NOTIFICATION,
  GET_DESKTOP_EVENT,
  LEAVE_OFFICE_EVENT,
  LEAVE_OFFICE_NOTIFICATION,
  TOOL_CALL_EVENT,
} from "../../../../protocol/mod.ts";
import {
  createMetrics,
  createSmcpServer,
  type SmcpServerOptions,
} from "../../../../server/mod.ts";
import { captureLog, type LogCapture } from "../../../support/log_capture.ts";
import {
  openEvents,
  operate,
} from "../../../support/server/operator_client.ts";
import { joinRaw } from "../../../support/wire/raw_client.ts";

const TOKEN = "0123456789abcdef0123456789abcdef";
const CALL = {
  agent: "ada",
  req_id: "r1",
  computer: "pc",
  tool_name: "wait",
  params: {},
  timeout: 60,
};
const CANCEL = { agent: "ada", req_id: "r1" };
const CANCELLED = {
  content: [],
  isError: true,
  meta: { a2c_cancelled: true, a2c_cancel_reason: "agent_requested" },
};

/** An Agent "ada" whose call of the Computer "pc" is in flight, and an operator's stream. */
async function calling(options: SmcpServerOptions = {}) {
  const server = createSmcpServer({
    operator: { token: TOKEN },
    metrics: createMetrics(),
    ...options,
  });
  const { url } = await server.listen();
  const computer = await joinRaw(url, "computer", "pc", "north");
  const agent = await joinRaw(url, "agent", "ada", "north");
  const events = await openEvents(url, { token: TOKEN });
  await events.nextOf("open");
  const asked = Promise.withResolvers<(answer: unknown) => void>();
  computer.handle(TOOL_CALL_EVENT, (_payload, ack) => asked.resolve(ack));
  return {
    url,
    agent,
    computer,
    events,
    /** Makes the call; resolves once the Computer has it. */
    async call() {
      const answer = agent.ask(TOOL_CALL_EVENT, CALL);
      const ack = await asked.promise;
      return { answer, ack };
    },
    operate: (path: string, post?: unknown) =>
      operate(url, path, {
        token: TOKEN,
        ...(post !== undefined && { post }),
      }),
    async [Symbol.asyncDispose]() {
      await events[Symbol.asyncDispose]();
      await agent[Symbol.asyncDispose]();
      await computer[Symbol.asyncDispose]();
      await server.close();
    },
  };
}

type Calling = Awaited<ReturnType<typeof calling>>;

/** How the call ended: everywhere the same, and what stays of it at the Computer. */
async function endOf(office: Calling, log: LogCapture) {
  const { data } = await office.events.nextOf("call_ended");
  const told = { outcome: data.outcome, ended_by: data.ended_by };
  const line = log.audit.find(({ event }) =>
    event === "tool_call" || event === "read"
  );
  assertEquals({ outcome: line?.outcome, ended_by: line?.ended_by }, told);
  const text = await (await fetch(`${office.url}/metrics`)).text();
  const by = told.ended_by === undefined ? "" : `,ended_by="${told.ended_by}"`;
  assertStringIncludes(
    text,
    `smcp_events_total{event="${data
      .request as string}",outcome="${told.outcome}"${by}} 1`,
  );
  const { body } = await office.operate("/offices/north/members");
  const pc = body.members.find(({ name }: { name: string }) => name === "pc");
  return { ...told, lastError: pc.last_error };
}

Deno.test("a call that its Agent cancels ends as cancelled by the agent", async () => {
  using log = captureLog();
  await using office = await calling();
  const { answer, ack } = await office.call();
  await office.agent.request(CANCEL_TOOL_CALL_EVENT, CANCEL);
  ack(CANCELLED);
  await answer;
  assertEquals(await endOf(office, log), {
    outcome: "cancelled",
    ended_by: "agent",
    lastError: undefined,
  });
});

Deno.test("a call that a Computer cancels by itself ends as cancelled by the computer", async () => {
  using log = captureLog();
  await using office = await calling();
  const { answer, ack } = await office.call();
  ack(CANCELLED);
  await answer;
  const { outcome, ended_by } = await endOf(office, log);
  assertEquals([outcome, ended_by], ["cancelled", "computer"]);
});

Deno.test("a call that timed out at its Agent keeps that outcome when the Agent leaves, and is no error of the Computer", async () => {
  for (const isLost of [false, true]) {
    using log = captureLog();
    await using office = await calling();
    const { agent, computer } = office;
    const { answer } = await office.call();
    await agent.request(CANCEL_TOOL_CALL_EVENT, {
      ...CANCEL,
      reason: "timeout",
    });
    assertEquals(await computer.next(CANCEL_TOOL_CALL_NOTIFICATION), {
      ...CANCEL,
      reason: "timeout",
    });
    if (isLost) {
      await agent[Symbol.asyncDispose]();
      await computer.next(LEAVE_OFFICE_NOTIFICATION);
    } else {
      await agent.request(LEAVE_OFFICE_EVENT, { office_id: "north" });
      assertEquals(Object(await answer).code, 4103);
    }
    assertEquals(await endOf(office, log), {
      outcome: "timeout",
      ended_by: "agent",
      lastError: undefined,
    });
  }
});

Deno.test("a call whose Agent leaves ends as agent gone, which is no error of the Computer", async () => {
  using log = captureLog();
  await using office = await calling();
  const { answer } = await office.call();
  await office.agent.request(LEAVE_OFFICE_EVENT, { office_id: "north" });
  assertEquals(Object(await answer).code, 4103);
  assertEquals(await endOf(office, log), {
    outcome: "agent gone",
    ended_by: undefined,
    lastError: undefined,
  });
});

Deno.test("a call that timed out at its Computer is a timeout of the computer, and its last error", async () => {
  using log = captureLog();
  await using office = await calling();
  const { answer, ack } = await office.call();
  ack({ content: [], isError: true, meta: { error_code: 4004 } });
  await answer;
  const { lastError, ...end } = await endOf(office, log);
  assertEquals(end, { outcome: "timeout", ended_by: "computer" });
  assertEquals([lastError.outcome, lastError.ended_by], [
    "timeout",
    "computer",
  ]);
});

Deno.test("a request that the Computer does not answer is a timeout of the server", async () => {
  using log = captureLog();
  await using office = await calling({ requestTimeoutMs: 20 });
  office.computer.handle(GET_DESKTOP_EVENT, () => {});
  const { agent, req_id, computer } = CALL;
  const answer = await office.agent.ask(
    GET_DESKTOP_EVENT,
    { agent, req_id, computer },
  );
  assertEquals(Object(answer).code, 408);
  const { lastError, ...end } = await endOf(office, log);
  assertEquals(end, { outcome: "timeout", ended_by: "server" });
  assertEquals(lastError.ended_by, "server");
});

Deno.test("a call that an operator cancels, or whose Agent one kicks, ends as cancelled by the operator", async () => {
  for (const isKick of [false, true]) {
    using log = captureLog();
    await using office = await calling();
    const { answer } = await office.call();
    if (isKick) {
      const { body } = await office.operate("/offices/north/members");
      const ada = body.members.find(({ name }: { name: string }) =>
        name === "ada"
      );
      await office.operate(`/members/${ada.id}/kick`, { reason: "enough" });
    } else {
      await office.operate("/offices/north/calls/cancel", {
        req_id: "r1",
        reason: "enough",
      });
      assertEquals(await office.computer.next(CANCEL_TOOL_CALL_NOTIFICATION), {
        ...CANCEL,
        reason: "operator",
      });
    }
    assertEquals(Object(await answer).code, 403);
    assertEquals(await endOf(office, log), {
      outcome: "cancelled",
      ended_by: "operator",
      lastError: undefined,
    });
  }
});

Deno.test("an operator's own call that is cancelled ends as cancelled by the operator, everywhere", async () => {
  using log = captureLog();
  await using office = await calling();
  const called = Promise.withResolvers<void>();
  office.computer.handle(TOOL_CALL_EVENT, () => called.resolve());
  const leaving = new AbortController();
  const answer = fetch(
    `${office.url}/operator/v1/offices/north/computers/pc/call`,
    {
      method: "POST",
      headers: {
        Authorization: `Bearer ${TOKEN}`,
        "Content-Type": "application/json",
      },
      body: JSON.stringify({ tool_name: "wait" }),
      signal: leaving.signal,
    },
  ).catch(() => "gone");
  await called.promise;
  leaving.abort();
  assertEquals(await answer, "gone");
  const { data } = await office.events.nextOf("call_ended");
  const line = log.audit.find(({ event }) => event === "operator_asked");
  for (const { outcome, ended_by } of [data, line ?? {}]) {
    assertEquals([outcome, ended_by], ["cancelled", "operator"]);
  }
});

Deno.test("the description of the operator API has the outcomes, and who ended a call", async () => {
  await using office = await calling();
  const { body } = await office.operate("/openapi.json");
  const schemas = JSON.stringify(body);
  assert(schemas.includes("ended_by"), "no ended_by");
  assertStringIncludes(schemas, "agent gone");
});
