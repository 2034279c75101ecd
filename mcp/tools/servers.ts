/**
 * Which tools of a Computer have names without their MCP server.
 *
 * The Computer's configuration decides it, not what runs: a short name must not mean the tool of
 * another MCP server because that one started first.
 *
 * @module
 */
import { parseObject } from "./result.ts";
import {
  type GetComputerConfigRet,
  ownToolName,
  type SMCPTool,
} from "../../protocol/mod.ts";
import { MCP_SERVER_KEY } from "../../protocol/payloads/tools.ts";
import { NAME_SEPARATOR } from "../../shared/checks.ts";

/** The MCP servers of a Computer's configuration, those that are disabled too. */
export interface ConfiguredServers {
  /** By what tools and requests call them. */
  readonly ids: ReadonlySet<string>;
  /** Whether there is exactly one. */
  readonly isSingle: boolean;
  /** The aliases that exactly one tool has. */
  readonly aliases: ReadonlySet<string>;
}

/** Reads what the names of a Computer's tools depend on. */
export function configuredServers(
  { servers, other_servers }: GetComputerConfigRet,
): ConfiguredServers {
  const others = other_servers ?? [];
  const configs = Object.entries(servers);
  const ids = configs.flatMap(([key, { name, bundle_id }]) =>
    [key, name, bundle_id].filter((id) => typeof id === "string")
  );
  const aliases = new Map<string, number>();
  for (const [, { tool_meta }] of configs) {
    for (const { alias } of Object.values(tool_meta)) {
      if (alias) aliases.set(alias, (aliases.get(alias) ?? 0) + 1);
    }
  }
  return {
    ids: new Set([...ids, ...others]),
    isSingle: configs.length + others.length === 1,
    aliases: new Set(
      [...aliases].flatMap(([alias, count]) => count === 1 ? [alias] : []),
    ),
  };
}

/** The parts of a tool's name after its Computer. */
export interface OwnedTool {
  /** Its MCP server; `undefined` where its Computer, of before 0.3, does not name it. */
  readonly server: string | undefined;
  /** Its alias or MCP name. */
  readonly own: string;
  /** Whether its name can do without the server. */
  readonly isShort: boolean;
}

/**
 * Finds the parts of a tool's name.
 *
 * @param servers of its Computer; `undefined` where they are unknown
 */
export function ownedTool(
  tool: SMCPTool,
  servers: ConfiguredServers | undefined,
): OwnedTool {
  const own = ownToolName(tool);
  const server = own === tool.name ? tagOf(tool) : tool.bundle_id ?? undefined;
  if (server === undefined) return { server, own, isShort: true };
  const hasAlias = aliasOf(tool) === own && servers?.aliases.has(own) === true;
  return {
    server,
    own,
    isShort: isShortName({ server, own }, servers, hasAlias),
  };
}

/**
 * Whether the name of a tool or prompt can do without its MCP server.
 *
 * @param servers of its Computer; `undefined` where they are unknown
 * @param hasAlias whether it has an alias that no other tool of the Computer has
 */
export function isShortName(
  { server, own }: { readonly server: string; readonly own: string },
  servers: ConfiguredServers | undefined,
  hasAlias = false,
): boolean {
  if (!servers?.ids.has(server)) return false;
  const [head = "", ...rest] = own.split(NAME_SEPARATOR, 2);
  // The whole name of another tool begins so.
  if (rest.length > 0 && servers.ids.has(head)) return false;
  return servers.isSingle || hasAlias;
}

/** The MCP server of a tool of before 0.3: its `bundle_id` is one that the Server has made up. */
function tagOf({ meta }: SMCPTool): string | undefined {
  const tag = meta?.[MCP_SERVER_KEY];
  return typeof tag === "string" ? tag : undefined;
}

const aliasOf = ({ meta }: SMCPTool): unknown =>
  parseObject(meta?.a2c_tool_meta)?.alias;
