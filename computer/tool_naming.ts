import type { McpTool } from "./mcp/tool.ts";
import type { ServerState, ServerView } from "./server_status.ts";

/** A tool under the name that Agents call it by. */
export interface NamedTool {
  /** Its alias, or its MCP name. */
  readonly name: string;
  /** The MCP server that has it. */
  readonly server: ServerView;
  /** As that server lists it. */
  readonly tool: McpTool;
}

/** All names that the MCP servers of a Computer lay claim to. */
export interface ToolNames {
  /** Claimed once, in the order of the servers and their lists. */
  readonly offers: ReadonlyMap<string, NamedTool>;
  /** Claimed more than once: neither listed nor callable. */
  readonly clashes: ReadonlyMap<string, readonly NamedTool[]>;
}

/** A server that is away for a moment keeps its names, or calls would go to another one meanwhile. */
const CLAIMS: ReadonlySet<ServerState> = new Set([
  "starting",
  "running",
  "restarting",
]);

/** Gives every tool that is not forbidden its name, and finds the clashes (spec §7.7). */
export function nameTools(servers: readonly ServerView[]): ToolNames {
  const claims = new Map<string, NamedTool[]>();
  for (const named of servers.filter(claimsNames).flatMap(namedTools)) {
    const others = claims.get(named.name);
    if (others) others.push(named);
    else claims.set(named.name, [named]);
  }
  const offers = new Map<string, NamedTool>();
  const clashes = new Map<string, NamedTool[]>();
  for (const [name, claimants] of claims) {
    const [only] = claimants;
    if (claimants.length === 1 && only) offers.set(name, only);
    else clashes.set(name, claimants);
  }
  return { offers, clashes };
}

/** The tools of one server under their names, the forbidden ones left out; one that it lists twice counts once. */
export function namedTools(server: ServerView): NamedTool[] {
  const tools = new Map<string, McpTool>();
  for (const tool of server.tools) {
    if (!tools.has(tool.name)) tools.set(tool.name, tool);
  }
  return [...tools.values()]
    .filter(({ name }) => !isForbidden(server, name))
    .map((tool) => ({
      name: aliasOf(server, tool.name) ?? tool.name,
      server,
      tool,
    }));
}

/** Whether the configuration forbids a tool, by its original name or by its alias (spec §4). */
export function isForbidden(
  server: Pick<ServerView, "config">,
  tool: string,
): boolean {
  const { forbidden_tools } = server.config;
  const alias = aliasOf(server, tool);
  return forbidden_tools.includes(tool) ||
    alias !== undefined && forbidden_tools.includes(alias);
}

/** The alias that the configuration gives a tool, by its original name. */
export const aliasOf = (
  { config }: Pick<ServerView, "config">,
  tool: string,
): string | undefined =>
  Object.hasOwn(config.tool_meta, tool)
    ? config.tool_meta[tool]?.alias ?? undefined
    : undefined;

/** Says what clashes and how to end it (spec §7.7). */
export function clashText(
  name: string,
  claimants: readonly NamedTool[],
): string {
  const who = claimants.map(({ server, tool }) =>
    tool.name === name
      ? `MCP server "${server.name}"`
      : `MCP server "${server.name}" (its tool "${tool.name}")`
  );
  const last = claimants.at(-1);
  return `More than one tool is named "${name}": ${who.join(" and ")}; ` +
    `give one of them an alias, such as tool_meta: {"${last?.tool.name}": {"alias": "${last?.server.name}_${name}"}} of "${last?.server.name}"`;
}

const claimsNames = ({ state }: ServerView): boolean => CLAIMS.has(state);
