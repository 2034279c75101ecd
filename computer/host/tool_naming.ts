/**
 * The names of tools (protocol §7): aliases, prefixes and `bundle_id`s, names that clash, and names in a
 * configuration that match no tool or are too long.
 *
 * @module
 */
import type { McpTool } from "./mcp/mcp_connection.ts";
import type { ServerState, ServerView } from "./server_status.ts";
import { nearestWord } from "../../shared/checks.ts";

/** A tool with the name by which Agents call it. */
export interface NamedTool {
  /**
   * Its alias, or its MCP name with the prefix of its server; since 0.3 the `bundle_id` of its server,
   * `__`, and its alias or MCP name.
   */
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

/** Maximum characters of a tool's name: that of identifiers on the wire (protocol §4). */
const MAX_NAME_LENGTH = 256;

/** States in which a server keeps its names; otherwise calls would go to another server meanwhile. */
const CLAIMS: ReadonlySet<ServerState> = new Set([
  "starting",
  "running",
  "restarting",
]);

/** Between a `bundle_id` and the rest of a name; never a place to split one (protocol §13). */
const SEPARATOR = "__";

/** Names every tool that is not forbidden, and finds clashes (protocol §7). */
export function nameTools(servers: readonly ServerView[]): ToolNames {
  const tools = servers.filter(({ state }) => CLAIMS.has(state))
    .flatMap((server) => namedTools(server));
  const claims = [...Map.groupBy(tools, ({ name }) => name)];
  return {
    offers: new Map(
      claims.flatMap(([name, [only, ...others]]) =>
        only && others.length === 0 ? [[name, only] as const] : []
      ),
    ),
    clashes: new Map(claims.filter(([, { length }]) => length > 1)),
  };
}

/** Returns the tools of one server with their names, without forbidden ones and duplicates. */
export const namedTools = (server: ServerView): NamedTool[] =>
  [...Map.groupBy(server.tools, ({ name }) => name).values()]
    .flatMap(([first]) => first ?? [])
    .filter(({ name }) => !isForbidden(server, name))
    .map((tool) => ({ name: toolName(server, tool.name), server, tool }))
    .filter(({ name }) => name.length <= MAX_NAME_LENGTH);

/** The part of a server that the names of its tools depend on. */
type NamingServer = Pick<ServerView, "config" | "bundleId" | "bundleIds">;

/** Returns the name under which a tool is offered: an alias overrides a prefix (protocol §7). */
export const toolName = (server: NamingServer, tool: string): string =>
  server.bundleIds
    ? server.bundleId + SEPARATOR + (configuredAlias(server, tool) ?? tool)
    : configuredAlias(server, tool) ?? toolPrefix(server) + tool;

/**
 * Returns all names by which a configuration may mean a tool: its original name, its alias, and
 * those that it is offered under in any version of the protocol.
 */
export function namesOfTool(server: NamingServer, tool: string): string[] {
  const own = configuredAlias(server, tool) ?? tool;
  const withId = [tool, own].map((name) => server.bundleId + SEPARATOR + name);
  return [tool, own, toolPrefix(server) + tool, ...withId];
}

/** Returns the prefix of an MCP server's tools; empty without `tool_prefix`. */
function toolPrefix({ config }: Pick<ServerView, "config">): string {
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
 * Returns whether the configuration forbids a tool, by any of its names (protocol §4, §13): what
 * guards must not depend on the version that the Server speaks.
 */
export const isForbidden = (server: NamingServer, tool: string): boolean =>
  namesOfTool(server, tool)
    .some((name) => server.config.forbidden_tools.includes(name));

/** Returns the configured alias of a tool, by its original name. */
const configuredAlias = (
  { config }: Pick<ServerView, "config">,
  tool: string,
): string | undefined =>
  Object.hasOwn(config.tool_meta, tool)
    ? config.tool_meta[tool]?.alias ?? undefined
    : undefined;

/** Describes a clash and how to resolve it (protocol §7). */
export function clashText(
  name: string,
  claimants: readonly NamedTool[],
): string {
  const labels = serverLabels(claimants);
  const who = claimants.map(({ server: { bundleId }, tool }) =>
    `MCP server "${labels.get(bundleId)}"` +
    (tool.name === name ? "" : ` (its tool "${tool.name}")`)
  );
  const last = claimants.at(-1);
  return `More than one tool is named "${name}": ${who.join(" and ")}; ` +
    (labels.size === 1
      ? 'give one of them another "alias" in its tool_meta'
      : `give one of them an alias, such as tool_meta: {"${last?.tool.name}": {"alias": "${last?.server.name}_${name}"}} of "${
        labels.get(last?.server.bundleId ?? "")
      }", or its server a tool_prefix`);
}

/** Returns what people call each server, by `bundle_id`, which is part of it where names are equal. */
function serverLabels(claimants: readonly NamedTool[]): Map<string, string> {
  const servers = new Map(
    claimants.map(({ server }) => [server.bundleId, server.name]),
  );
  const isUnique = new Set(servers.values()).size === servers.size;
  return isUnique ? servers : new Map(
    [...servers].map(([id, name]) => [id, `${name} (${id})`]),
  );
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
    ([, claimants]) => JSON.stringify([...serverLabels(claimants).values()]),
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

/** Finds mismatches between the configuration of an MCP server and its tools. */
export const toolMismatches = (server: ServerView): string[] => [
  ...unmatchedTools(server),
  ...longNames(server).problems,
];

/**
 * Finds names in the configuration of an MCP server that match none of its tools: such an entry
 * neither forbids a tool nor changes its confirmation.
 *
 * @returns one sentence for each name
 */
export function unmatchedTools(server: ServerView): string[] {
  const { forbidden_tools, tool_meta } = server.config;
  const names = server.tools.map(({ name }) => name);
  const all = names.flatMap((name) => namesOfTool(server, name));
  return [
    ...unmatched("forbidden_tools", forbidden_tools, all),
    ...unmatched(
      "tool_meta",
      Object.keys(tool_meta),
      names,
      (entry) =>
        names.find((name) => namesOfTool(server, name).includes(entry)),
    ),
  ];
}

const unmatched = (
  field: string,
  entries: readonly string[],
  known: readonly string[],
  find: (entry: string) => string | undefined = () => undefined,
): string[] =>
  [...new Set(entries)].filter((entry) => !known.includes(entry))
    .map((entry) => {
      const meant = find(entry) ?? nearestWord(entry, known);
      return `${field} names "${entry}", which is none of its tools; ${
        meant === undefined
          ? "correct or remove it"
          : `did you mean "${meant}"?`
      }`;
    });

/** Maximum characters of a tool's name that every model provider accepts. */
const RECOMMENDED_LENGTH = 64;

/**
 * Finds the tools of an MCP server whose offered names are too long.
 *
 * @returns one sentence for each tool that is left out, and one about those that not every model can
 * call
 */
export function longNames(
  server: ServerView,
): { problems: string[]; warning?: string } {
  const prefix = server.bundleIds ? "bundle_id" : "tool_prefix";
  const names = server.tools.filter(({ name }) => !isForbidden(server, name))
    .map(({ name }) => ({ name, offered: toolName(server, name) }));
  const long = names.filter(({ offered }) =>
    offered.length > RECOMMENDED_LENGTH && offered.length <= MAX_NAME_LENGTH
  );
  return {
    problems: names
      .filter(({ offered }) => offered.length > MAX_NAME_LENGTH)
      .map(({ name }) =>
        `tool "${
          name.slice(0, 40)
        }…" is left out: behind its ${prefix} its name is longer than ${MAX_NAME_LENGTH} characters; give it an alias`
      ),
    ...(long.length > 0 && {
      warning:
        `${long.length} of its tools have names of more than ${RECOMMENDED_LENGTH} characters, which not every model can call, such as "${
          long[0]?.offered
        }"; give them an alias, or the server a shorter ${prefix}`,
    }),
  };
}
