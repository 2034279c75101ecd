import { isRecord } from "../../../protocol/names.ts";
import type { ServerStatus } from "../../host/server_status.ts";
import type { Hosting } from "../../host/hosting.ts";
import { partsOf } from "../../tool_host.ts";
import { serverLabel, stateLine } from "../report.ts";
import type { ServerSettings } from "../../config/config.ts";
import {
  jsonArgument,
  oneWord,
  type ShellCommand,
  type ShellCommands,
  type ShellContext,
} from "./command.ts";

const servers = ({ computer }: ShellContext): readonly ServerStatus[] =>
  computer.status().servers;

/** Returns what a person may type: names that only one server has, and ids. */
function names(context: ShellContext): string[] {
  const all = servers(context);
  const isOnly = ({ name }: ServerStatus) =>
    all.filter((server) => server.name === name).length === 1;
  return [
    ...new Set([
      ...all.filter(isOnly).map(({ name }) => name),
      ...all.map(({ bundleId }) => bundleId),
    ]),
  ];
}

/** Makes the command `start` or `stop`. */
const each = (
  verb: "start" | "stop",
  act: (hosting: Hosting, bundleId: string) => Promise<unknown>,
): ShellCommand => ({
  summary: `${verb} an MCP server, or all`,
  values: (context) => [...names(context), "all"],
  run: async (rest, context) => {
    const { hosting } = partsOf(context.computer);
    const name = oneWord(rest, "the MCP server's name or bundle_id, or all");
    const chosen = name === "all"
      ? servers(context).map(({ bundleId }) => bundleId)
      : [hosting.host.names.find(name).bundleId];
    await Promise.all(chosen.map((bundleId) => act(hosting, bundleId)));
    return describeStates(context, chosen);
  },
});

/** Commands for MCP servers. */
export const SERVER_COMMANDS: ShellCommands = {
  "server add <json|@file>": {
    summary: 'add an MCP server, or replace it: {"name": ..., "type": ...}',
    run: async (rest, context) => {
      const value = await jsonArgument(rest);
      if (!isRecord(value) || typeof value.name !== "string") {
        throw new Error('expected an object with a "name"');
      }
      const settings: unknown = value; // validated there
      const { hosting } = partsOf(context.computer);
      const id = await hosting.put(value.name, settings as ServerSettings);
      return describeStates(context, [id]);
    },
  },
  "server rm <name|id>": {
    summary: "stop an MCP server and forget it",
    values: names,
    run: async (rest, { computer }) => {
      const name = oneWord(rest, "the MCP server's name or bundle_id");
      await computer.removeServer(name);
      return `removed ${name}`;
    },
  },
  "start <name|id>|all": each(
    "start",
    (hosting, bundleId) => hosting.startServer(bundleId),
  ),
  "stop <name|id>|all": each(
    "stop",
    ({ host }, bundleId) => host.stopServer(bundleId),
  ),
};

const describeStates = (
  context: ShellContext,
  chosen: readonly string[],
): string =>
  servers(context).filter(({ bundleId }) => chosen.includes(bundleId))
    .map((status) =>
      stateLine(status) ?? `${serverLabel(status)}: ${status.state}`
    )
    .join("\n");
