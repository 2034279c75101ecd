/**
 * The tools of a Computer: what a call finds by a name, or the reason why it cannot be called (protocol §6,
 * §7), and how Agents see a tool, with its metadata (protocol §4).
 *
 * @module
 */
import { authorizationAnswer } from "./oauth/authorized_fetch.ts";
import { describeState, type ServerView } from "./server_status.ts";
import type { McpTool } from "./mcp/mcp_connection.ts";
import {
  clashText,
  isForbidden,
  longNames,
  type NamedTool,
  namedTools,
  namesOfTool,
  toolName,
  type ToolNames,
} from "./tool_naming.ts";
import {
  type AttributeValue,
  type BaseMCPServerConfig,
  ErrorCode,
  type SMCPTool,
  type ToolMeta,
} from "../../protocol/mod.ts";
import { isRecord } from "../../protocol/names.ts";
import { MCP_SERVER_KEY } from "../../protocol/payloads/tools.ts";

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

// ------------------------------------------------------------------ how Agents see a tool

/** The four fields of `a2c_tool_meta` on the wire (protocol §4). */
export interface EffectiveToolMeta {
  /** Whether the tool runs without user confirmation. */
  readonly auto_apply: boolean | null;
  /** The name under which the tool is offered. */
  readonly alias: string | null;
  /** Free-form tags for the Agent. */
  readonly tags: readonly string[] | null;
  /** How the Agent maps results. */
  readonly ret_object_mapper: Readonly<Record<string, unknown>> | null;
}

/**
 * Merges `tool_meta[tool]` over `default_tool_meta` over the tags that the MCP server declares, field
 * by field; null means absent (protocol §7).
 */
export function effectiveToolMeta(
  { tool_meta, default_tool_meta }: Pick<
    BaseMCPServerConfig,
    "tool_meta" | "default_tool_meta"
  >,
  tool: string,
  declared: Pick<Declaration, "tags"> = { tags: null },
): EffectiveToolMeta {
  const own: ToolMeta = Object.hasOwn(tool_meta, tool)
    ? tool_meta[tool] ?? {}
    : {};
  const fallback: ToolMeta = default_tool_meta ?? {};
  return {
    auto_apply: own.auto_apply ?? fallback.auto_apply ?? null,
    alias: own.alias ?? fallback.alias ?? null,
    tags: own.tags ?? fallback.tags ?? declared.tags,
    ret_object_mapper: own.ret_object_mapper ?? fallback.ret_object_mapper ??
      null,
  };
}

/** Describes a tool as Agents see it (protocol §4). */
export const toSMCPTool = (
  { name, tool, server }: NamedTool,
): SMCPTool => ({
  name,
  ...(server.bundleIds && { bundle_id: server.bundleId }),
  description: tool.description,
  params_schema: tool.inputSchema,
  return_schema: tool.outputSchema,
  meta: attributes(tool, server),
  ...(tool.title !== undefined && { title: tool.title }),
  ...(tool.icons && tool.icons.length > 0 && { icons: [...tool.icons] }),
});

/**
 * Builds `SMCPTool.meta`: simple values, structured ones as JSON strings, no nulls (protocol §4).
 *
 * The keys of the protocol override the MCP server's keys of the same name.
 */
function attributes(
  tool: McpTool,
  { config, bundleIds, name: server, address }: ServerView,
): Record<string, AttributeValue> {
  const { meta, annotations, name } = tool;
  const declared = readDeclaration(tool);
  const effective = effectiveToolMeta(config, name, declared);
  const isWritten = declared.kind === "valid" ||
    Object.values(effective).some((v) => v !== null);
  const values: Record<string, unknown> = {
    ...meta,
    MCP_TOOL_ANNOTATION: annotations,
    [MCP_SERVER_KEY]: bundleIds ? server : address,
    a2c_tool_meta: isWritten ? effective : undefined,
  };
  return Object.fromEntries(
    Object.entries(values)
      .filter(([, value]) => value !== null && value !== undefined)
      .map(([key, value]) => [
        key,
        isSimple(value) ? value : JSON.stringify(value),
      ]),
  );
}

const isSimple = (value: unknown): value is AttributeValue =>
  ["string", "number", "boolean"].includes(typeof value);

/** The key of a tool's `_meta` in which an MCP server declares tags. */
const KEY = "a2c_tool_meta";

/** The declaration of an MCP server about a tool. */
interface Declaration {
  /** Whether it is none, valid, or to be dropped. */
  readonly kind: "absent" | "valid" | "malformed";
  /** The tags; null inherits nothing and clears nothing. */
  readonly tags: readonly string[] | null;
}

/**
 * Reads what an MCP server declares about a tool (protocol §7).
 *
 * Only `tags`: it must not switch confirmation off, or rename a tool.
 */
function readDeclaration({ meta }: Pick<McpTool, "meta">): Declaration {
  if (!Object.hasOwn(meta, KEY)) return { kind: "absent", tags: null };
  const declared = meta[KEY];
  const tags = isRecord(declared) ? declared.tags ?? null : undefined;
  return tags === null || isTexts(tags)
    ? { kind: "valid", tags }
    : { kind: "malformed", tags: null };
}

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((item) => typeof item === "string");

/** Describes malformed declarations in one sentence. */
export function malformedTags(tools: readonly McpTool[]): string | undefined {
  const [first, ...others] = tools.filter((tool) =>
    readDeclaration(tool).kind === "malformed"
  );
  if (!first) return undefined;
  const more = others.length === 0 ? "" : `, and of ${others.length} more`;
  return `its a2c_tool_meta of tool "${first.name}"${more} is ignored; expected an object whose tags are a list of texts`;
}

/** Describes what is odd in a fresh list of tools, and does no harm. */
export const listWarnings = (server: ServerView): string[] =>
  [longNames(server).warning, malformedTags(server.tools)]
    .filter((warning) => warning !== undefined);
