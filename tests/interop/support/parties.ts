import { fileURLToPath } from "node:url";
import { SmcpAgent } from "../../../agent/mod.ts";
import {
  type CallToolResult,
  parseCallToolResult,
} from "../../../protocol/mod.ts";
import { type Child, start } from "../../support/child.ts";
import {
  fixture,
  type StdioSettings,
} from "../../support/computer/mcp_servers.ts";
import { startServerCommand } from "../../support/server/server_command.ts";
import { Mailboxes } from "./mailboxes.ts";
import { startPuppet } from "./puppet.ts";
import type { Sdk } from "./venv.ts";

/** The office that all join. */
export const OFFICE = "interop";
/** The only Computer in it. */
export const COMPUTER = "pc";
const AGENT = "planner";

/** A window on the Computer's desktop. */
export const WINDOW = "window://fixture/board";

/** Notifications of an Agent by name without prefix. */
export type Heard =
  | "enter_office"
  | "leave_office"
  | "update_config"
  | "update_tool_list"
  | "update_desktop";

/** A Server of either kind. */
export interface ServerParty extends AsyncDisposable {
  readonly url: string;
}

/** An Agent of either kind; every call is one to the Computer `pc`. */
export interface AgentParty extends AsyncDisposable {
  join(): Promise<void>;
  leave(): Promise<void>;
  computers(): Promise<string[]>;
  tools(): Promise<Record<string, unknown>[]>;
  call(
    tool: string,
    params?: Record<string, unknown>,
    options?: { computer?: string; timeout?: number },
  ): Promise<CallToolResult>;
  /** A call that `cancel` can end. */
  callAs(reqId: string, tool: string, timeout: number): Promise<CallToolResult>;
  cancel(reqId: string): Promise<void>;
  desktop(): Promise<string[]>;
  config(): Promise<Record<string, unknown>>;
  /** Resolves with the next unread notification of a name. */
  heard(name: Heard): Promise<unknown>;
}

/** A Computer of either kind, with the MCP server `fixture`. */
export interface ComputerParty extends AsyncDisposable {
  join(): Promise<void>;
  leave(): Promise<void>;
  /** Announces a changed configuration. */
  updateConfig(): Promise<void>;
}

const settings = fixture({
  resourceList: [{
    uri: WINDOW,
    name: "board",
    annotations: { priority: 0.5 },
  }],
});

const MCP_SERVER: StdioSettings & { name: string } = {
  ...settings,
  name: "fixture",
  default_tool_meta: { auto_apply: true }, // there is no user to ask
  forbidden_tools: ["pid"],
  server_parameters: {
    ...settings.server_parameters,
    // Keeps Deno's cache; a puppet has another HOME.
    env: {
      ...settings.server_parameters.env,
      HOME: Deno.env.get("HOME") ?? "",
    },
  },
};

/** This package's Server, as a process. */
export async function ourServer(protocol: Sdk): Promise<ServerParty> {
  return await startServerCommand(["--port=0", "--protocol", protocol]);
}

/** The SDK's Server, as a process. */
export async function pythonServer(sdk: Sdk): Promise<ServerParty> {
  const puppet = await startPuppet(sdk, "server");
  return {
    url: String(await puppet.call("listen")),
    [Symbol.asyncDispose]: () => puppet[Symbol.asyncDispose](),
  };
}

/** The SDK's Agent, as a process. */
export async function pythonAgent(sdk: Sdk, url: string): Promise<AgentParty> {
  const puppet = await startPuppet(sdk, "agent", AGENT, OFFICE);
  return {
    async join() {
      await puppet.call("connect", url);
      await puppet.call("join");
      await puppet.call("computers"); // answered after the join took effect
    },
    leave: async () => void await puppet.call("leave"),
    computers: async () => await puppet.call("computers") as string[],
    tools: async () =>
      await puppet.call("tools", COMPUTER) as Record<string, unknown>[],
    call: async (
      tool,
      params = {},
      { computer = COMPUTER, timeout = 30 } = {},
    ) =>
      parseCallToolResult(
        await puppet.call("call", computer, tool, params, timeout),
      ),
    callAs: async (reqId, tool, timeout) =>
      parseCallToolResult(
        await puppet.call("call_as", reqId, COMPUTER, tool, {}, timeout),
      ),
    cancel: async (reqId) => void await puppet.call("cancel", reqId),
    desktop: async () => await puppet.call("desktop", COMPUTER) as string[],
    config: async () =>
      await puppet.call("config", COMPUTER) as Record<string, unknown>,
    heard: (name) => puppet.next(name),
    [Symbol.asyncDispose]: () => puppet[Symbol.asyncDispose](),
  };
}

/** The SDK's Computer, as a process. */
export async function pythonComputer(
  sdk: Sdk,
  url: string,
): Promise<ComputerParty> {
  const puppet = await startPuppet(sdk, "computer", COMPUTER);
  return {
    async join() {
      await puppet.call("start", [MCP_SERVER]);
      await puppet.call("connect", url);
      await puppet.call("join", OFFICE);
    },
    leave: async () => void await puppet.call("leave"),
    updateConfig: async () => void await puppet.call("update_config"),
    [Symbol.asyncDispose]: () => puppet[Symbol.asyncDispose](),
  };
}

const NOTIFICATIONS = {
  enter_office: "enterOffice",
  leave_office: "leaveOffice",
  update_config: "updateConfig",
  update_tool_list: "updateToolList",
  update_desktop: "updateDesktop",
} as const satisfies Record<Heard, string>;

/** This package's Agent. */
export function ourAgent(url: string): AgentParty {
  const agent = new SmcpAgent({ url, name: AGENT, path: "/socket.io/" });
  const heard = new Mailboxes();
  for (const [name, event] of Object.entries(NOTIFICATIONS)) {
    agent.on(event, (data) => heard.put(name, data));
  }
  return {
    async join() {
      await agent.connect();
      await agent.join(OFFICE);
      await agent.toolsSettled();
    },
    leave: () => agent.leave(),
    computers: async () =>
      (await agent.listRoom()).filter(({ role }) => role === "computer")
        .map(({ name }) => name),
    tools: async () => (await agent.getTools(COMPUTER)).map((t) => ({ ...t })),
    call: (tool, params = {}, { computer = COMPUTER, timeout = 30 } = {}) =>
      agent.callTool(computer, tool, params, {
        timeoutMs: timeout * 1000,
        onProgress: () => {}, // what peers do not know must harm no call
      }),
    callAs: (reqId, tool, timeout) =>
      agent.callTool(COMPUTER, tool, {}, { reqId, timeoutMs: timeout * 1000 }),
    cancel: (reqId) => Promise.resolve(agent.cancel(reqId)),
    desktop: () => agent.getDesktop(COMPUTER),
    config: async () => ({ ...await agent.getConfig(COMPUTER) }),
    heard: (name) => heard.take(name),
    [Symbol.asyncDispose]: () => agent.close(),
  };
}

/** This package's Computer, as a process. */
export async function ourComputer(url: string): Promise<ComputerParty> {
  const config = await Deno.makeTempFile({ suffix: ".json" });
  await Deno.writeTextFile(
    config,
    JSON.stringify({ servers: { [MCP_SERVER.name]: MCP_SERVER } }),
  );
  let child: Child | undefined;
  const args = ["run", "-A", "computer/main.ts", "run", "--url", url];
  args.push("--path", "/socket.io/", "--office", OFFICE);
  args.push("--name", COMPUTER, "--config", config);
  return {
    async join() {
      child = start(Deno.execPath(), args, { cwd: root });
      await Promise.all([child.line(/joined office/), child.line(/: running/)]);
    },
    leave: async () => void await child?.stop(),
    updateConfig: () => Promise.resolve(), // announced at the join
    async [Symbol.asyncDispose]() {
      await child?.stop();
      await Deno.remove(config);
    },
  };
}

const root = fileURLToPath(new URL("../../../", import.meta.url));
