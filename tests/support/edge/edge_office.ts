import { SmcpAgent } from "../../../agent/mod.ts";
import type { ConnectionOptions } from "../../../client/options.ts";
import { TOOL_CALL_EVENT, type ToolCallReq } from "../../../protocol/mod.ts";
import {
  type ScriptedComputer,
  scriptedComputer,
  type ScriptedComputerOptions,
} from "../../../testing/mod.ts";

/** The office of tests. */
export const OFFICE = "home";

/** Answers with the arguments of a call; the one tool is `echo`. */
export function echo(event: string, payload: unknown): unknown {
  if (event === TOOL_CALL_EVENT) {
    const { params } = payload as ToolCallReq;
    return { content: [{ type: "text", text: JSON.stringify(params) }] };
  }
  const tool = {
    name: "echo",
    description: "Says it again",
    params_schema: { type: "object" },
    return_schema: null,
  };
  const { req_id }: { req_id?: unknown } = Object(payload);
  return { req_id, tools: [tool] };
}

/** How a member of a test connects. */
type Connecting = Partial<ConnectionOptions> & { readonly url: string };

/** Connects a Computer "pc" that answers with {@linkcode echo}, and joins. */
export async function joinComputer(
  options: Connecting & Partial<ScriptedComputerOptions>,
  office = OFFICE,
): Promise<ScriptedComputer> {
  const computer = scriptedComputer({ name: "pc", script: echo, ...options });
  await computer.connect();
  await computer.join(office);
  return computer;
}

/** Connects an Agent "ai", and joins. */
export async function joinAgent(
  options: Connecting,
  office = OFFICE,
): Promise<SmcpAgent> {
  const agent = new SmcpAgent({ name: "ai", ...options });
  await agent.connect();
  await agent.join(office);
  return agent;
}

/** Calls the tool of "pc"; returns what it was called with. */
export async function callEcho(
  agent: SmcpAgent,
  params: Readonly<Record<string, unknown>>,
): Promise<unknown> {
  const { content } = await agent.callTool("pc", "echo", params);
  const [part] = content;
  return part?.type === "text" ? JSON.parse(part.text) : part;
}
