import type { McpTool } from "./mcp/tool.ts";
import type { ServerState, ServerView } from "./server_status.ts";

/** A tool with the name by which Agents call it. */
export interface NamedTool {
  /** Its alias, or its MCP name with the prefix of its server. */
  readonly name: string;
  /** The MCP server that has it. */
  readonly server: ServerView;
  /** The tool as the server lists it. */
  readonly tool: McpTool;
}

/** The names of all tools of a Computer. */
export interface ToolNames {
  /** Unique names, in the order of the servers and their lists. */
  readonly offers: ReadonlyMap<string, NamedTool>;
  /** Names that more than one tool has: neither listed nor callable. */
  readonly clashes: ReadonlyMap<string, readonly NamedTool[]>;
}

/** Maximum characters of a tool's name: that of identifiers on the wire (spec §4). */
export const MAX_NAME_LENGTH = 256;

/** States in which a server keeps its names; otherwise calls would go to another server meanwhile. */
const CLAIMS: ReadonlySet<ServerState> = new Set([
  "starting",
  "running",
  "restarting",
]);

/** Names every tool that is not forbidden, and finds clashes (spec §7.7). */
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

/** Returns the tools of one server with their names, without forbidden ones and duplicates. */
export function namedTools(server: ServerView): NamedTool[] {
  const tools = new Map<string, McpTool>();
  for (const tool of server.tools) {
    if (!tools.has(tool.name)) tools.set(tool.name, tool);
  }
  return [...tools.values()]
    .filter(({ name }) => !isForbidden(server, name))
    .map((tool) => ({ name: toolName(server, tool.name), server, tool }))
    .filter(({ name }) => name.length <= MAX_NAME_LENGTH);
}

/** Returns the name under which a tool is offered: an alias overrides a prefix (spec §7). */
export const toolName = (
  server: Pick<ServerView, "config">,
  tool: string,
): string => aliasOf(server, tool) ?? prefixOf(server) + tool;

/** Returns the prefix of an MCP server's tools; empty without `tool_prefix`. */
export function prefixOf({ config }: Pick<ServerView, "config">): string {
  const { tool_prefix, name } = config;
  return tool_prefix === "auto" ? autoPrefix(name) : tool_prefix ?? "";
}

/** Makes the name of an MCP server a prefix, of characters that every model provider accepts. */
function autoPrefix(name: string): string {
  const valid = name.replaceAll(/[^A-Za-z0-9-]+/g, "_").replaceAll(
    /^_+|_+$/g,
    "",
  );
  return `${valid === "" ? "server" : valid}_`;
}

/**
 * Returns whether the configuration forbids a tool: by its original name, its alias, or its name
 * with the prefix (spec §4).
 */
export function isForbidden(
  server: Pick<ServerView, "config">,
  tool: string,
): boolean {
  const { forbidden_tools } = server.config;
  return [tool, toolName(server, tool), prefixOf(server) + tool]
    .some((name) => forbidden_tools.includes(name));
}

/** Returns the configured alias of a tool, by its original name. */
export const aliasOf = (
  { config }: Pick<ServerView, "config">,
  tool: string,
): string | undefined =>
  Object.hasOwn(config.tool_meta, tool)
    ? config.tool_meta[tool]?.alias ?? undefined
    : undefined;

/** Describes a clash and how to resolve it (spec §7.7). */
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
    `give one of them an alias, such as tool_meta: {"${last?.tool.name}": {"alias": "${last?.server.name}_${name}"}} of "${last?.server.name}", or its server a tool_prefix`;
}

/** Maximum number of clashing names to write out. */
const MAX_SHOWN_NAMES = 5;

/**
 * Describes all clashes; servers with many names in common, such as the same server twice, get one
 * sentence.
 */
export function clashTexts(
  clashes: ReadonlyMap<string, readonly NamedTool[]>,
): string[] {
  const groups = Map.groupBy(
    clashes,
    ([, claimants]) =>
      JSON.stringify([...new Set(claimants.map(({ server }) => server.name))]),
  );
  return [...groups].flatMap(([key, group]) => {
    const servers: string[] = JSON.parse(key);
    const last = servers.at(-1);
    if (group.length === 1 || servers.length === 1 || last === undefined) {
      return group.map(([name, claimants]) => clashText(name, claimants));
    }
    const names = group.map(([name]) => name);
    const shown = names.slice(0, MAX_SHOWN_NAMES).join(", ");
    return [
      `MCP servers ${
        servers.map((name) => `"${name}"`).join(" and ")
      } have ${names.length} tools of the same names, and none of these can be called: ${shown}${
        names.length > MAX_SHOWN_NAMES ? ", …" : ""
      }; give them a prefix, such as "tool_prefix": "auto" of "${last}"`,
    ];
  });
}

const claimsNames = ({ state }: ServerView): boolean => CLAIMS.has(state);
