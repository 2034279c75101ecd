import process from "node:process";
import { ownCommand } from "../../../cli/own_command.ts";
import { partsOf, type ToolHost } from "../../tool_host.ts";
import {
  type ComputerConfig,
  serverPlaceholders,
} from "../../config/config.ts";
import { describeFailure, serverLabel } from "../report.ts";
import { isDocument, isWindow } from "../../resources/listed.ts";
import { PagedList } from "../../../shared/pages.ts";
import type { Resource } from "../../../protocol/mod.ts";
import type { OfferedTool } from "../../host/tool_table.ts";
import type { ServerStatus } from "../../host/server_status.ts";

/** The findings about a configuration, as `--json` prints them. */
export type Findings = ReturnType<typeof sumUp>;

/** An MCP server, and what it offers. */
export type CheckedServer = ReturnType<typeof checked>;

/**
 * Sums up the findings so far.
 *
 * @param found the URIs of the checked MCP servers, by `bundle_id`
 */
export function sumUp(
  host: ToolHost,
  config: ComputerConfig,
  found: ReadonlyMap<string, readonly string[]>,
  warnings: ReadonlySet<string>,
) {
  const { servers, tools, skills, problems } = host.status();
  const used = config.servers.flatMap(serverPlaceholders);
  return {
    /** In the order of the file. */
    servers: servers.map((status) =>
      checked(status, tools, found.get(status.bundleId))
    ),
    inputs: config.inputs.map(({ id, type }) => ({
      id,
      type,
      used: used.includes(id), // whether a placeholder has it
    })),
    skills,
    /** What keeps something from working, each with a remedy. */
    problems: [
      ...describeProblems(servers, describeFailure),
      ...describeProblems(servers, (server) => server.problems),
      ...describeProblems(
        servers,
        ({ bundleId }) => officeProblems(host, bundleId),
      ),
      ...problems,
      ...nothingOffered(config, skills),
    ],
    /** Oddities that do no harm. */
    warnings: [...warnings].filter((text) =>
      !problems.some((problem) => text.includes(problem))
    ),
  };
}

const describeProblems = (
  servers: readonly ServerStatus[],
  find: (server: ServerStatus) => readonly string[],
): string[] =>
  servers.flatMap((server) =>
    find(server).map((text) => `MCP server "${serverLabel(server)}": ${text}`)
  );

/** Finds that an MCP server is an office; a check is in none itself, so that it cannot compare them. */
const officeProblems = (host: ToolHost, bundleId: string): string[] => {
  const { connection } = partsOf(host).hosting.host.server(bundleId) ?? {};
  return connection === undefined || connection.offices.length === 0 ? [] : [
    "it is an office of A2C-SMCP, and in that office, or one behind it, a Computer refuses to start it: the office would be offered its own tools, again and again; remove it, unless this Computer is for another office",
  ];
};

/** Finds that a Computer with this configuration would offer nothing at all. */
const nothingOffered = (
  { servers }: ComputerConfig,
  skills: readonly string[],
): string[] =>
  skills.length > 0 || servers.some(({ disabled }) => !disabled) ? [] : [
    servers.length === 0
      ? `there are no MCP servers, so nothing is offered; add one to "servers", or take those of other programs over with: ${
        ownCommand("smcp-computer", process.execPath)
      } import`
      : 'every MCP server is disabled, so nothing is offered; remove "disabled" from one',
  ];

/**
 * Describes an MCP server.
 *
 * @param tools those of all servers
 * @param uris those of its resources
 */
export const checked = (
  { name, bundleId, type, state, error }: ServerStatus,
  tools: readonly OfferedTool[],
  uris: readonly string[] = [],
) => ({
  name,
  bundleId,
  type,
  state,
  tools: tools.filter((tool) => (tool.bundleId ?? tool.server) === bundleId)
    .map(({ name }) => name),
  windows: uris.filter(isWindow),
  documents: uris.filter(isDocument),
  ...(error !== undefined && { error }),
});

/** Lists the URIs of all resources; none if the server does not run or offers none. */
export async function listResourceUris(
  host: ToolHost,
  server: string,
): Promise<string[]> {
  const found: string[] = [];
  const list = new PagedList<Resource>("uri");
  do {
    const page = await host.getResources(server, list.cursor)
      .catch(() => undefined);
    const { resources: items = [], next_cursor: nextCursor } = page ?? {};
    found.push(
      ...list.take({ items, nextCursor }).flatMap(({ uri }) => uri ?? []),
    );
  } while (list.cursor !== undefined);
  return found;
}
