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
import { ourServer } from "./support/parties/ours.ts";
import { AGENT, COMPUTER, OFFICE } from "./support/parties/party.ts";
import {
  pythonAgent,
  pythonComputer,
  pythonServer,
} from "./support/parties/python.ts";
import { textOf } from "./support/steps/step.ts";
import type { Sdk } from "./support/venv.ts";
import { openWorkplace } from "./support/workplace/workplace.ts";

const VERSIONS: readonly Sdk[] = ["0.2", "0.3", "0.4"];
const CONNECTION = { path: "/socket.io/" };

/** Registers a test that may wait for a download of an SDK, and for peers that never answer. */
const test = (name: string, run: () => Promise<void>) =>
  Deno.test({ name, timeout: SCREEN_TIMEOUT_MS, fn: run });

/** This package's Agent, in the office. */
async function joinedAgent(url: string): Promise<SmcpAgent> {
  const agent = new SmcpAgent({ ...CONNECTION, url, name: AGENT });
  await agent.connect();
  await agent.join(OFFICE);
  return agent;
}

/** This package's Computer in this process, in the office. */
async function joinedComputer(url: string): Promise<SmcpComputer> {
  const computer = new SmcpComputer({
    ...CONNECTION,
    url,
    name: COMPUTER,
    servers: { fix: fixture({ prompts: true }) },
    confirm: () => "once",
  });
  await computer.connect();
  await computer.serversSettled();
  await computer.join(OFFICE);
  return computer;
}

/** Asks for everything that Python's peers do not know, all at once. */
async function isRefusedCleanly(agent: SmcpAgent, server: string) {
  const options = { timeoutMs: 1_000 };
  const requests: Record<string, Promise<unknown>> = {
    read_resource: agent.readResource(COMPUTER, server, "x://y", options),
    get_prompts: agent.getPrompts(COMPUTER, options),
    get_prompt: agent.getPrompt(COMPUTER, server, "p", options),
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

for (const sdk of VERSIONS) {
  test(`${sdk}: Python's Server passes on no extension, says nothing to those of our Computer, and goes on`, async () => {
    await using server = await pythonServer(sdk);
    await using _computer = await joinedComputer(server.url);
    await using agent = await joinedAgent(server.url);
    const tools = await agent.getTools(COMPUTER);
    const call = (tool: string, params = {}) =>
      agent.callTool(COMPUTER, nameOf(tools, tool), params, {
        onProgress: () => {},
      });
    await isRefusedCleanly(agent, "fix");
    assertEquals(textOf(await call("change_prompts")), "told");
    assertEquals(textOf(await call("change_resources")), "told");
    assertEquals(textOf(await call("echo", { text: "on" })), "on");
  });

  test(`${sdk}: Python's Computer answers no extension, and goes on`, async () => {
    await using server = await ourServer(sdk);
    await using place = await openWorkplace();
    await using computer = await pythonComputer(sdk, server.url, place);
    await computer.join();
    await using agent = await joinedAgent(server.url);
    const tools = await agent.getTools(COMPUTER);
    const { servers } = await agent.getConfig(COMPUTER);
    await isRefusedCleanly(agent, Object.keys(servers)[0] ?? "");
    const text = await agent.callTool(COMPUTER, nameOf(tools, "echo"), {
      text: "on",
    }, { onProgress: () => {} });
    assertEquals(textOf(text), "on");
  });

  test(`${sdk}: Python's Agent is unharmed by what our Computer tells`, async () => {
    await using server = await ourServer(sdk);
    await using _computer = await joinedComputer(server.url);
    await using agent = await pythonAgent(sdk, server.url);
    await agent.join();
    const tools = await agent.tools();
    for (const tool of ["change_prompts", "change_resources"]) {
      assertEquals(textOf(await agent.call(nameOf(tools, tool))), "told");
    }
    const echoed = await agent.call(nameOf(tools, "echo"), { text: "on" });
    assertEquals(textOf(echoed), "on");
  });
}
