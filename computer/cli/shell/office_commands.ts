import { plainLines } from "../../../cli/terminal_text.ts";
import { toolsMeant } from "../../../protocol/payloads/tools.ts";
import { officeLinkOf, type SmcpComputer } from "../../computer.ts";
import { isRecord } from "../../util/values.ts";
import { howItEnded, labelOf } from "../report.ts";
import type { Style } from "../screen.ts";
import type { ServerState } from "../../host/server_status.ts";
import { redactUrl } from "../../util/secrets.ts";
import {
  jsonArgument,
  keptFile,
  listed,
  oneWord,
  pretty,
  type ShellCommand,
} from "./command.ts";
import { partsOf } from "../../tool_host.ts";

const STATE_STYLES: Readonly<Record<ServerState, Style>> = {
  running: "good",
  starting: "busy",
  restarting: "busy",
  failed: "bad",
  stopped: "dim",
  disabled: "dim",
};

/** Default timeout of `tc`. */
const TOOL_TIMEOUT_S = 60;

/** Commands that show the Computer, or call its tools. */
export const LOOK_COMMANDS: readonly ShellCommand[] = [
  {
    words: ["status"],
    summary: "show the connection and the MCP servers",
    run: (_, context) => {
      const { computer } = context;
      const { connection, protocol, office = "none", name, servers, problems } =
        computer.status();
      const state = /idle|closed/.test(connection)
        ? "not connected"
        : connection;
      return [
        `${state} (${computer.url}, A2C-SMCP ${protocol}), office ${office}, as ${name}`,
        listed(
          "no MCP servers",
          ["server", "type", "state", "tools", "error"],
          servers.map((server) => [
            labelOf(server),
            server.type,
            [server.state, STATE_STYLES[server.state]],
            `${server.tools}`,
            server.error ?? "",
          ]),
          context,
        ),
        ...problems.map((text) => `problem: ${text}`),
      ];
    },
  },
  {
    words: ["tools"],
    summary: "list the tools that can be called",
    run: (_, context) => {
      const { computer } = context;
      const servers = new Map(
        computer.status().tools.map(({ name, server, bundleId = server }) => [
          name,
          labelOf({ name: server, bundleId }),
        ]),
      );
      const rows = computer.listTools().map(({ name, description }) => [
        name,
        servers.get(name) ?? "",
        firstLine(description),
      ]);
      return listed(
        "no tools",
        ["tool", "server", "description"],
        rows,
        context,
      );
    },
  },
  {
    words: ["skills"],
    summary: "list the skills",
    run: async (_, context) => {
      const skills = await context.computer.getSkills();
      const rows = skills.map(({ name, description, path }) => [
        name,
        firstLine(description),
        path,
      ]);
      return listed(
        "no skills",
        ["skill", "description", "folder"],
        rows,
        context,
      );
    },
  },
  {
    words: ["mcp"],
    summary: "show the configuration, without secrets",
    run: (_, { computer }) => pretty(computer.getConfig()),
  },
  {
    words: ["desktop"],
    args: "[size] [uri]",
    summary: "show the windows",
    run: async (rest, { computer }) => {
      const [, size, window] = /^(\d+)?\s*(\S+)?$/.exec(rest) ?? [];
      const windows = await computer.getDesktop({
        ...(size !== undefined && { size: Number(size) }),
        ...(window !== undefined && { window }),
      });
      return windows.length === 0
        ? "the desktop is empty"
        : windows.map(plainLines).join("\n\n---\n\n");
    },
  },
  {
    words: ["history"],
    args: "[n]",
    summary: "show the last tool calls",
    run: (rest, context) => {
      if (!/^\d*$/.test(rest)) throw new Error("expected a number of calls");
      const last = context.calls.slice(-(Number(rest) || 10));
      return listed(
        "no calls yet",
        ["time", "agent", "tool", "ms", "result"],
        last.map(({ at, agent, tool, durationMs, result }) => [
          at.toTimeString().slice(0, 8),
          agent,
          tool,
          `${Math.round(durationMs)}`,
          [howItEnded(result), result && !result.isError ? "good" : "bad"],
        ]),
        context,
      );
    },
  },
  {
    words: ["tc"],
    args: "<json|@file>",
    kept: keptCall,
    summary: 'call a tool: {"tool_name": ..., "params": {...}, "timeout": 60}',
    run: async (rest, { computer }, signal) => {
      const request = await jsonArgument(rest);
      if (!isRecord(request) || typeof request.tool_name !== "string") {
        throw new Error('expected an object with a "tool_name"');
      }
      const { tool_name, params = {}, timeout = TOOL_TIMEOUT_S } = request;
      if (!isRecord(params)) throw new Error('"params" is no object');
      const result = await computer.callTool(
        wholeName(computer, tool_name),
        params,
        { agent: computer.name, timeoutMs: toMs(timeout), signal },
      );
      return pretty(result);
    },
  },
  {
    words: ["render"],
    args: "<json|@file>",
    kept: keptFile,
    summary:
      "fill in inputs as an MCP server would get them; secrets stay hidden",
    run: async (rest, { computer }) => {
      const { inputs } = partsOf(computer).hosting;
      return pretty(await inputs.render(await jsonArgument(rest)));
    },
  },
];

/** Returns the name of the tool that somebody typed, perhaps without its `bundle_id`. */
function wholeName(computer: SmcpComputer, typed: string): string {
  const found = toolsMeant(computer.listTools(), typed);
  if (found.length < 2) return found[0]?.name ?? typed;
  const tool = JSON.stringify(typed);
  const names = found.map(({ name }) => name).join(" or ");
  throw new Error(
    `several MCP servers offer the tool ${tool}; give its whole name: ${names}`,
  );
}

const firstLine = (text: string): string => text.split("\n", 1)[0] ?? "";

/** Converts a timeout in seconds to milliseconds. */
function toMs(timeout: unknown): number {
  if (typeof timeout === "number" && timeout >= 1 && timeout <= 3600) {
    return timeout * 1000;
  }
  throw new Error('"timeout" must be a number of seconds from 1 to 3600');
}

/** Keeps the name of the tool without its parameters. */
function keptCall(rest: string): string {
  if (rest.startsWith("@")) return rest;
  try {
    const { tool_name } = JSON.parse(rest);
    return JSON.stringify({ tool_name });
  } catch {
    return "";
  }
}

/** Commands for the connection to the Server. */
export const SOCKET_COMMANDS: readonly ShellCommand[] = [
  {
    words: ["socket", "connect"],
    args: "[url]",
    kept: redactUrl,
    summary:
      "connect to the Server of --url, or to another with the same credentials",
    run: async (rest, { computer }) => {
      const url = rest === "" ? computer.url : oneWord(rest, "the address");
      if (url !== computer.url) {
        await officeLinkOf(computer).switchServer({ url });
      }
      await computer.connect();
      return `connected to ${url}, A2C-SMCP ${computer.status().protocol}`;
    },
  },
  {
    words: ["socket", "join"],
    args: "<office> [name]",
    summary:
      "join an office, optionally under another name than that of --name",
    run: async (rest, { computer }) => {
      const [, office = "", name = computer.name] =
        /^(\S+)(?:\s+(.+))?$/.exec(rest) ?? [];
      oneWord(office, "the office");
      if (name !== computer.name) {
        await officeLinkOf(computer).switchServer({ name });
      }
      await computer.connect();
      await computer.join(office);
      return `joined office ${office} as ${computer.name}`;
    },
  },
  {
    words: ["socket", "leave"],
    summary: "leave the office",
    run: async (_, { computer }) => {
      const { office } = computer;
      if (office === undefined) return "in no office";
      await computer.leave();
      return `left office ${office}`;
    },
  },
  {
    words: ["notify", "update"],
    summary: "tell the office that everything may have changed",
    run: (_, { computer }) => {
      if (computer.office === undefined) {
        throw new Error("in no office; use socket join first");
      }
      officeLinkOf(computer).announceAll();
      return "told";
    },
  },
];
