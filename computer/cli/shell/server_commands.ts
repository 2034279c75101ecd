import { isRecord } from "../../util/values.ts";
import type { ServerStatus } from "../../host/server_status.ts";
import { partsOf } from "../../tool_host.ts";
import { labelOf, stateLine } from "../report.ts";
import type { ServerSettings } from "../../config/config.ts";
import {
  jsonArgument,
  keptFile,
  oneWord,
  type ShellCommand,
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
const namesOrAll = (context: ShellContext): string[] => [
  ...names(context),
  "all",
];

/** Commands for MCP servers. */
export const SERVER_COMMANDS: readonly ShellCommand[] = [
  {
    words: ["server", "add"],
    args: "<json|@file>",
    kept: keptFile,
    summary: 'add an MCP server, or replace it: {"name": ..., "type": ...}',
    run: async (rest, context) => {
      const { name, settings } = readServer(await jsonArgument(rest));
      return stateOf(context, [await hostingOf(context).put(name, settings)]);
    },
  },
  {
    words: ["server", "rm"],
    args: "<name|id>",
    summary: "stop an MCP server and forget it",
    values: names,
    run: async (rest, { computer }) => {
      const name = oneWord(rest, "the MCP server's name or bundle_id");
      await computer.removeServer(name);
      return `removed ${name}`;
    },
  },
  {
    words: ["start"],
    args: "<name|id>|all",
    summary: "start an MCP server, or all",
    values: namesOrAll,
    run: async (rest, context) => {
      const chosen = choose(rest, context);
      const hosting = hostingOf(context);
      await Promise.all(
        chosen.map((bundleId) => hosting.startServer(bundleId)),
      );
      return stateOf(context, chosen);
    },
  },
  {
    words: ["stop"],
    args: "<name|id>|all",
    summary: "stop an MCP server, or all",
    values: namesOrAll,
    run: async (rest, context) => {
      const chosen = choose(rest, context);
      const hosting = hostingOf(context);
      await Promise.all(
        chosen.map((bundleId) => hosting.host.stopServer(bundleId)),
      );
      return stateOf(context, chosen);
    },
  },
];

const hostingOf = ({ computer }: ShellContext) => partsOf(computer).hosting;

/** Returns the ids of the servers that a command is about. */
function choose(rest: string, context: ShellContext): string[] {
  const name = oneWord(rest, "the MCP server's name or bundle_id, or all");
  return name === "all"
    ? servers(context).map(({ bundleId }) => bundleId)
    : [hostingOf(context).host.names.find(name).bundleId];
}

/** Reads the name of a server; `addServer` and `updateServer` validate the rest. */
function readServer(
  value: unknown,
): { name: string; settings: ServerSettings } {
  const settings = value as ServerSettings;
  if (!isRecord(value) || typeof value.name !== "string") {
    throw new Error('expected an object with a "name"');
  }
  return { name: value.name, settings };
}

const stateOf = (
  { computer }: ShellContext,
  chosen: readonly string[],
): string =>
  computer.status().servers.filter(({ bundleId }) => chosen.includes(bundleId))
    .map((status) => stateLine(status) ?? `${labelOf(status)}: ${status.state}`)
    .join("\n");
