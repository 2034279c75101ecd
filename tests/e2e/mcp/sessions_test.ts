import { assert, assertEquals } from "@std/assert";
import { officeMcp } from "../../../mcp/mod.ts";
import type { ToolCallReq } from "../../../protocol/mod.ts";
import { open, send } from "../../support/mcp/session.ts";
import { type Office, startOffice } from "../../support/office.ts";

/** An office with a tool that answers when the test says so, with the label of the call. */
async function officeThatWaits() {
  const held = new Map<string, PromiseWithResolvers<void>>();
  const of = (label: string) => {
    const call = held.get(label) ?? Promise.withResolvers<void>();
    held.set(label, call);
    return call;
  };
  const began = new Map<string, () => void>();
  const cancelled: string[] = [];
  const labels = new Map<string, string>();
  const office = await startOffice();
  const pc = await office.addScriptedComputer("pc", async (event, payload) => {
    if (event === "client:get_tools") {
      const tool = { name: "wait", description: "", params_schema: {} };
      return { req_id: "1", tools: [{ ...tool, return_schema: null }] };
    }
    if (event !== "client:tool_call") return { inputs: null, servers: {} };
    const { req_id, params, progress } = payload as ToolCallReq;
    const label = String(params.label);
    labels.set(req_id, label);
    if (progress) {
      pc.send("server:tool_call_progress", {
        computer: "pc",
        agent: "planner",
        req_id,
        progress: 1,
        message: label,
      });
    }
    began.get(label)?.();
    await of(label).promise;
    return { content: [{ type: "text", text: label }] };
  });
  pc.on("notification", ({ event, payload }) => {
    if (event !== "notify:tool_call_cancel") return;
    const label = labels.get(payload.req_id) ?? "";
    cancelled.push(label);
    of(label).resolve();
  });
  return {
    office,
    cancelled,
    /** Resolves when the call with a label has begun; to be asked before that is sent. */
    begun: (label: string) =>
      new Promise<void>((resolve) => began.set(label, resolve)),
    /** Lets the call with a label end. */
    release: (label: string) => of(label).resolve(),
    [Symbol.asyncDispose]: () => office[Symbol.asyncDispose](),
  };
}

/** The messages of a stream of a session. */
const messagesOf = async (response: Response) =>
  [...(await response.text()).matchAll(/^data: (.+)$/gm)]
    .map(([, data]) => JSON.parse(data ?? ""));

/** A call with an id of the client's choice. */
const waitCall = (id: number | string, label: string) =>
  JSON.stringify({
    jsonrpc: "2.0",
    id,
    method: "tools/call",
    params: {
      name: "pc__wait",
      arguments: { label },
      _meta: { progressToken: id },
    },
  });

for (const [first, second] of [["a", "b"], ["b", "a"]] as const) {
  Deno.test(`requests of one id in one session get each its own answer and progress, if ${first} ends first`, async () => {
    await using waiting = await officeThatWaits();
    await using mcp = officeMcp(waiting.office.agent);
    const session = await open(mcp);
    const answers = new Map<string, Promise<Response>>();
    for (const label of ["a", "b"]) {
      const begun = waiting.begun(label);
      answers.set(label, send(mcp, { session, body: waitCall(1, label) }));
      await begun;
    }
    for (const label of [first, second]) {
      waiting.release(label);
      const response = await answers.get(label);
      assert(response);
      const [progress, { id, result }, ...more] = await messagesOf(response);
      const { progressToken, message } = progress.params;
      assertEquals([progressToken, message], [1, label]);
      assertEquals([id, result.content[0].text], [1, label]);
      assertEquals(more, []);
    }
  });
}

Deno.test("a body with several requests of one id gets an answer for each", async () => {
  await using waiting = await officeThatWaits();
  await using mcp = officeMcp(waiting.office.agent);
  const session = await open(mcp);
  for (const label of ["a", "b"]) waiting.release(label);
  const body = `[${waitCall("x", "a")},${waitCall("x", "b")}]`;
  const messages = await messagesOf(await send(mcp, { session, body }));
  const answers = messages.filter(({ result }) => result);
  assertEquals(
    answers.map(({ id, result }) => [id, result.content[0].text]).toSorted(),
    [["x", "a"], ["x", "b"]],
  );
});

Deno.test("a cancellation ends all requests of its id in the session, and none of another id or session", async () => {
  await using waiting = await officeThatWaits();
  await using mcp = officeMcp(waiting.office.agent);
  const session = await open(mcp);
  const other = await open(mcp);
  const calls = [[1, "a"], [1, "b"], ["1", "c"], [2, "d"]] as const;
  const answers: Promise<Response>[] = [];
  const call = async (session: string, id: number | string, label: string) => {
    const begun = waiting.begun(label);
    answers.push(send(mcp, { session, body: waitCall(id, label) }));
    await begun;
  };
  for (const [id, label] of calls) await call(session, id, label);
  await call(other, 1, "e");
  const cancel = (requestId: number) =>
    send(mcp, {
      session,
      body: JSON.stringify({
        jsonrpc: "2.0",
        method: "notifications/cancelled",
        params: { requestId },
      }),
    });
  assertEquals((await cancel(1)).status, 202);
  assertEquals((await cancel(7)).status, 202); // no request has it
  for (const label of ["c", "d", "e"]) waiting.release(label);
  for (const answer of answers.slice(2)) {
    const messages = await messagesOf(await answer);
    assertEquals(messages.at(-1).result.isError, undefined);
  }
  assertEquals(waiting.cancelled.toSorted(), ["a", "b"]);
  for (const answer of answers.slice(0, 2)) (await answer).body?.cancel();
});

Deno.test("a stream of changes replaces the one before, whose end nobody has noticed", async () => {
  await using office = await startOffice();
  await using mcp = officeMcp(office.agent);
  const session = await open(mcp);
  const first = await send(mcp, { method: "GET", session });
  const unusable = await send(mcp, {
    method: "GET",
    session,
    headers: { accept: "text/plain" },
  });
  await unusable.text();
  const second = await send(mcp, { method: "GET", session });
  assertEquals([first.status, unusable.status, second.status], [200, 406, 200]);
  assertEquals(await first.text(), "");
  await addEcho(office);
  assert(second.body);
  let seen = "";
  for await (const text of second.body.pipeThrough(new TextDecoderStream())) {
    seen += text;
    if (seen.includes("notifications/tools/list_changed")) break;
  }
});

/** Adds a Computer with a tool. */
const addEcho = (office: Office) =>
  office.addScriptedComputer("pc", () => ({
    req_id: "1",
    tools: [{
      name: "echo",
      description: "",
      params_schema: {},
      return_schema: null,
    }],
  }));
