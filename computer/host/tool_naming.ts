import type { McpTool } from "./mcp/tool.ts";
import type { ServerState, ServerView } from "./server_status.ts";

/** A tool under the name that Agents call it by. */
export interface NamedTool {
  /** Its alias, or its MCP name behind the prefix of its server. */
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

/** Longer names cannot be called: the wire's identifiers end there (spec §4). */
export const MAX_NAME_LENGTH = 256;

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
    .map((tool) => ({ name: toolName(server, tool.name), server, tool }))
    .filter(({ name }) => name.length <= MAX_NAME_LENGTH);
}

/** The name that a tool is offered under: an alias wins over a prefix (spec §7). */
export const toolName = (
  server: Pick<ServerView, "config">,
  tool: string,
): string => aliasOf(server, tool) ?? prefixOf(server) + tool;

/** What stands before the names of an MCP server's tools; empty without `tool_prefix`. */
export function prefixOf({ config }: Pick<ServerView, "config">): string {
  const { tool_prefix, name } = config;
  return tool_prefix === "auto" ? autoPrefix(name) : tool_prefix ?? "";
}

/** The name of an MCP server as a prefix, made of what every provider of models takes. */
function autoPrefix(name: string): string {
  const valid = name.replaceAll(/[^A-Za-z0-9-]+/g, "_").replaceAll(
    /^_+|_+$/g,
    "",
  );
  return `${valid === "" ? "server" : valid}_`;
}

/**
 * Whether the configuration forbids a tool: by its original name, its alias, or its name behind
 * the prefix (spec §4).
 */
export function isForbidden(
  server: Pick<ServerView, "config">,
  tool: string,
): boolean {
  const { forbidden_tools } = server.config;
  return [tool, toolName(server, tool), prefixOf(server) + tool]
    .some((name) => forbidden_tools.includes(name));
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
    `give one of them an alias, such as tool_meta: {"${last?.tool.name}": {"alias": "${last?.server.name}_${name}"}} of "${last?.server.name}", or its server a tool_prefix`;
}

/** How many of the names that clash are written out. */
const SHOWN_NAMES = 5;

/**
 * Says all that clashes: servers that have many names in common, as the same server twice has, are
 * one sentence.
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
    const shown = names.slice(0, SHOWN_NAMES).join(", ");
    return [
      `MCP servers ${
        servers.map((name) => `"${name}"`).join(" and ")
      } have ${names.length} tools of the same names, and none of these can be called: ${shown}${
        names.length > SHOWN_NAMES ? ", …" : ""
      }; give them a prefix, such as "tool_prefix": "auto" of "${last}"`,
    ];
  });
}

const claimsNames = ({ state }: ServerView): boolean => CLAIMS.has(state);
