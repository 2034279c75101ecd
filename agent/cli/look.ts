/**
 * The commands that list what is in an office: members, tools, resources, and the configuration.
 *
 * @module
 */
import { print, printJson } from "../../cli/print.ts";
import { isRecord } from "../../protocol/names.ts";
import type { SmcpAgent } from "../agent.ts";
import {
  atComputer,
  type ComputerFlags,
  count,
  headline,
  labelOf,
  noComputer,
  type OfficeFlags,
  officeTools,
  printRows,
  serverMeant,
  withAgent,
} from "./office.ts";
import { isComputerNotFound } from "../requests.ts";
import { columns, plain } from "../../cli/terminal_text.ts";
import {
  ErrorCode,
  type GetComputerConfigRet,
  mcpServerOf,
  ownToolName,
  ProtocolError,
  type Resource,
  type SMCPTool,
} from "../../protocol/mod.ts";

/** Prints the members of the office. */
export async function members(flags: OfficeFlags): Promise<void> {
  const list = (agent: SmcpAgent, signal: AbortSignal) =>
    agent.listRoom({ signal });
  const sessions = await withAgent(flags, list);
  if (flags.json) return printJson(sessions);
  printRows(
    sessions.map((each) => [each.name, each.role, each.a2c_version ?? ""]),
  );
}

/** Prints the resources of one MCP server of a Computer, or of all. */
export async function resources(
  server: string | undefined,
  flags: ComputerFlags,
): Promise<void> {
  const found = await atComputer(flags, async (agent, computer, signal) => {
    if (server !== undefined) {
      const id = await serverMeant(agent, computer, server, signal);
      return new Map([[id, await listAll(agent, computer, id, signal)]]);
    }
    const { servers } = await agent.getConfig(computer, { signal });
    const found = new Map<string, Resource[] | string>();
    for (const id of Object.keys(servers)) {
      const list = listAll(agent, computer, id, signal).catch((error) => {
        if (hasNone(error)) return String(error.message);
        throw error;
      });
      found.set(id, await list);
    }
    return found;
  });
  if (flags.json) {
    const lists = [...found].filter(([, list]) => typeof list !== "string");
    return printJson(Object.fromEntries(lists));
  }
  for (const [name, list] of found) {
    if (typeof list === "string") {
      print(`${plain(name)}: ${plain(list)}`);
      continue;
    }
    print(`${plain(name)}: ${count(list.length, "resource")}`);
    printRows(
      list.map(({ uri, name, title }) => [
        `  ${uri}`,
        String(title ?? name ?? ""),
      ]),
    );
  }
  if (found.size === 0) print("The Computer hosts no MCP server.");
}

const listAll = (
  agent: SmcpAgent,
  computer: string,
  server: string,
  signal: AbortSignal,
): Promise<Resource[]> =>
  Array.fromAsync(agent.allResources(computer, server, { signal }));

/** Checks whether a server has no resources or does not run; the others are still shown. */
const hasNone = (error: unknown): boolean =>
  isComputerNotFound(error) || error instanceof ProtocolError &&
    error.code === ErrorCode.MCP_CAPABILITY_NOT_SUPPORTED;

/** Prints the configuration of a Computer, which holds no secrets. */
export async function config(flags: ComputerFlags): Promise<void> {
  const { inputs, servers } = await atComputer(
    flags,
    (agent, computer, signal) => agent.getConfig(computer, { signal }),
  );
  if (flags.json) return printJson({ inputs, servers });
  const rows = Object.entries(servers).map(([key, server]) => {
    const { name, type, disabled, server_parameters: how } = server;
    const where = "url" in how ? how.url : [how.command, ...how.args].join(" ");
    return [`  ${labelOf(key, name)}`, disabled ? "disabled" : type, where];
  });
  print(count(rows.length, "MCP server"));
  printRows(rows);
  print(count(inputs?.length ?? 0, "input"));
  printRows(
    (inputs ?? []).map((each) => [`  ${each.id}`, each.type, each.description]),
  );
}

/** Flags of `tools`. */
interface ToolsFlags extends ComputerFlags {
  /** Show the parameters of each tool. */
  verbose?: boolean;
}

/** The tools of one MCP server, or of unknown servers; `state` describes a server without tools. */
interface Group {
  readonly server: string | undefined;
  /** Its name for people, if it is known. */
  readonly name?: string | undefined;
  readonly tools: readonly SMCPTool[];
  readonly state?: string | undefined;
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
  if (found.listed.size === 0) throw noComputer(flags);
  for (const [computer, list] of found.listed) {
    print(`${plain(computer)}: ${count(list.length, "tool")}`);
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
    print(`  ${plain(label)}: ${plain(what ?? "no tools")}`);
  }
  const rows = tools.map((tool) => [`${indent}${tool.name}`, describe(tool)]);
  columns(rows).forEach((line, i) => {
    print(line);
    if (!verbose) return;
    const parameters = parameterRows(tools[i]?.params_schema ?? {});
    printRows(
      parameters.map(([name, ...rest]) => [`${indent}  ${name}`, ...rest]),
    );
  });
}

/** Describes a tool in a line, with its title where that is more than its name. */
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
  // Other Computers may not name the servers of their tools; then there is nothing to group by.
  const isKnown = tools.length === 0 || byServer.size > 1 ||
    !byServer.has(undefined);
  const servers = isKnown ? await configured(agent, computer, signal) : {};
  const ofTools = [...byServer.keys()].filter((server) => server !== undefined);
  const names = new Set([...Object.keys(servers), ...ofTools]);
  const groups = await Promise.all([...names].map(async (server) => {
    const tools = byServer.get(server) ?? [];
    const { name, disabled } = servers[server] ?? {};
    if (tools.length > 0) return { server, name, tools };
    const state = disabled
      ? "disabled"
      : await stateOf(agent, computer, server, signal);
    return { server, name, tools, state };
  }));
  const rest = byServer.get(undefined);
  return rest ? [...groups, { server: undefined, tools: rest }] : groups;
}

/** Returns the servers of a Computer; none if it does not answer, since its tools are still shown. */
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

/**
 * Describes the parameters of a tool: a row each, with name, type and description.
 *
 * @param schema JSON Schema of the tool's arguments
 */
export function parameterRows(
  schema: Readonly<Record<string, unknown>>,
): string[][] {
  const { properties, required } = schema;
  if (!isRecord(properties)) return [];
  const needed = Array.isArray(required) ? required : [];
  return Object.entries(properties).map(([name, property]) => {
    const details = isRecord(property) ? property : {};
    const type = typeOf(details);
    const { description: text } = details;
    return [
      name,
      needed.includes(name) ? `${type}, required` : type,
      typeof text === "string" ? headline(text) : "",
    ];
  });
}

function typeOf(
  { type, enum: values, items }: Record<string, unknown>,
): string {
  if (Array.isArray(values)) {
    return values.map((value) => JSON.stringify(value)).join(" | ");
  }
  if (type === "array" && isRecord(items)) return `array of ${typeOf(items)}`;
  if (Array.isArray(type)) return type.join(" | ");
  return typeof type === "string" ? type : "any";
}
