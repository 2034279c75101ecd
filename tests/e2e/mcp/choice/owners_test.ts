/**
 * Whose sessions, tasks and questions are: of the sign-in that made them, and of nobody else, whether another one of
 * the same person or its key.
 *
 * @module
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { captureLog } from "../../../support/log_capture.ts";
import { ERAS, sdkClient } from "../../../support/mcp/clients.ts";
import { GATEWAY_KEYS, gatewayKeys } from "../../../support/mcp/gateway.ts";
import {
  INITIALIZE,
  LIST_TOOLS,
  message,
  modernRequest,
  post,
} from "../../../support/mcp/post.ts";
import { signedIn, signInGateway } from "../../../support/mcp/sign_ins.ts";
import { askModern, TaskClient } from "../../../support/mcp/tasks.ts";
import { startOffice } from "../../../support/office.ts";
import type { ToolCallReq } from "../../../../protocol/mod.ts";

/** Two sign-ins with the same choice, and one with all Computers, all of Ann. */
const CHOICES = {
  phone: { only: ["pc"] },
  tablet: { only: ["pc"] },
  all: { except: [] },
};

/** Who sends requests: Ann by each of her sign-ins and by her key, and Bob by his. */
const SENDERS: Readonly<Record<string, Record<string, string>>> = {
  ...Object.fromEntries(
    Object.keys(CHOICES).map((id) => [
      id,
      { "x-api-key": GATEWAY_KEYS.ann, ...signedIn(id) },
    ]),
  ),
  key: { "x-api-key": GATEWAY_KEYS.ann },
  bob: { "x-api-key": GATEWAY_KEYS.bob },
};

const WAYS = {
  "by the quick door": {},
  "by the app": { "transfer-encoding": "chunked" },
};

const text = (text: string) => ({ content: [{ type: "text", text }] });

/** An office with a tool that waits for a person, and one that asks the client. */
async function startAnn() {
  const office = await startOffice({
    agent: { auth: { api_key: GATEWAY_KEYS.ann } },
    server: {
      authenticator: gatewayKeys(),
      gateway: signInGateway(CHOICES),
    },
  });
  await office.agent.leave();
  const pc = await office.addScriptedComputer("pc", (event, payload) => {
    if (event === "client:get_tools") {
      return { tools: ["echo", "confirm", "ask"].map(toolNamed), req_id: "1" };
    }
    if (event !== "client:tool_call") return { inputs: null, servers: {} };
    const { tool_name, req_id, input_responses } = payload as ToolCallReq;
    if (tool_name === "ask" && !input_responses) return QUESTION;
    if (tool_name !== "confirm") return text(`${tool_name} is done`);
    const waiting = "confirmation";
    const names = { computer: "pc", agent: "mcp", req_id };
    pc.send("server:tool_call_progress", { ...names, progress: 0, waiting });
    return new Promise(() => {});
  }, { auth: { api_key: GATEWAY_KEYS.computer } });
  return {
    office,
    url: new URL("/mcp/north", office.url),
    [Symbol.asyncDispose]: () => office.close(),
  };
}

const toolNamed = (name: string) => ({
  name,
  description: "",
  params_schema: { type: "object" },
  return_schema: null,
});

const QUESTION = {
  content: [],
  resultType: "input_required",
  inputRequests: {
    one: {
      method: "elicitation/create",
      params: {
        message: "One?",
        requestedSchema: { type: "object", properties: {} },
      },
    },
  },
  requestState: "asked",
};

Deno.test("a session is of the sign-in that opened it, or of the key: no other request finds it", async () => {
  await using ann = await startAnn();
  for (const [owner, own] of Object.entries(SENDERS)) {
    const opened = await post(ann.url, { body: INITIALIZE, headers: own });
    const session = {
      "mcp-session-id": String(opened.headers["mcp-session-id"]),
    };
    const call = message(3, "tools/call", { name: "pc__echo", arguments: {} });
    for (const [sender, headers] of Object.entries(SENDERS)) {
      const expected = sender === owner ? 200 : 404;
      for (const [way, more] of Object.entries(WAYS)) {
        for (const body of [message(2, "ping"), LIST_TOOLS, call]) {
          const { status } = await post(ann.url, {
            body,
            headers: { ...headers, ...session, ...more },
          });
          assertEquals(status, expected, `${owner} ${sender} ${way} ${body}`);
        }
      }
      if (sender === owner) continue;
      for (const last of [{}, { "last-event-id": "1-_GET_stream" }]) {
        for (const method of ["GET", "DELETE"]) {
          const { status } = await post(ann.url, {
            method,
            headers: { ...headers, ...session, ...last },
          });
          assertEquals(status, 404, `${method}: ${owner}, ${sender}`);
        }
      }
    }
    const headers = { ...own, ...session };
    const ended = await post(ann.url, { method: "DELETE", headers });
    assertEquals(ended.status, 200);
  }
});

Deno.test("a task is of the sign-in that began it, or of the key: it does not exist for others", async () => {
  await using ann = await startAnn();
  const clients = Object.entries(SENDERS).map(([name, headers]) =>
    [name, new TaskClient({ url: ann.url, headers })] as const
  );
  for (const [owner, own] of clients) {
    const { taskId } = await own.begin("pc__confirm");
    for (const [sender, client] of clients) {
      if (sender === owner) continue;
      for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
        const params = { taskId, inputResponses: {} };
        const { error } = await client.tried(method, params);
        assert(error, `${method}: ${owner}, ${sender}`);
        assertStringIncludes(error.message, "Task not found");
      }
      const [acknowledged] = await Array.fromAsync(
        await client.listen([taskId]),
      );
      assertEquals(acknowledged.params.notifications, {});
    }
    assertEquals((await own.get(taskId)).status, "working");
    await own.cancel(taskId);
    assertEquals((await own.get(taskId)).status, "cancelled");
  }
});

Deno.test("a question is answered by the sign-in that got it, and its state is nothing to others", async () => {
  await using ann = await startAnn();
  const { url } = ann;
  const capabilities = { elicitation: { form: {} } };
  for (const [owner, own] of Object.entries(SENDERS)) {
    const call = { name: "pc__ask", arguments: {} };
    const { result } = await askModern(
      { url, headers: own, capabilities },
      "tools/call",
      call,
    );
    const { requestState } = Object(result);
    assertEquals(typeof requestState, "string");
    const inputResponses = { one: { action: "accept", content: {} } };
    for (const [sender, headers] of Object.entries(SENDERS)) {
      const answer = await askModern(
        { url, headers, capabilities },
        "tools/call",
        { ...call, requestState, inputResponses },
      );
      const isDone = JSON.stringify(answer.result)?.includes("ask is done");
      assertEquals(Boolean(isDone), sender === owner, `${owner}, ${sender}`);
      assertEquals(Boolean(answer.error), sender !== owner);
    }
  }
});

Deno.test("commands do not share the seat by a sign-in", async () => {
  await using ann = await startAnn();
  const shared = ["a2c-smcp/share_seat", "a2c-smcp/request"];
  for (const method of shared) {
    const { body, headers } = modernRequest(method, {
      event: "server:list_room",
      payload: { office_id: "north" },
    });
    for (const id of Object.keys(CHOICES)) {
      const { status } = await post(ann.url, {
        body,
        headers: { ...headers, ...SENDERS[id] },
      });
      assertEquals(status, 404, `${method}: ${id}`);
    }
    // Nor without the header that names the method.
    const { "mcp-method": _, ...others } = headers;
    const hidden = await post(ann.url, {
      body,
      headers: { ...others, ...SENDERS.phone },
    });
    assert(hidden.status >= 400, hidden.body);
  }
});

for (const era of ERAS) {
  Deno.test(`${era}: the audit log names the sign-in by which a tool was called`, async () => {
    using log = captureLog();
    await using ann = await startAnn();
    for (const [sender, headers] of Object.entries(SENDERS)) {
      const reach = {
        url: ann.url,
        fetch: (input: string | URL, init: RequestInit = {}) => {
          const all = new Headers(init.headers);
          for (const each of Object.entries(headers)) all.set(...each);
          return fetch(input, { ...init, headers: all });
        },
      };
      await using client = await sdkClient(reach, era);
      await client.callTool({ name: "pc__echo", arguments: {} });
      const line = log.audit.findLast(({ event }) => event === "tool_call");
      assertEquals(
        [line?.principal, line?.grant],
        [
          sender === "bob" ? "key:bob" : "key:ann",
          sender in CHOICES ? sender : undefined,
        ],
      );
    }
  });
}
