import type { Resource } from "../../protocol/mod.ts";
import type { ToolHost } from "../tool_host.ts";
import { type ComputerConfig, serverPlaceholders } from "../config/config.ts";
import { failureOf, labelOf } from "./report.ts";
import { isDocument, isWindow } from "../resources/listed.ts";
import type { OfferedTool } from "../host/tool_table.ts";
import type { ServerStatus } from "../host/server_status.ts";

/** The findings about one MCP server. */
export interface CheckedServer {
  readonly name: string;
  readonly bundleId: string;
  readonly type: ServerStatus["type"];
  readonly state: ServerStatus["state"];
  readonly tools: readonly string[];
  readonly windows: readonly string[];
  readonly documents: readonly string[];
  readonly error?: string;
}

/** The findings about a configuration. */
export interface Findings {
  readonly servers: readonly CheckedServer[];
  readonly inputs: readonly { id: string; type: string; used: boolean }[];
  /** Names of the skills. */
  readonly skills: readonly string[];
  /** Problems that keep something from working, each with a remedy. */
  readonly problems: readonly string[];
  /** Oddities that do no harm. */
  readonly warnings: readonly string[];
}

/** Checks one MCP server that runs or has failed. */
export async function checkServer(
  host: ToolHost,
  bundleId: string,
): Promise<CheckedServer | undefined> {
  const resources = await resourcesOf(host, bundleId);
  const { servers, tools } = host.status();
  const status = servers.find((server) => server.bundleId === bundleId);
  return status && checked(status, tools, resources);
}

/** Requests windows and documents, so that their problems are logged. */
export async function checkResources(host: ToolHost): Promise<void> {
  await host.getDesktop();
  await host.getFinder();
}

/**
 * Sums up the findings so far.
 *
 * @param found the checked MCP servers, by `bundle_id`
 */
export function sumUp(
  host: ToolHost,
  config: ComputerConfig,
  found: ReadonlyMap<string, CheckedServer>,
  warnings: ReadonlySet<string>,
): Findings {
  const { servers, tools, skills, problems } = host.status();
  const used = config.servers.flatMap(serverPlaceholders);
  return {
    servers: servers.map((status) => {
      const known = found.get(status.bundleId);
      // Clashing names are known only now.
      return known
        ? { ...known, tools: toolsOf(status, tools) }
        : checked(status, tools);
    }),
    inputs: config.inputs.map(({ id, type }) => ({
      id,
      type,
      used: used.includes(id),
    })),
    skills,
    problems: [
      ...problemsOf(servers, failureOf),
      ...problemsOf(servers, (server) => server.problems),
      ...problems,
      ...nothingOffered(config, skills),
    ],
    warnings: [...warnings].filter((text) =>
      !problems.some((problem) => text.includes(problem))
    ),
  };
}

const problemsOf = (
  servers: readonly ServerStatus[],
  find: (server: ServerStatus) => readonly string[],
): string[] =>
  servers.flatMap((server) =>
    find(server).map((text) => `MCP server "${labelOf(server)}": ${text}`)
  );

/** Finds that a Computer with this configuration would offer nothing at all. */
const nothingOffered = (
  { servers }: ComputerConfig,
  skills: readonly string[],
): string[] =>
  skills.length > 0 || servers.some(({ disabled }) => !disabled) ? [] : [
    servers.length === 0
      ? 'there are no MCP servers, so nothing is offered; add one to "servers", or take those of other programs over with "smcp-computer import"'
      : 'every MCP server is disabled, so nothing is offered; remove "disabled" from one',
  ];

const checked = (
  status: ServerStatus,
  tools: readonly OfferedTool[],
  resources: readonly Resource[] = [],
): CheckedServer => {
  const { name, bundleId, type, state, error } = status;
  const uris = resources.map(({ uri }) => uri);
  return {
    name,
    bundleId,
    type,
    state,
    tools: toolsOf(status, tools),
    windows: uris.filter(isWindow),
    documents: uris.filter(isDocument),
    ...(error !== undefined && { error }),
  };
};

const toolsOf = (
  { bundleId }: Pick<ServerStatus, "bundleId">,
  tools: readonly OfferedTool[],
): string[] =>
  tools.filter((tool) => (tool.bundleId ?? tool.server) === bundleId)
    .map(({ name }) => name);

/** Lists all resources; none if the server does not run or offers none. */
async function resourcesOf(
  host: ToolHost,
  server: string,
): Promise<Resource[]> {
  const found: Resource[] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  do {
    const page = await host.getResources(server, cursor).catch(() => undefined);
    found.push(...page?.resources ?? []);
    if (cursor !== undefined) seen.add(cursor);
    cursor = page?.next_cursor;
  } while (cursor !== undefined && !seen.has(cursor));
  return found;
}
