import { parseCallToolResult } from "../../../../protocol/mod.ts";
import { join } from "node:path";
import { type Puppet, startPuppet } from "../puppet.ts";
import { pythonOf, SCRIPTS, type Sdk } from "../venv.ts";
import type { Workplace } from "../workplace/workplace.ts";
import {
  AGENT,
  type AgentParty,
  COMPUTER,
  type ComputerParty,
  OFFICE,
  type ServerParty,
  type Skill,
} from "./party.ts";

/** Starts a script with the interpreter of an SDK. */
async function startScript(
  sdk: Sdk,
  script: "agent" | "computer" | "server",
  env: Readonly<Record<string, string>>,
  ...args: string[]
): Promise<Puppet> {
  const python = await pythonOf(sdk);
  return await startPuppet([python, join(SCRIPTS, `${script}.py`), ...args], {
    PYTHONDONTWRITEBYTECODE: "1",
    PYTHONUNBUFFERED: "1",
    ...env,
  });
}

/** The SDK's Server, as a process. */
export async function pythonServer(sdk: Sdk): Promise<ServerParty> {
  const puppet = await startScript(sdk, "server", {});
  return {
    url: String(await puppet.call("listen")),
    [Symbol.asyncDispose]: () => puppet[Symbol.asyncDispose](),
  };
}

/** The SDK's Agent, as a process; with a token, if the Server wants one. */
export async function pythonAgent(
  sdk: Sdk,
  url: string,
  token = "",
): Promise<AgentParty> {
  const puppet = await startScript(sdk, "agent", {}, AGENT, OFFICE, token);
  return puppetAgent(puppet, url);
}

/** An Agent behind the methods of `python/agent.py`. */
export function puppetAgent(puppet: Puppet, url: string): AgentParty {
  const enter = async () => {
    await puppet.next("connected");
    await puppet.call("join");
    await puppet.call("computers"); // answered after the join took effect
  };
  return {
    async join() {
      await puppet.call("connect", url);
      await enter();
    },
    leave: async () => void await puppet.call("leave"),
    rejoin: enter,
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
    skills: async () => await puppet.call("skills", COMPUTER) as Skill[],
    async skill(name, path) {
      const file = path === undefined ? [] : [path];
      const found = await puppet.call("skill", COMPUTER, name, ...file);
      const { mime_type, content } = found as Record<string, string>;
      return {
        mimeType: mime_type ?? "",
        bytes: Uint8Array.fromBase64(content ?? ""),
      };
    },
    put: async (name, bytes) =>
      String(await puppet.call("put", COMPUTER, name, bytes.toBase64())),
    heard: (name) => puppet.next(name),
    unread: (name) => puppet.unread(name),
    [Symbol.asyncDispose]: () => puppet[Symbol.asyncDispose](),
  };
}

/** The SDK's Computer, as a process. */
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
    leave: async () => void await puppet.call("leave"),
    rejoin: enter,
    updateConfig: async () => void await puppet.call("update_config"),
    [Symbol.asyncDispose]: () => puppet[Symbol.asyncDispose](),
  };
}
