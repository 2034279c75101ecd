import { isRecord } from "../../util/values.ts";
import { stateLine } from "../live/lines.ts";
import type { ServerSettings } from "../../config/settings.ts";
import {
  keptFile,
  oneWord,
  type ShellCommand,
  type ShellContext,
} from "./command.ts";
import { jsonArgument } from "./json_argument.ts";

const names = ({ computer }: ShellContext): string[] =>
  computer.status().servers.map(({ name }) => name);
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
      const { computer } = context;
      const { name, settings } = readServer(await jsonArgument(rest));
      if (names(context).includes(name)) {
        await computer.updateServer(name, settings);
      } else await computer.addServer(name, settings);
      return stateOf(context, [name]);
    },
  },
  {
    words: ["server", "rm"],
    args: "<name>",
    summary: "stop an MCP server and forget it",
    values: names,
    run: async (rest, { computer }) => {
      const name = oneWord(rest, "the MCP server's name");
      await computer.removeServer(name);
      return `removed ${name}`;
    },
  },
  {
    words: ["start"],
    args: "<name>|all",
    summary: "start an MCP server, or all",
    values: namesOrAll,
    run: async (rest, context) => {
      const chosen = choose(rest, context);
      await Promise.all(
        chosen.map((name) => context.computer.startServer(name)),
      );
      return stateOf(context, chosen);
    },
  },
  {
    words: ["stop"],
    args: "<name>|all",
    summary: "stop an MCP server, or all",
    values: namesOrAll,
    run: async (rest, context) => {
      const chosen = choose(rest, context);
      await Promise.all(
        chosen.map((name) => context.computer.stopServer(name)),
      );
      return stateOf(context, chosen);
    },
  },
];

function choose(rest: string, context: ShellContext): string[] {
  const name = oneWord(rest, "the MCP server's name or all");
  return name === "all" ? names(context) : [name];
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
  computer.status().servers.filter(({ name }) => chosen.includes(name))
    .map((status) => stateLine(status) ?? `${status.name}: ${status.state}`)
    .join("\n");
