import { fileURLToPath } from "node:url";
import { SmcpAgent } from "../../../../agent/mod.ts";
import { type Child, start } from "../../../support/child.ts";
import {
  type ServerCommand,
  startServerCommand,
} from "../../../support/server/server_command.ts";
import { Mailboxes } from "../mailboxes.ts";
import type { Sdk } from "../venv.ts";
import type { Workplace } from "../workplace/workplace.ts";
import {
  AGENT,
  type AgentParty,
  COMPUTER,
  type ComputerParty,
  type Heard,
  OFFICE,
} from "./party.ts";

/** This package's Server, as a process. */
export async function ourServer(
  protocol: Sdk | "all",
  env: Readonly<Record<string, string>> = {},
): Promise<ServerCommand> {
  return await startServerCommand(["--port=0", "--protocol", protocol], env);
}

const NOTIFICATIONS = {
  enter_office: "enterOffice",
  leave_office: "leaveOffice",
  update_config: "updateConfig",
  update_tool_list: "updateToolList",
  update_desktop: "updateDesktop",
  update_skills: "updateSkills",
} as const satisfies Record<Heard, string>;

/** This package's Agent; the Server of 0.1 does not ask for a version. */
export function ourAgent(sdk: Sdk | "auto", url: string): AgentParty {
  const agent = new SmcpAgent({
    url,
    name: AGENT,
    path: "/socket.io/",
    protocol: sdk === "0.1" ? "0.2" : sdk,
  });
  const heard = new Mailboxes();
  for (const [name, event] of Object.entries(NOTIFICATIONS)) {
    agent.on(event, (data) => heard.put(name, data));
  }
  agent.on("joined", ({ rejoined }) => rejoined && heard.put("rejoined", null));
  return {
    async join() {
      await agent.connect();
      await agent.join(OFFICE);
      await agent.toolsSettled();
    },
    leave: () => agent.leave(),
    rejoin: async () => void await heard.take("rejoined"),
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
    skills: async () =>
      (await agent.getSkills(COMPUTER)).map((s) => ({ ...s })),
    async skill(name, path) {
      const options = path === undefined ? {} : { path };
      const file = await agent.getSkill(COMPUTER, name, options);
      return { mimeType: file.mimeType, bytes: await file.bytes() };
    },
    put: async (name, bytes) =>
      (await agent.putFile(COMPUTER, bytes, { name })).path,
    heard: (name) => heard.take(name),
    unread: (name) => heard.unread(name),
    [Symbol.asyncDispose]: () => agent.close(),
  };
}

/** This package's Computer, as a process; it finds the version of the Server by itself. */
export async function ourComputer(
  url: string,
  place: Workplace,
): Promise<ComputerParty> {
  const config = await Deno.makeTempFile({ suffix: ".json" });
  const servers = Object.fromEntries(place.servers.map((s) => [s.name, s]));
  await Deno.writeTextFile(config, JSON.stringify({ servers }));
  let child: Child | undefined;
  const args = ["run", "-A", "computer/main.ts", "run", "--url", url];
  args.push("--path", "/socket.io/", "--office", OFFICE);
  args.push("--name", COMPUTER, "--config", config);
  args.push("--landing-root", place.landingRoot);
  return {
    async join() {
      child = start(Deno.execPath(), args, {
        cwd: root,
        env: { A2C_SKILL_HOME: place.skillHome },
      });
      const running = place.servers.map(({ name }) =>
        child?.line(new RegExp(`${name}.*: running`))
      );
      await Promise.all([child.line(/joined office/), ...running]);
    },
    leave: async () => void await child?.stop(),
    rejoin: async () => void await child?.line(/back in office/),
    updateConfig: () => Promise.resolve(), // announced at the join
    async [Symbol.asyncDispose]() {
      await child?.stop();
      await Deno.remove(config);
    },
  };
}

const root = fileURLToPath(new URL("../../../../", import.meta.url));
