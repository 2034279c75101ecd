/**
 * Agent, Server and Computer of each kind behind one interface. This package's Agent runs in this process;
 * every other party is a process. Those of other SDKs are puppets: programs whose object answers calls.
 *
 * @module
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { SmcpAgent } from "../../../agent/mod.ts";
import {
  type CallToolResult,
  parseCallToolResult,
} from "../../../protocol/mod.ts";
import { type Child, start } from "../../support/child.ts";
import {
  type ServerCommand,
  startServerCommand,
} from "../../support/server/server_command.ts";
import { Mailboxes, type Puppet, startPuppet } from "./puppet.ts";
import { pythonOf, SCRIPTS, type Sdk } from "./venv.ts";
import type { Workplace } from "./workplace.ts";

/** The office that all join. */
export const OFFICE = "interop";
/** The only Computer in it. */
export const COMPUTER = "pc";
/** The only Agent in it. */
export const AGENT = "planner";

/** Notifications of an Agent by name without prefix, and its events of them. */
const NOTIFICATIONS = {
  enter_office: "enterOffice",
  leave_office: "leaveOffice",
  update_config: "updateConfig",
  update_tool_list: "updateToolList",
  update_desktop: "updateDesktop",
  update_skills: "updateSkills",
} as const;

type Heard = keyof typeof NOTIFICATIONS;
type Json = Record<string, unknown>;

/** A Server of any kind. */
export interface ServerParty extends AsyncDisposable {
  readonly url: string;
}

/** An Agent of any kind; every call is one to the Computer `pc`. */
export interface AgentParty extends AsyncDisposable {
  join(): Promise<void>;
  leave(): Promise<unknown>;
  /** Resolves when it is in its office again, after its connection was lost. */
  rejoin(): Promise<unknown>;
  computers(): Promise<string[]>;
  tools(): Promise<Json[]>;
  call(
    tool: string,
    params?: Json,
    options?: { computer?: string; timeout?: number },
  ): Promise<CallToolResult>;
  /** A call that `cancel` can end. */
  callAs(reqId: string, tool: string, timeout: number): Promise<CallToolResult>;
  cancel(reqId: string): Promise<unknown>;
  desktop(): Promise<string[]>;
  config(): Promise<Json>;
  skills(): Promise<Json[]>;
  /** A file of a skill, whole; default its `SKILL.md`. */
  skill(
    name: string,
    path?: string,
  ): Promise<{ mimeType: string; bytes: Uint8Array }>;
  /** Puts a file on the Computer, and resolves with its path there. */
  put(name: string, bytes: Uint8Array<ArrayBuffer>): Promise<string>;
  /** Resolves with the next unread notification of a name. */
  heard(name: Heard): Promise<unknown>;
}

/** A Computer of any kind, with the MCP servers of a workplace. */
export interface ComputerParty extends AsyncDisposable {
  join(): Promise<void>;
  leave(): Promise<unknown>;
  /** Resolves when it is in its office again, after its connection was lost. */
  rejoin(): Promise<unknown>;
  /** Announces a changed configuration. */
  updateConfig(): Promise<unknown>;
}

/** This package's Server, as a process. */
export const ourServer = (
  protocol: Sdk | "all",
  env: Readonly<Record<string, string>> = {},
): Promise<ServerCommand> =>
  startServerCommand(["--port=0", "--protocol", protocol], env);

/** This package's Agent; the Server of 0.1 does not ask for a version. */
export function ourAgent(sdk: Sdk | "auto", url: string): AgentParty {
  const agent = new SmcpAgent({
    url,
    name: AGENT,
    path: "/socket.io/",
    protocol: sdk === "0.1" ? "0.2" : sdk,
  });
  const events = new Mailboxes();
  for (const [name, event] of Object.entries(NOTIFICATIONS)) {
    agent.on(event, (data) => events.put(name, data));
  }
  agent.on(
    "joined",
    ({ rejoined }) => rejoined && events.put("rejoined", null),
  );
  return {
    async join() {
      await agent.connect();
      await agent.join(OFFICE);
      await agent.toolsSettled();
    },
    leave: () => agent.leave(),
    rejoin: () => events.take("rejoined"),
    computers: async () =>
      (await agent.listRoom()).filter(({ role }) => role === "computer")
        .map(({ name }) => name),
    tools: async () => (await agent.getTools(COMPUTER)).map((t) => ({ ...t })),
    call: (tool, params = {}, { computer = COMPUTER, timeout = 30 } = {}) =>
      agent.callTool(computer, tool, params, {
        timeoutMs: timeout * 1000,
        onProgress: () => {}, // must harm no call where peers do not support it
      }),
    callAs: (reqId, tool, timeout) =>
      agent.callTool(COMPUTER, tool, {}, { reqId, timeoutMs: timeout * 1000 }),
    cancel: (reqId) => Promise.resolve(agent.cancel(reqId)),
    desktop: () => agent.getDesktop(COMPUTER),
    config: async () => ({ ...await agent.getConfig(COMPUTER) }),
    skills: async () =>
      (await agent.getSkills(COMPUTER)).map((s) => ({ ...s })),
    async skill(name, path) {
      const options = path === undefined ? {} : { path };
      const file = await agent.getSkill(COMPUTER, name, options);
      return { mimeType: file.mimeType, bytes: await file.bytes() };
    },
    put: async (name, bytes) =>
      (await agent.putFile(COMPUTER, bytes, { name })).path,
    heard: (name) => events.take(name),
    [Symbol.asyncDispose]: () => agent.close(),
  };
}

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** This package's Computer, as a process; it finds the version of the Server by itself. */
export async function ourComputer(
  url: string,
  place: Workplace,
): Promise<ComputerParty> {
  const config = await Deno.makeTempFile({ suffix: ".json" });
  const servers = Object.fromEntries(place.servers.map((s) => [s.name, s]));
  await Deno.writeTextFile(config, JSON.stringify({ servers }));
  let child: Child | undefined;
  return {
    async join() {
      child = start(Deno.execPath(), [
        ...["run", "-A", "computer/main.ts", "run", "--url", url],
        ...["--path", "/socket.io/", "--office", OFFICE, "--name", COMPUTER],
        ...["--config", config, "--landing-root", place.landingRoot],
      ], { cwd: root, env: { A2C_SKILL_HOME: place.skillHome } });
      const running = place.servers.map(({ name }) =>
        child?.line(new RegExp(`${name}.*: running`))
      );
      await Promise.all([child.line(/joined office/), ...running]);
    },
    leave: async () => await child?.stop(),
    rejoin: async () => await child?.line(/back in office/),
    updateConfig: () => Promise.resolve(), // announced at the join
    async [Symbol.asyncDispose]() {
      await child?.stop();
      await Deno.remove(config);
    },
  };
}

/** Starts a script with the interpreter of an SDK. */
async function startScript(
  sdk: Sdk,
  script: "agent" | "computer" | "server",
  env: Readonly<Record<string, string>>,
  ...args: string[]
): Promise<Puppet> {
  const python = await pythonOf(sdk);
  const bare = { PYTHONDONTWRITEBYTECODE: "1", PYTHONUNBUFFERED: "1" };
  const words = [python, join(SCRIPTS, `${script}.py`), ...args];
  return await startPuppet(words, { ...bare, ...env });
}

/** Python's Server. */
export async function pythonServer(sdk: Sdk): Promise<ServerParty> {
  const puppet = await startScript(sdk, "server", {});
  return { ...puppet, url: await puppet.call("listen") };
}

/** Python's Agent; with a token, if the Server requires one. */
export async function pythonAgent(
  sdk: Sdk,
  url: string,
  token = "",
): Promise<AgentParty> {
  const puppet = await startScript(sdk, "agent", {}, AGENT, OFFICE, token);
  return puppetAgent(puppet, url);
}

/** An Agent behind the methods of `python/agent.py`. */
function puppetAgent(puppet: Puppet, url: string): AgentParty {
  const { call } = puppet;
  const enter = async () => {
    await puppet.next("connected");
    await call("join");
    await call("computers"); // answered after the join took effect
  };
  return {
    async join() {
      await call("connect", url);
      await enter();
    },
    leave: () => call("leave"),
    rejoin: enter,
    computers: () => call("computers"),
    tools: () => call("tools", COMPUTER),
    call: async (
      tool,
      params = {},
      { computer = COMPUTER, timeout = 30 } = {},
    ) =>
      parseCallToolResult(await call("call", computer, tool, params, timeout)),
    callAs: async (reqId, tool, timeout) =>
      parseCallToolResult(
        await call("call_as", reqId, COMPUTER, tool, {}, timeout),
      ),
    cancel: (reqId) => call("cancel", reqId),
    desktop: () => call("desktop", COMPUTER),
    config: () => call("config", COMPUTER),
    skills: () => call("skills", COMPUTER),
    async skill(name, path) {
      const file = path === undefined ? [] : [path];
      const { mime_type = "", content = "" } = await call<
        Record<string, string>
      >("skill", COMPUTER, name, ...file);
      return { mimeType: mime_type, bytes: Uint8Array.fromBase64(content) };
    },
    put: (name, bytes) => call("put", COMPUTER, name, bytes.toBase64()),
    heard: (name) => puppet.next(name),
    [Symbol.asyncDispose]: () => puppet[Symbol.asyncDispose](),
  };
}

/** Python's Computer. */
export async function pythonComputer(
  sdk: Sdk,
  url: string,
  place: Workplace,
): Promise<ComputerParty> {
  const env = { A2C_SKILL_HOME: place.skillHome };
  const puppet = await startScript(sdk, "computer", env, COMPUTER);
  const landing = sdk === "0.4" ? [place.landingRoot] : [];
  const enter = async () => {
    await puppet.next("connected");
    await puppet.call("join", OFFICE);
  };
  return {
    async join() {
      await puppet.call("start", place.servers, ...landing);
      await puppet.call("connect", url);
      await enter();
    },
    leave: () => puppet.call("leave"),
    rejoin: enter,
    updateConfig: () => puppet.call("update_config"),
    [Symbol.asyncDispose]: () => puppet[Symbol.asyncDispose](),
  };
}

/** Builds the peer from the crates of the Rust SDK, which takes minutes the first time. */
async function rustPeer(): Promise<string> {
  const target = fileURLToPath(new URL("../.venv/rust", import.meta.url));
  const { success, stderr } = await new Deno.Command("cargo", {
    args: ["build", "--locked", "--quiet"],
    cwd: new URL("../rust", import.meta.url),
    env: { CARGO_TARGET_DIR: target },
  }).output();
  if (success) return `${target}/debug/interop-peer`;
  const why = new TextDecoder().decode(stderr);
  throw new Error(`Cannot build the Rust peer:\n${why}`);
}

/** The Server of the crate `smcp-server-hyper`. */
export async function rustServer(): Promise<ServerParty> {
  const child = start(await rustPeer(), ["server"]);
  const [, address] = await child.line(/Server listening on (\S+)/);
  return {
    url: `http://${address}`,
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  };
}

/** The Agent of the crate `smcp-agent`. */
export async function rustAgent(url: string): Promise<AgentParty> {
  const puppet = await startPuppet([await rustPeer(), "agent", AGENT, OFFICE]);
  const agent = puppetAgent(puppet, url);
  // The SDK reports no lost connection: its user connects again.
  return { ...agent, rejoin: () => agent.join() };
}
