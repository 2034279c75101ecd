/**
 * A tool is called by the name of either version: `read` or `files__read`.
 *
 * @module
 */
import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { resultMeta } from "../../../agent/mod.ts";
import type { ClientProtocol } from "../../../client/options.ts";
import { CLIENT_PROTOCOLS } from "../../../client/versions.ts";
import { PROFILES } from "../../../protocol/mod.ts";
import type { SmcpComputer } from "../../../computer/mod.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { startOffice } from "../../support/office.ts";

/** Two MCP servers, each with a tool `fail`, and one with an alias. */
const SERVERS = {
  "my files": fixture({
    only: ["echo", "count", "slow", "slow_began", "ask", "fail"],
  }, { tool_meta: { count: { alias: "number" } } }),
  docs: fixture({ only: ["fail"] }),
};

/** An Agent and the Computer `pc` of these versions, with the tools that are asked of it. */
async function startPair(agent: ClientProtocol, computer: ClientProtocol) {
  const office = await startOffice({
    server: { protocol: "all" },
    agent: { protocol: agent },
    computers: { pc: { protocol: computer, servers: SERVERS } },
  });
  const pc = office.computer("pc");
  await pc.serversSettled();
  await office.agent.toolsSettled();
  return { office, agent: office.agent, pc, called: calledOf(pc) };
}

function calledOf(pc: SmcpComputer): string[] {
  const called: string[] = [];
  pc.on("callStarted", ({ tool }) => called.push(tool));
  return called;
}

/** What is called, which names are tried at the Computer, and the text of the result or the error. */
type Row = readonly [name: string, tried: readonly string[], says: string];

const ROWS: Record<"plain" | "whole", readonly Row[]> = {
  plain: [
    ["echo", ["echo"], "hi"],
    ["my_files__echo", ["my_files__echo", "echo"], "hi"],
    ["number", ["number"], ""],
    ["my_files__number", ["my_files__number", "number"], ""],
    ["count", ["count"], 'it is offered as "number"'],
    ["fail", ["fail"], '"my files" and MCP server "docs"; give one'],
    [
      "docs__fail",
      ["docs__fail"],
      'MCP server "my files" and MCP server "docs"; give one',
    ],
    ["ecoh", ["ecoh"], 'There is no tool "ecoh"'],
    ["docs__echo", ["docs__echo"], 'There is no tool "docs__echo"'],
  ],
  whole: [
    ["my_files__echo", ["my_files__echo"], "hi"],
    ["echo", ["echo", "my_files__echo"], "hi"],
    ["my_files__number", ["my_files__number"], ""],
    ["number", ["number", "my_files__number"], ""],
    ["count", ["count"], 'it is offered as "my_files__number"'],
    [
      "fail",
      ["fail"],
      'it is offered as "my_files__fail" and "docs__fail"',
    ],
    ["docs__fail", ["docs__fail"], "it went wrong"],
    ["ecoh", ["ecoh"], 'There is no tool "ecoh"'],
    ["docs__echo", ["docs__echo"], 'There is no tool "docs__echo"'],
  ],
};

Deno.test({
  name:
    "callTool() takes the name of either version where one tool has it, with a second request only for the other one",
  timeout: 240_000,
}, async () => {
  for (const version of CLIENT_PROTOCOLS) {
    for (const computer of CLIENT_PROTOCOLS) {
      const { office, agent, pc, called } = await startPair(version, computer);
      await using _ = office;
      const rows = ROWS[PROFILES[computer].bundleIds ? "whole" : "plain"];
      for (const [name, tried, says] of rows) {
        called.length = 0;
        const params = name.endsWith("echo") ? { text: "hi" } : {};
        const result = await agent.callTool("pc", name, params);
        const what =
          `${name} of an Agent of ${version}, a Computer of ${computer}`;
        assertEquals(called, tried, what);
        const text = result.content.map(({ text }) => text).join();
        assertStringIncludes(text, says, what);
        const isFound = says === "hi" || says === "" || says.startsWith("it w");
        const { error_code } = resultMeta(result);
        assertEquals(error_code, isFound ? undefined : 4001, what);
        // A program that has the Computer calls its tools likewise.
        const local = await pc.callTool(name, params);
        assertEquals(local.content, result.content, what);
      }
    }
  }
});

Deno.test("a call under the other name reports its progress, is cancelled by its req_id or signal, and ends at its timeout", async () => {
  const { office, agent, pc, called } = await startPair("0.2", "0.4");
  await using _ = office;
  const progress: unknown[] = [];
  const onProgress = ({ message }: { message?: string }) =>
    progress.push(message);
  await agent.callTool("pc", "echo", { text: "hi" }, { onProgress });
  assertEquals(progress, ["begins"]);

  const began = () => agent.callTool("pc", "slow_began");
  const ends: string[] = [];
  const ended = () =>
    new Promise<void>((resolve) => {
      const off = pc.on("callEnded", ({ tool, result }) => {
        if (tool !== "my_files__slow") return;
        off();
        ends.push(String(result && resultMeta(result).a2c_cancel_reason));
        resolve();
      });
    });
  const cancelled = agent.callTool("pc", "slow", {}, { reqId: "one" });
  await began();
  let end = ended();
  agent.cancel("one");
  assertEquals(resultMeta(await cancelled).a2c_cancelled, true);
  await end;

  const abort = new AbortController();
  const aborted = agent.callTool("pc", "slow", {}, { signal: abort.signal });
  const rejected = assertRejects(() => aborted, Error, "enough");
  await began();
  end = ended();
  abort.abort(new Error("enough"));
  await rejected;
  await end;

  called.length = 0;
  end = ended();
  const late = await agent.callTool("pc", "slow", {}, { timeoutMs: 500 });
  assertEquals(resultMeta(late).a2c_timeout, true);
  await end;
  assertEquals(called, ["slow", "my_files__slow"]);
  assertEquals(ends, ["agent_requested", "agent_requested", "agent_timeout"]);
});

Deno.test("a call under the other name runs once for its req_id, and its parts with questions are of one name", async () => {
  const { office, agent, called } = await startPair("0.2", "0.4");
  await using _ = office;
  const params = { text: "hi" };
  let runs = 0;
  const once = { reqId: "one", onProgress: () => runs++ };
  const first = await agent.callTool("pc", "echo", params, once);
  assertEquals(await agent.callTool("pc", "echo", params, once), first);
  assertEquals(runs, 1);
  // The longest req_id has no room for that of a second request.
  const long = "x".repeat(256);
  const refused = await agent.callTool("pc", "echo", params, { reqId: long });
  assertEquals(resultMeta(refused).error_code, 4001);

  called.length = 0;
  const answer = { action: "accept" as const, content: { name: "Ann" } };
  const answered = await agent.callTool("pc", "ask", {}, {
    onElicit: () => answer,
  });
  assertEquals(JSON.parse(String(answered.content[0]?.text)), answer);
  const asked = await agent.callTool("pc", "ask", {}, { input: {} });
  assertEquals(asked.resultType, "input_required");
  const input = {
    responses: { question: answer },
    state: String(asked.requestState),
  };
  const { content } = await agent.callTool("pc", "ask", {}, { input });
  assertEquals(JSON.parse(String(content[0]?.text)), answer);
  assertEquals(new Set(called), new Set(["my_files__ask"]));
});

const listed = (name: string) => ({
  name,
  bundle_id: "files",
  description: "",
  params_schema: {},
  return_schema: null,
});

const UNKNOWN = { content: [], isError: true, meta: { error_code: 4001 } };

Deno.test("the tools of a Computer that are not known yet are requested once, and a call that is cancelled meanwhile is not sent again", async () => {
  const asked: unknown[] = [];
  let answer: () => unknown = () => "nonsense";
  await using office = await startOffice({
    computers: {
      pc: (event, payload) => {
        const { req_id, tool_name } = Object(payload);
        asked.push(tool_name ?? event);
        if (event === "client:tool_call") {
          return tool_name === "files__read" ? { content: [] } : UNKNOWN;
        }
        return Promise.resolve(answer()).then((tools) => ({ tools, req_id }));
      },
    },
  });
  const { agent } = office;
  assertEquals(agent.tools.get("pc"), undefined);
  const expected = ["client:get_tools", "read", "client:get_tools"];
  answer = () => [listed("files__read")];
  const result = await agent.callTool("pc", "read");
  assertEquals(result.content, []);
  assertEquals(asked, [...expected, "files__read"]);

  asked.length = 1;
  const { promise, resolve } = Promise.withResolvers<void>();
  answer = () => {
    agent.cancel("one");
    return promise.then(() => [listed("files__read")]);
  };
  const cancelled = agent.callTool("pc", "read", {}, { reqId: "one" });
  resolve();
  assertEquals(resultMeta(await cancelled).a2c_cancelled, true);
  assertEquals(asked, expected);

  asked.length = 1;
  answer = () => "nonsense";
  assert((await agent.callTool("pc", "read")).isError);
  assertEquals(asked, expected);
});

Deno.test("a call that a Computer refuses by the name of its list is sent again by the one that the tool has got meanwhile", async () => {
  let name = "read";
  const asked: unknown[] = [];
  await using office = await startOffice({
    computers: {
      pc: (event, payload) => {
        const { req_id, tool_name } = Object(payload);
        asked.push(tool_name ?? event);
        if (event !== "client:tool_call") {
          return { tools: [listed(name)], req_id };
        }
        // The list with the other name may be announced only after this.
        name = "files__read";
        return tool_name === name ? { content: [] } : UNKNOWN;
      },
    },
  });
  const { agent } = office;
  await agent.toolsSettled();
  assertEquals((await agent.callTool("pc", "read")).content, []);
  const event = "client:get_tools";
  assertEquals(asked, [event, "read", event, "files__read"]);
});

Deno.test("a call of a tool whose MCP server is away gets to no other one, which has a tool of that whole name", async () => {
  const called: unknown[] = [];
  const tools = [{ ...listed("other__files__read"), bundle_id: "other" }];
  await using office = await startOffice({
    server: { protocol: "all" },
    agent: { protocol: "0.4" },
    computers: {
      pc: (event, payload) => {
        const { req_id, tool_name } = Object(payload);
        if (event !== "client:tool_call") return { tools, req_id };
        called.push(tool_name);
        return tool_name === tools[0]?.name ? { content: [] } : UNKNOWN;
      },
    },
  });
  const { agent } = office;
  await agent.toolsSettled();
  const refused = await agent.callTool("pc", "files__read");
  assertEquals(resultMeta(refused).error_code, 4001);
  assertEquals(called, ["files__read"]);
});
