import { officeLinkOf } from "../../computer.ts";
import { isRecord } from "../../../protocol/names.ts";
import { howItEnded, serverLabel, STATE_SIGNS } from "../report.ts";
import { redactUrl } from "../../util/secrets.ts";
import {
  jsonArgument,
  oneWord,
  pretty,
  type ShellCommands,
} from "./command.ts";
import { partsOf } from "../../tool_host.ts";

/** Default timeout of `tc`. */
const TOOL_TIMEOUT_S = 60;

/** Commands that show the Computer, or call its tools. */
export const LOOK_COMMANDS: ShellCommands = {
  status: {
    summary: "show the connection and the MCP servers",
    run: (_, { computer }) => {
      const { connection, protocol, office = "none", name, servers, problems } =
        computer.status();
      const state = /idle|closed/.test(connection)
        ? "not connected"
        : connection;
      return [
        `${state} (${computer.url}, A2C-SMCP ${protocol}), office ${office}, as ${name}`,
        {
          none: "no MCP servers",
          head: ["server", "type", "state", "tools", "error"],
          rows: servers.map((server) => [
            serverLabel(server),
            server.type,
            [server.state, STATE_SIGNS[server.state][1]],
            `${server.tools}`,
            server.error ?? "",
          ]),
        },
        ...problems.map((text) => `problem: ${text}`),
      ];
    },
  },
  tools: {
    summary: "list the tools that can be called",
    run: (_, { computer }) => {
      const { tools } = computer.status();
      const servers = new Map(
        tools.map(({ name, server, bundleId = server }) => [
          name,
          serverLabel({ name: server, bundleId }),
        ]),
      );
      return {
        none: "no tools",
        head: ["tool", "server", "description"],
        rows: computer.listTools().map(({ name, description }) => [
          name,
          servers.get(name) ?? "",
          firstLine(description),
        ]),
      };
    },
  },
  skills: {
    summary: "list the skills",
    run: async (_, { computer }) => ({
      none: "no skills",
      head: ["skill", "description", "folder"],
      rows: (await computer.getSkills()).map(({ name, description, path }) => [
        name,
        firstLine(description),
        path,
      ]),
    }),
  },
  mcp: {
    summary: "show the configuration, without secrets",
    run: (_, { computer }) => pretty(computer.getConfig()),
  },
  "desktop [size] [uri]": {
    summary: "show the windows",
    run: async (rest, { computer }) => {
      const [, size, window] = /^(\d+)?\s*(\S+)?$/.exec(rest) ?? [];
      const windows = await computer.getDesktop({
        ...(size !== undefined && { size: Number(size) }),
        ...(window !== undefined && { window }),
      });
      return windows.join("\n\n---\n\n") || "the desktop is empty";
    },
  },
  "history [n]": {
    summary: "show the last tool calls",
    run: (rest, { calls }) => {
      if (!/^\d*$/.test(rest)) throw new Error("expected a number of calls");
      return {
        none: "no calls yet",
        head: ["time", "agent", "tool", "ms", "result"],
        rows: calls.slice(-(Number(rest) || 10))
          .map(({ at, agent, tool, durationMs, result }) => [
            at.toTimeString().slice(0, 8),
            agent,
            tool,
            `${Math.round(durationMs)}`,
            [howItEnded(result), result && !result.isError ? "good" : "bad"],
          ]),
      };
    },
  },
  "tc <json|@file>": {
    kept: keptCall,
    summary: 'call a tool: {"tool_name": ..., "params": {...}, "timeout": 60}',
    run: async (rest, { computer }, signal) => {
      const request = await jsonArgument(rest);
      if (!isRecord(request) || typeof request.tool_name !== "string") {
        throw new Error('expected an object with a "tool_name"');
      }
      const { tool_name, params = {}, timeout = TOOL_TIMEOUT_S } = request;
      if (!isRecord(params)) throw new Error('"params" must be an object');
      const result = await computer.callTool(tool_name, params, {
        agent: computer.name,
        timeoutMs: toMs(timeout),
        signal,
      });
      return pretty(result);
    },
  },
  "render <json|@file>": {
    summary:
      "fill in inputs as an MCP server would get them; secrets stay hidden",
    run: async (rest, { computer }) => {
      const { inputs } = partsOf(computer).hosting;
      return pretty(await inputs.render(await jsonArgument(rest)));
    },
  },
};

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
export const SOCKET_COMMANDS: ShellCommands = {
  "socket connect [url]": {
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
  "socket join <office> [name]": {
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
  "socket leave": {
    summary: "leave the office",
    run: async (_, { computer }) => {
      const { office } = computer;
      if (office === undefined) return "in no office";
      await computer.leave();
      return `left office ${office}`;
    },
  },
  "notify update": {
    summary: "announce to the office that everything may have changed",
    run: (_, { computer }) => {
      if (computer.office === undefined) {
        throw new Error("in no office; use socket join first");
      }
      officeLinkOf(computer).announceAll();
      return "announced";
    },
  },
};
