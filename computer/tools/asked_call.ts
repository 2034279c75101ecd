/**
 * A call that a person is asked about: what identifies its tool and its program, and which answers are
 * offered, each with what it covers in one sentence.
 *
 * @module
 */
import { createHash } from "node:crypto";
import type { ServerConfig } from "../config/config.ts";
import type { McpTool } from "../host/mcp/mcp_connection.ts";
import { type AskedCall, HOUR } from "../rules/permissions.ts";
import type { Rule } from "../rules/rules.ts";
import type { QuestionOption } from "../../shared/approvals/question.ts";
import { quoted } from "../../shared/shown_text.ts";
import type { ConfirmAnswer, ConfirmRequest } from "./confirm.ts";
import type { PendingCall } from "./decision.ts";

/** Hashes texts and other JSON values. */
export const hashOf = (...values: readonly unknown[]): string =>
  createHash("sha256").update(JSON.stringify(values)).digest("base64url");

const definitions = new WeakMap<McpTool, string>();

/** Hashes what a tool is said to do: its name, description, schemas and annotations. */
export function definitionHash(tool: McpTool): string {
  const known = definitions.get(tool);
  if (known !== undefined) return known;
  const { name, description, inputSchema, outputSchema, annotations } = tool;
  const hash = hashOf(
    name,
    description,
    inputSchema,
    outputSchema,
    annotations,
  );
  definitions.set(tool, hash);
  return hash;
}

const inProcess = new WeakMap<object, string>();
/** By configuration: the latest introduction, and the hash. */
const configurations = new WeakMap<
  ServerConfig,
  { readonly introduction: string | undefined; readonly hash: string }
>();

/**
 * Hashes what an MCP server is: how it is started or reached, and how it introduces itself. One in this
 * process is another one with each instance.
 */
export function configurationHash(
  config: ServerConfig,
  introduction: string | undefined,
): string {
  const known = configurations.get(config);
  if (known && known.introduction === introduction) return known.hash;
  const hash = config.type === "in-process"
    ? hashOf(instanceId(config.server))
    : hashOf(config.type, config.server_parameters, introduction);
  configurations.set(config, { introduction, hash });
  return hash;
}

function instanceId(server: object): string {
  const known = inProcess.get(server) ?? crypto.randomUUID();
  inProcess.set(server, known);
  return known;
}

/** Arguments with which a tool does whatever is in them: what was allowed for one call means nothing for others. */
const OPEN_ENDED = /^(command|script|code|sql)$/i;

/** Returns whether a call can only be allowed by itself. */
export const isOpenEnded = (
  { inputSchema, annotations }: McpTool,
  params: Readonly<Record<string, unknown>>,
): boolean =>
  annotations?.destructiveHint === true ||
  [...Object.keys(params), ...Object.keys(Object(inputSchema.properties))]
    .some((name) => OPEN_ENDED.test(name));

/** Returns what identifies a call for permissions, tickets and limits. */
export const askedCall = (
  { target: { server, tool }, agent, operator, params, introduction }:
    PendingCall,
  written: Rule | undefined,
): AskedCall => ({
  agent,
  ...(operator !== undefined && { operator }),
  bundleId: server.bundleId,
  tool: tool.name,
  params,
  ...(written?.file && { open: written.file.content }),
  definition: definitionHash(tool),
  configuration: configurationHash(server.config, introduction),
});

/** What the answers to a question depend on. */
interface Offer {
  readonly call: AskedCall;
  /** The name of the MCP server. */
  readonly server: string;
  readonly config: ServerConfig;
  /** Whether only this call can be allowed. */
  readonly isOnly: boolean;
  /** Whether permissions end with the Computer. */
  readonly isInMemory: boolean;
}

/** Returns the answers that are offered. */
export function offeredOptions(offer: Offer): QuestionOption[] {
  const { call, isOnly } = offer;
  const longer: QuestionOption[] = isOnly ? [] : [
    {
      id: "hour",
      text: `Yes, for an hour, ${HOUR.uses} times`,
      covers: hourCovers(offer),
    },
    {
      id: "always",
      text: "Always for this tool",
      covers: alwaysCovers(offer),
    },
  ];
  return [
    { id: "once", text: "Yes, this once" },
    ...longer,
    {
      id: "mute",
      text: "No, for 10 minutes to all it asks",
      covers: `Calls of ${
        callerText(call)
      } that need a confirmation are refused for 10 minutes.`,
    },
    // Last, where repeated keys end.
    { id: "no", text: "No" },
  ];
}

/** Returns an answer, or what is offered in its place: a yes to this call alone. */
export const offered = (
  options: ConfirmRequest["options"],
  answer: ConfirmAnswer,
): ConfirmAnswer =>
  answer === "no" || options.some(({ id }) => id === answer) ? answer : "once";

const callerText = (
  { agent, operator }: Pick<AskedCall, "agent" | "operator">,
): string =>
  operator === undefined
    ? `Agent ${quoted(agent)}`
    : `operator ${quoted(operator)} of the Server`;

const mayRun = ({ call, server }: Offer): string =>
  `${callerText(call)} may run tool ${quoted(call.tool)} of MCP server ${
    quoted(server)
  }`;

function hourCovers(offer: Offer): string {
  const { open, params } = offer.call;
  const others = open !== undefined && Object.hasOwn(params, open)
    ? `these arguments and any ${quoted(open)}`
    : "exactly these arguments";
  return `For an hour ${mayRun(offer)} ${HOUR.uses} times with ${others}.`;
}

function alwaysCovers(offer: Offer): string {
  const end = offer.isInMemory ? ", or the Computer ends" : "";
  const program = unpinned(offer.config);
  const warning = program === undefined
    ? ""
    : ` ${quoted(program)} has no version: it may be another program tomorrow.`;
  return `${
    mayRun(offer)
  } any number of times with any arguments, until the tool or its MCP server changes${end}.${warning}`;
}

/** Programs that download a package and run it, and how each of them writes a version. */
const RUNNERS: Readonly<Record<string, RegExp>> = {
  npx: /.@(?!latest$)[^/]+$/,
  bunx: /.@(?!latest$)[^/]+$/,
  pnpx: /.@(?!latest$)[^/]+$/,
  uvx: /.(==|@(?!latest$))[^/]+$/,
};

/** Returns the command of an MCP server that runs whatever a registry has as the latest version. */
export function unpinned(config: ServerConfig): string | undefined {
  if (config.type !== "stdio") return undefined;
  const { command, args } = config.server_parameters;
  const runner = command.split(/[\\/]/).at(-1)?.replace(/\.(cmd|exe)$/i, "") ??
    "";
  const version = Object.hasOwn(RUNNERS, runner) ? RUNNERS[runner] : undefined;
  const what = args.find((arg) => !arg.startsWith("-"));
  return version === undefined || what === undefined || version.test(what)
    ? undefined
    : `${runner} ${what}`;
}
