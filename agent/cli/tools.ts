import { columns, plain } from "../../cli/terminal_text.ts";
import {
  type GetComputerConfigRet,
  mcpServerOf,
  ownToolName,
  ProtocolError,
  type SMCPTool,
} from "../../protocol/mod.ts";
import type { SmcpAgent } from "../agent.ts";
import { count, headline } from "./words.ts";
import {
  type ComputerFlags,
  noComputer,
  printJson,
  withAgent,
} from "./office.ts";
import { labelOf } from "./server_names.ts";
import { officeTools } from "./office_tools.ts";
import { parameterRows } from "./parameters.ts";

/** Flags of `tools`. */
export interface ToolsFlags extends ComputerFlags {
  /** Show the parameters of each tool. */
  verbose?: boolean;
}

/** The tools of one MCP server, or of unknown servers; `state` describes a server without tools. */
interface Group {
  readonly server: string | undefined;
  /** Its name for people, if it is known. */
  readonly name?: string | undefined;
  readonly tools: readonly SMCPTool[];
  readonly state?: string;
}

/** Prints the tools of the office, by Computer and MCP server. */
export async function tools(flags: ToolsFlags): Promise<void> {
  const { computer } = flags;
  const found = await withAgent(flags, async (agent, signal) => {
    const listed = computer === undefined
      ? await officeTools(agent, signal)
      : new Map([[computer, await agent.getTools(computer, { signal })]]);
    const groups = new Map<string, Group[]>();
    if (flags.json) return { listed, groups };
    for (const [computer, list] of listed) {
      groups.set(computer, await grouped(agent, computer, list, signal));
    }
    return { listed, groups };
  });
  if (flags.json) return printJson(Object.fromEntries(found.listed));
  if (found.listed.size === 0) throw noComputer(flags.office);
  for (const [computer, list] of found.listed) {
    console.log(`${plain(computer)}: ${count(list.length, "tool")}`);
    for (const group of found.groups.get(computer) ?? []) {
      printGroup(group, flags.verbose === true);
    }
  }
}

function printGroup(
  { server, name, tools, state }: Group,
  verbose: boolean,
): void {
  const indent = server === undefined ? "  " : "    ";
  if (server !== undefined) {
    const what = tools.length > 0 ? count(tools.length, "tool") : state;
    const label = labelOf(server, name);
    console.log(`  ${plain(label)}: ${plain(what ?? "no tools")}`);
  }
  const rows = tools.map((tool) => [`${indent}${tool.name}`, describe(tool)]);
  const lines = columns(rows);
  tools.forEach(({ params_schema }, i) => {
    console.log(lines[i] ?? "");
    if (!verbose) return;
    const parameters = parameterRows(params_schema)
      .map(([name, ...rest]) => [`${indent}  ${name}`, ...rest]);
    columns(parameters).forEach((line) => console.log(line));
  });
}

/** Describes a tool in a line, with its title where that says more than its name. */
function describe(tool: SMCPTool): string {
  const { title, description } = tool;
  const letters = (text: string) =>
    text.toLowerCase().replaceAll(/[\s_-]/g, "");
  return title && letters(title) !== letters(ownToolName(tool))
    ? `${title}: ${headline(description)}`
    : headline(description);
}

/** Groups tools in the order of the Computer's configuration, which also has the servers without tools. */
async function grouped(
  agent: SmcpAgent,
  computer: string,
  tools: readonly SMCPTool[],
  signal: AbortSignal,
): Promise<Group[]> {
  const byServer = Map.groupBy(tools, mcpServerOf);
  // Other Computers may not tell the servers of their tools; then there is nothing to group by.
  const isKnown = tools.length === 0 || byServer.size > 1 ||
    !byServer.has(undefined);
  const servers = isKnown ? await configured(agent, computer, signal) : {};
  const names = [
    ...Object.keys(servers),
    ...[...byServer.keys()].filter((server) => server !== undefined),
  ];
  const groups = [...new Set(names)].map(async (server): Promise<Group> => {
    const tools = byServer.get(server) ?? [];
    const { name } = servers[server] ?? {};
    if (tools.length > 0) return { server, name, tools };
    const state = servers[server]?.disabled
      ? "disabled"
      : await stateOf(agent, computer, server, signal);
    return { server, name, tools, ...(state !== undefined && { state }) };
  });
  const rest = byServer.get(undefined) ?? [];
  return [
    ...await Promise.all(groups),
    ...(rest.length > 0 ? [{ server: undefined, tools: rest }] : []),
  ];
}

/** Returns the servers of a Computer; none if it does not tell, since its tools are still shown. */
async function configured(
  agent: SmcpAgent,
  computer: string,
  signal: AbortSignal,
): Promise<GetComputerConfigRet["servers"]> {
  try {
    return (await agent.getConfig(computer, { signal })).servers;
  } catch (error) {
    if (error instanceof ProtocolError) return {};
    throw error;
  }
}

/** Returns why an MCP server has no tools: a request for its resources fails if it does not run. */
async function stateOf(
  agent: SmcpAgent,
  computer: string,
  server: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    await agent.getResources(computer, server, { signal });
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    const { reason } = error.fields;
    if (typeof reason === "string") return reason.replace(/^it is /, "");
  }
  return undefined;
}
