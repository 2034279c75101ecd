import {
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { SmcpAgent } from "../../agent/mod.ts";
import { SmcpComputer } from "../../computer/mod.ts";
import { fixture } from "../support/computer/mcp_servers.ts";
import { SCREEN_TIMEOUT_MS } from "./support/casts.ts";
import {
  AGENT,
  COMPUTER,
  OFFICE,
  ourServer,
  pythonAgent,
  pythonComputer,
  pythonServer,
} from "./support/parties.ts";
import { textOf } from "./support/scenario.ts";
import { openWorkplace } from "./support/workplace.ts";

/** Registers a test that may wait for a download of an SDK, and for peers that never answer. */
const test = (name: string, fn: () => Promise<void>) =>
  Deno.test({ name, timeout: SCREEN_TIMEOUT_MS, fn });

/** This package's Agent, in the office. */
async function joinedAgent(url: string): Promise<SmcpAgent> {
  const agent = new SmcpAgent({ url, name: AGENT, path: "/socket.io/" });
  await agent.connect();
  await agent.join(OFFICE);
  return agent;
}

/** This package's Computer in this process, in the office. */
async function joinedComputer(url: string): Promise<SmcpComputer> {
  const computer = new SmcpComputer({
    url,
    name: COMPUTER,
    path: "/socket.io/",
    servers: { fix: fixture({ prompts: true }) },
    confirm: () => "once",
  });
  await computer.connect();
  await computer.serversSettled();
  await computer.join(OFFICE);
  return computer;
}

/** Requests everything that Python's peers lack, all at once. */
async function isRefusedCleanly(agent: SmcpAgent, server: string) {
  const options = { timeoutMs: 1_000 };
  const requests: Record<string, Promise<unknown>> = {
    read_resource: agent.readResource(COMPUTER, server, "x://y", options),
    get_prompts: agent.getPrompts(COMPUTER, options),
    get_prompt: agent.getPrompt(COMPUTER, server, "p", options),
    get_resource_templates: agent.getResourceTemplates(COMPUTER, options),
    complete: agent.complete(COMPUTER, server, {
      ref: { type: "ref/prompt", name: "p" },
      argument: { name: "a", value: "" },
    }, options),
    get_instructions: agent.getInstructions(COMPUTER),
    watch_resource: agent.watchResource(COMPUTER, server, "x://y"),
  };
  await Promise.all(
    Object.entries(requests).map(async ([name, request]) => {
      const { message } = await assertRejects(() => request, Error);
      assertStringIncludes(message, `client:${name}`);
      assertMatch(message, /does not answer|lacks this extension/);
    }),
  );
}

/** Finds the name of a tool of the MCP server in this version. */
const nameOf = (tools: Iterable<{ name?: unknown }>, tool: string): string =>
  [...tools].map(({ name }) => String(name))
    .find((name) => name === tool || name.endsWith(`__${tool}`)) ?? tool;

const ON = { text: "on" };

/** Calls tools of the Computer with progress. */
async function caller(agent: SmcpAgent) {
  const tools = await agent.getTools(COMPUTER);
  return async (tool: string, params = {}) => {
    const options = { onProgress: () => {} };
    const name = nameOf(tools, tool);
    return textOf(await agent.callTool(COMPUTER, name, params, options));
  };
}

for (const sdk of ["0.2", "0.3", "0.4"] as const) {
  test(`${sdk}: Python's Server passes on no extension, says nothing to those of our Computer, and goes on`, async () => {
    await using server = await pythonServer(sdk);
    await using _computer = await joinedComputer(server.url);
    await using agent = await joinedAgent(server.url);
    const call = await caller(agent);
    await isRefusedCleanly(agent, "fix");
    assertEquals(await call("change_prompts"), "told");
    assertEquals(await call("change_resources"), "told");
    assertEquals(await call("echo", ON), "on");
  });

  test(`${sdk}: Python's Computer answers no extension, and goes on`, async () => {
    await using server = await ourServer(sdk);
    await using place = await openWorkplace();
    await using computer = await pythonComputer(sdk, server.url, place);
    await computer.join();
    await using agent = await joinedAgent(server.url);
    const call = await caller(agent);
    const { servers } = await agent.getConfig(COMPUTER);
    await isRefusedCleanly(agent, Object.keys(servers)[0] ?? "");
    assertEquals(await call("echo", ON), "on");
  });

  test(`${sdk}: Python's Agent is unharmed by what our Computer tells`, async () => {
    await using server = await ourServer(sdk);
    await using _computer = await joinedComputer(server.url);
    await using agent = await pythonAgent(sdk, server.url);
    await agent.join();
    const tools = await agent.tools();
    const call = async (tool: string, params = {}) =>
      textOf(await agent.call(nameOf(tools, tool), params));
    assertEquals(await call("change_prompts"), "told");
    assertEquals(await call("change_resources"), "told");
    assertEquals(await call("echo", ON), "on");
  });
}
