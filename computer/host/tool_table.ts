/**
 * Finds the tool of a call by its name, or the reason why it cannot be called (protocol §6, §7).
 *
 * @module
 */
import { authorizationAnswer } from "./oauth/authorized_fetch.ts";
import { describeState, type ServerView } from "./server_status.ts";
import type { NamedTool } from "./tool_meta.ts";
import {
  clashText,
  isForbidden,
  namedTools,
  namesOfTool,
  toolName,
  type ToolNames,
} from "./tool_naming.ts";
import { ErrorCode } from "../../protocol/mod.ts";

/** A tool that can be called right now. */
export interface OfferedTool {
  /** The name by which Agents call it. */
  readonly name: string;
  /** The name of the MCP server that has it. */
  readonly server: string;
  /** The server's `bundle_id`, where it is not the name. */
  readonly bundleId?: string;
}

/** The tool of a call, or why it cannot be called. */
export type ToolResolution =
  | { readonly kind: "call"; readonly target: NamedTool }
  | {
    readonly kind: "refuse";
    /** 4001, 4002, 4003, 4006 or 4007. */
    readonly code: number;
    /** For people and models. */
    readonly text: string;
    /** Metadata of the result beside the code. */
    readonly fields?: Readonly<Record<string, unknown>>;
  };

/**
 * Finds the tool of a call by its name (protocol §6, §7).
 *
 * A tool that is unknown, clashing, or of a disabled server: 4001. Forbidden, by name or alias:
 * 4002. Of a server that is not running: 4003 with its state and the next attempt, or 4006 or 4007
 * when the server denies the Computer access.
 */
export function resolveTool(
  name: string,
  servers: readonly ServerView[],
  { offers, clashes }: ToolNames,
): ToolResolution {
  const target = offers.get(name);
  if (target) {
    return target.server.state === "running"
      ? { kind: "call", target }
      : notRunning(name, target.server);
  }
  const claimants = clashes.get(name);
  if (claimants) {
    return refuse(ErrorCode.TOOL_NOT_FOUND, clashText(name, claimants));
  }
  const enabled = servers.filter(({ state }) => state !== "disabled");
  const forbidding = enabled.find((server) => forbids(server, name));
  if (forbidding) {
    return refuse(
      ErrorCode.TOOL_DISABLED,
      `Tool "${name}" of MCP server "${forbidding.name}" is forbidden by the Computer's configuration`,
    );
  }
  const away = enabled.find((server) => isKnownToHave(server, name));
  if (away) return notRunning(name, away);
  const clash = [...clashes].find(([, tools]) =>
    tools.some(({ server, tool }) =>
      namesOfTool(server, tool.name).includes(name)
    )
  );
  const text = clash ? clashText(...clash) : unknown(name, enabled);
  return refuse(ErrorCode.TOOL_NOT_FOUND, text);
}

const refuse = (code: number, text: string): ToolResolution => ({
  kind: "refuse",
  code,
  text,
});

/** Returns whether the configuration of a server forbids a tool, by any of the tool's names. */
function forbids(server: ServerView, name: string): boolean {
  const { forbidden_tools, tool_meta } = server.config;
  const listed = server.tools.map((tool) => tool.name);
  return [name, ...forbidden_tools, ...Object.keys(tool_meta), ...listed]
    .some((tool) =>
      isForbidden(server, tool) &&
      (tool === name || toolName(server, tool) === name)
    );
}

/** Returns whether a stopped server has a tool; before its first start only its configuration shows it. */
const isKnownToHave = (server: ServerView, name: string): boolean =>
  server.state !== "running" && (
    namedTools(server).some((named) => named.name === name) ||
    Object.keys(server.config.tool_meta)
      .some((tool) => toolName(server, tool) === name)
  );

const notRunning = (name: string, server: ServerView): ToolResolution =>
  server.refusal && server.state !== "stopped"
    ? {
      kind: "refuse",
      ...authorizationAnswer(
        name,
        server.name,
        server.refusal,
        server.address,
      ),
    }
    : refuse(
      ErrorCode.TOOL_EXECUTION_FAILED,
      `Cannot call "${name}": MCP server "${server.name}" ${
        describeState(server)
      }`,
    );

function unknown(name: string, servers: readonly ServerView[]): string {
  const offered = servers.flatMap((server) =>
    server.tools
      .filter((tool) => namesOfTool(server, tool.name).includes(name))
      .map((tool) => toolName(server, tool.name))
      .filter((other) => other !== name)
      .map((other) => `"${other}"`)
  );
  const away = servers
    .filter(({ state }) => state !== "running")
    .map((server) => `"${server.name}" ${describeState(server)}`);
  return `There is no tool "${name}"` +
    (offered.length > 0 ? `; it is offered as ${offered.join(" and ")}` : "") +
    (away.length > 0 ? `; MCP server ${away.join(", ")}` : "");
}
