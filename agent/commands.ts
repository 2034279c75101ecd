import process from "node:process";
import {
  type CredentialFlags,
  credentialHeaders,
} from "../protocol/cli/credentials.ts";
import { UsageError } from "../protocol/cli/run.ts";
import type { CallToolResult, SMCPTool } from "../protocol/mod.ts";
import { SmcpAgent } from "./client.ts";

/** Where to look, from the command line. */
export interface OfficeFlags extends CredentialFlags {
  url: string;
  path: string;
  office: string;
  name: string;
  json?: true;
}

/** The same, perhaps for one Computer alone. */
export interface ToolFlags extends OfficeFlags {
  computer?: string;
}

/** What to call a tool with. */
export interface CallFlags extends ToolFlags {
  params: Record<string, unknown>;
  timeout: number;
}

/** Prints who is in the office. */
export async function members(flags: OfficeFlags): Promise<void> {
  await using agent = await enter(flags);
  const sessions = await agent.listRoom();
  if (flags.json) return printJson(sessions);
  const width = Math.max(...sessions.map(({ name }) => name.length));
  for (const { name, role, a2c_version } of sessions) {
    console.log(
      `${name.padEnd(width)}  ${role.padEnd(8)}  ${a2c_version ?? ""}`,
    );
  }
}

/** Prints the tools of the office. */
export async function tools(flags: ToolFlags): Promise<void> {
  await using agent = await enter(flags);
  const found = await fetchTools(agent, flags.computer);
  if (flags.json) return printJson(Object.fromEntries(found));
  for (const [computer, list] of found) {
    console.log(`${computer}: ${list.length} tools`);
    const width = Math.max(0, ...list.map(({ name }) => name.length));
    for (const { name, description } of list) {
      console.log(`  ${name.padEnd(width)}  ${headline(description)}`);
    }
  }
  if (found.size === 0) {
    console.log(`No Computer is in the office "${flags.office}".`);
  }
}

/** Calls a tool and prints its result; a failed tool makes the exit code 1. */
export async function call(tool: string, flags: CallFlags): Promise<void> {
  await using agent = await enter(flags);
  const computer = flags.computer ?? await findComputer(agent, tool);
  const interrupt = new AbortController();
  const onInterrupt = () => interrupt.abort(new Error("cancelled"));
  process.once("SIGINT", onInterrupt);
  try {
    console.error(`calling ${tool} on ${computer} (Ctrl-C cancels)`);
    const result = await agent.callTool(computer, tool, flags.params, {
      timeout: flags.timeout,
      signal: interrupt.signal,
    });
    if (flags.json) printJson(result);
    else printResult(result);
    if (result.isError) throw new Error(`the tool "${tool}" failed`);
  } finally {
    process.off("SIGINT", onInterrupt);
  }
}

async function enter(
  { url, path, office, name, ...credentials }: OfficeFlags,
): Promise<SmcpAgent> {
  const headers = credentialHeaders(credentials);
  const agent = new SmcpAgent({ url, path, name, headers });
  try {
    await agent.connect();
    await agent.join(office);
    return agent;
  } catch (error) {
    await agent.close();
    throw error;
  }
}

async function fetchTools(
  agent: SmcpAgent,
  computer: string | undefined,
): Promise<ReadonlyMap<string, readonly SMCPTool[]>> {
  if (computer !== undefined) {
    return new Map([[computer, await agent.getTools(computer)]]);
  }
  await agent.toolsSettled();
  return agent.tools;
}

async function findComputer(agent: SmcpAgent, tool: string): Promise<string> {
  const offering = [...await fetchTools(agent, undefined)]
    .filter(([, tools]) => tools.some(({ name }) => name === tool))
    .map(([computer]) => computer);
  const [only, ...others] = offering;
  if (only === undefined) {
    throw new Error(
      `no Computer in the office offers the tool "${tool}"; the command "tools" lists what there is`,
    );
  }
  if (others.length > 0) {
    throw new UsageError(
      `several Computers offer "${tool}" (${
        offering.join(", ")
      }); choose one with --computer`,
    );
  }
  return only;
}

function printResult({ content, structuredContent }: CallToolResult): void {
  for (const { type, text, ...rest } of content) {
    if (typeof text === "string") console.log(text);
    else console.log(`[${type}] ${summary(rest)}`);
  }
  if (content.length === 0 && structuredContent) printJson(structuredContent);
}

const summary = (fields: Record<string, unknown>): string =>
  Object.entries(fields).map(([key, value]) =>
    typeof value === "string" && value.length > 60
      ? `${key}: ${value.length} characters`
      : `${key}: ${JSON.stringify(value)}`
  ).join(", ");

/** What fits into a line: models want pages of description, people the first sentence. */
function headline(text: string): string {
  const [first = ""] = text.split(/(?<=\.)\s|\n/, 1);
  return first.length > 80 ? `${first.slice(0, 79)}…` : first;
}

const printJson = (value: unknown): void =>
  console.log(JSON.stringify(value, null, 2));
