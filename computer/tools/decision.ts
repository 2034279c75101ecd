/**
 * What becomes of a call that is decided on, in words for people and models.
 *
 * @module
 */
import { type NamedTool, namesOfTool } from "../host/tool_naming.ts";
import type { McpTool } from "../host/mcp/mcp_connection.ts";
import type { ServerView } from "../host/server_status.ts";
import type { NamedServer } from "../rules/mismatches.ts";
import { isRecord } from "../../protocol/names.ts";
import { OPERATOR_AGENT } from "../../protocol/payloads/tools.ts";
import {
  DEFAULT_RULE,
  type JudgedCall,
  type Rule,
  type ShownRule,
} from "../rules/rules.ts";
import type { AskedCall } from "../rules/permissions.ts";
import type { Refusal } from "./call_failure.ts";
import type { CallToConfirm } from "./confirm.ts";
import { ErrorCode } from "../../protocol/mod.ts";

/** A call to decide on. */
export interface PendingCall {
  /** The MCP server and the tool. */
  readonly target: NamedTool;
  /** The name that the caller used. */
  readonly name: string;
  readonly agent: string;
  /** The operator of the Server, where one calls. */
  readonly operator?: string;
  readonly params: Record<string, unknown>;
  /** How the MCP server introduced itself. */
  readonly introduction: string | undefined;
}

/** What of a call rules judge. */
export type CallToJudge = Omit<PendingCall, "introduction">;

/** Describes a call as rules see it; its names when a rule is about them. */
export const judgedCall = (call: CallToJudge): JudgedCall =>
  new NamedCall(call);

class NamedCall implements JudgedCall {
  readonly agent: string;
  readonly params: JudgedCall["params"];
  readonly #target: NamedTool;
  readonly #name: string;
  #servers: readonly string[] | undefined;
  #tools: readonly string[] | undefined;

  constructor({ target, name, agent, operator, params }: CallToJudge) {
    // An Agent may choose any name, but not to be an operator.
    this.agent = agent === OPERATOR_AGENT && operator === undefined
      ? `Agent ${agent}`
      : agent;
    this.params = params;
    this.#target = target;
    this.#name = name;
  }

  get servers(): readonly string[] {
    const { name, bundleId } = this.#target.server;
    return this.#servers ??= name === bundleId ? [name] : [name, bundleId];
  }

  get tools(): readonly string[] {
    const { server, tool } = this.#target;
    return this.#tools ??= [
      ...new Set([...namesOfTool(server, tool.name), this.#name]),
    ];
  }
}

/** Describes an MCP server as rules name it. */
export const namedServer = (server: ServerView): NamedServer => ({
  names: [server.name, server.bundleId],
  tools: server.state !== "running" ? undefined : server.tools.map((tool) => ({
    names: namesOfTool(server, tool.name),
    arguments: argumentsOf(tool.inputSchema),
  })),
});

/** Returns the arguments that a schema lists; undefined where others may be meant, too. */
function argumentsOf(
  { properties, additionalProperties, ...others }: McpTool["inputSchema"],
): string[] | undefined {
  const isListed = isRecord(properties) && additionalProperties !== true &&
    !isRecord(additionalProperties) &&
    Object.keys(others).every((key) => PLAIN.has(key));
  return isListed ? Object.keys(properties) : undefined;
}

/** What a schema may have that names no further arguments. */
const PLAIN: ReadonlySet<string> = new Set([
  "type",
  "required",
  "title",
  "description",
  "$schema",
  "$id",
  "$defs",
  "definitions",
]);

/** Describes a call for people. */
export const callToConfirm = (
  { target: { server, tool }, name, agent, operator, params }: PendingCall,
): CallToConfirm => ({
  agent,
  ...(operator !== undefined && { operator }),
  server: server.name,
  ...(server.bundleId !== server.name && { bundleId: server.bundleId }),
  tool: tool.name,
  name,
  params,
});

/** A call that may run. */
export interface Run {
  readonly kind: "run";
  /** The hashes of what an answer was about: the tool's definition, and the MCP server. */
  readonly seen?: Pick<AskedCall, "definition" | "configuration">;
  /** Whether it may run with its arguments alone, which a person saw, or a rule names. */
  readonly isClosed?: boolean;
}

/** What becomes of a call. */
export type ConfirmDecision = Run | { readonly kind: "refuse" } & Refusal;

/** Lets a call run that was asked about. */
export const toRun = (
  { definition, configuration }: AskedCall,
  isClosed: boolean,
): ConfirmDecision => ({
  kind: "run",
  seen: { definition, configuration },
  isClosed,
});

/** Refuses a call with 4005. */
export const refuse = (
  text: string,
  fields?: Refusal["fields"],
): ConfirmDecision => ({
  kind: "refuse",
  code: ErrorCode.TOOL_REQUIRES_CONFIRMATION,
  text,
  ...(fields && { fields }),
});

/** Names a tool and its MCP server in a sentence. */
export const toolPhrase = ({ name, target }: PendingCall): string =>
  `tool "${name}" of MCP server "${target.server.name}"`;

/** Refuses a call that a rule denies. */
export function denied(
  pending: PendingCall,
  { id }: ShownRule,
  written: Rule | undefined,
): ConfirmDecision {
  const tool = toolPhrase(pending);
  const why = written?.reason === undefined
    ? ""
    : `: ${JSON.stringify(written.reason)}`;
  return refuse(
    `The call of ${tool} is denied by the Computer's configuration (${id})${why}; do not repeat it`,
  );
}

/** Explains that a call needs a person, whom this Computer cannot ask. */
export const cannotAsk = (
  pending: PendingCall,
  { id, every }: ShownRule,
): string => {
  const tool = toolPhrase(pending);
  const phrase = tool.charAt(0).toUpperCase() + tool.slice(1);
  const remedy = every
    ? "start the Computer on a terminal, or with its page"
    : id === DEFAULT_RULE.id
    ? "set auto_apply to true for it in tool_meta, or start the Computer with --yes or on a terminal"
    : "change that rule, or start the Computer with --yes or on a terminal";
  const why = id === DEFAULT_RULE.id ? "" : ` (${id})`;
  return `${phrase} requires confirmation${why}, and this Computer cannot ask a person; ${remedy}`;
};
