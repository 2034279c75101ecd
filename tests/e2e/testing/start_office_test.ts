// @ts-types="@modelcontextprotocol/sdk/server/mcp"
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { SmcpAgent } from "../../../agent/mod.ts";
import { ConfigError } from "../../../computer/mod.ts";
import { apiKeys } from "../../../server/mod.ts";
import {
  CANCEL_TOOL_CALL_NOTIFICATION,
  GET_TOOLS_EVENT,
  TOOL_CALL_EVENT,
} from "../../../protocol/mod.ts";
import { ErrorCode, ProtocolError, startOffice } from "../../../testing/mod.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";

const TEXT = { content: [{ type: "text", text: "scripted" }] };

/** Answers as a Computer with one tool. */
const script = (event: string) =>
  event === GET_TOOLS_EVENT
    ? {
      req_id: "1",
      tools: [{
        name: "greet",
        description: "",
        params_schema: {},
        return_schema: null,
      }],
    }
    : TEXT;

Deno.test("startOffice() starts a Server, real and scripted Computers and an Agent that knows their tools", async () => {
  await using office = await startOffice({
    computers: {
      pc: { servers: { files: fixture({ only: ["echo"] }) } },
      script,
    },
  });
  const { agent } = office;
  assertEquals([office.officeId, agent.office, agent.name], [
    "test",
    "test",
    "agent",
  ]);
  assertEquals(
    [...agent.tools].map(([name, tools]) => [name, tools.map((t) => t.name)])
      .sort(),
    [["pc", ["echo"]], ["script", ["greet"]]],
  );
  const echoed = await agent.callTool("pc", "echo", { message: "hello" });
  assertEquals(echoed.isError, undefined);
  const { content } = await agent.callTool("script", "greet");
  assertEquals<unknown>(content, TEXT.content);
  assertEquals(office.computer("pc").office, "test");
});

Deno.test("startOffice() passes options on to the Server, the Agent and each Computer", async () => {
  const auth = { api_key: "k".repeat(32) };
  await using office = await startOffice({
    officeId: "lab",
    server: { authenticator: apiKeys([{ id: "lab", key: auth.api_key }]) },
    agent: { name: "planner", auth },
    computers: { pc: { auth, confirm: () => "no" } },
  });
  await office.addScriptedComputer("late", script, { auth });
  const members = await office.agent.listRoom();
  assertEquals(members.map(({ name }) => name).sort(), [
    "late",
    "pc",
    "planner",
  ]);
  assertEquals(office.agent.office, "lab");
  const error = await assertRejects(
    () => office.addComputer("nobody"),
    ProtocolError,
  );
  assertEquals(error.code, 401);
});

Deno.test("a Computer that is added later is known to the Agent at once", async () => {
  await using office = await startOffice();
  const computer = await office.addComputer("pc", {
    servers: { files: fixture({ only: ["echo"] }) },
  });
  assertEquals(office.agent.tools.get("pc")?.length, 1);
  assertEquals(office.computer("pc"), computer);
  await office.addScriptedComputer("script", script);
  await office.agent.toolsSettled();
  assertEquals(office.agent.tools.get("script")?.length, 1);
});

Deno.test("what a script throws is an error of the protocol, and it sees that a call is cancelled", async () => {
  await using office = await startOffice();
  const hangs = Promise.withResolvers<void>();
  const computer = await office.addScriptedComputer("pc", (event) => {
    if (event !== TOOL_CALL_EVENT) return script(event);
    hangs.resolve();
    return new Promise(() => {});
  });
  const cancelled = Promise.withResolvers<string>();
  computer.on("notification", ({ event }) => cancelled.resolve(event));
  const abort = new AbortController();
  const call = office.agent.callTool("pc", "greet", {}, {
    signal: abort.signal,
  });
  await hangs.promise;
  abort.abort(new Error("enough"));
  await assertRejects(() => call, Error, "enough");
  assertEquals(await cancelled.promise, CANCEL_TOOL_CALL_NOTIFICATION);

  await office.addScriptedComputer("ill", (event) => {
    if (event === GET_TOOLS_EVENT) return script(event);
    throw new ProtocolError(ErrorCode.FORBIDDEN, "not for you");
  });
  const error = await assertRejects(
    () => office.agent.getConfig("ill"),
    ProtocolError,
    "not for you",
  );
  assertEquals(error.code, 403);
});

Deno.test("the Agent's seat is free for an Agent of the test after leave()", async () => {
  await using office = await startOffice({ computers: { pc: script } });
  await office.agent.leave();
  const own = office.use(new SmcpAgent({ url: office.url, name: "own" }));
  await own.connect();
  await own.join(office.officeId);
  await own.toolsSettled();
  assertEquals([...own.tools.keys()], ["pc"]);
});

Deno.test("a Computer of an office hosts MCP servers of this process", async () => {
  const server = new McpServer({ name: "clock", version: "1.0.0" });
  server.registerTool("now", {}, () => ({
    content: [{ type: "text", text: "noon" }],
  }));
  await using office = await startOffice({
    computers: { pc: { servers: { clock: { type: "in-process", server } } } },
  });
  const { content } = await office.agent.callTool("pc", "now");
  assertEquals(content[0]?.text, "noon");
});

Deno.test("computer() says which Computers there are", async () => {
  await using office = await startOffice({ computers: { pc: {}, script } });
  assertThrows(
    () => office.computer("laptop"),
    Error,
    'There is no Computer "laptop"; there are: pc',
  );
});

Deno.test("startOffice() closes what had started when a part cannot start", async () => {
  // What stayed open would fail this test: its resources are checked.
  await assertRejects(
    () =>
      startOffice({
        computers: {
          good: { servers: { files: fixture({ only: ["echo"] }) } },
          bad: { servers: { files: { type: "stdio" } } as never },
        },
      }),
    ConfigError,
    "files",
  );
  await assertRejects(
    () => startOffice({ computers: { pc: {} }, agent: { name: "" } }),
    TypeError,
    "option name",
  );
});
