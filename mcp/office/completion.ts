/**
 * Requests for completions: of our own templates from what is listed, of all else by the MCP servers.
 *
 * @module
 */
import type { CompleteRequest } from "@modelcontextprotocol/server";
import type { OfficeAgent } from "../office_agent.ts";
import { toRequestError } from "./failures.ts";
import { namedPrompts } from "./prompts.ts";
import type { Answers, ServerParts } from "./server_parts.ts";
import { placeOf, templateOf, TEMPLATES } from "../resources/uris.ts";
import { invalidParams } from "../tools/result.ts";
import {
  type Completion,
  type CompletionRef,
  ErrorCode,
  ProtocolError,
} from "../../protocol/mod.ts";

/** The most values of an answer, as MCP limits it. */
const MAX_VALUES = 100;

/** How long an MCP server may take: a person is typing. */
const TIMEOUT_MS = 10_000;

type Params = CompleteRequest["params"];

/** Makes a server complete the variables of templates and the arguments of prompts. */
export const answerCompletionRequests: Answers = (server, parts) => {
  server.setRequestHandler(
    "completion/complete",
    async ({ params }, context) => {
      const agent = await parts.view.ready();
      try {
        const completion = await ownCompletion(parts, agent, params) ??
          await passOn(parts, agent, params, context.mcpReq.signal);
        return { completion: { ...cut(completion) } };
      } catch (error) {
        throw toRequestError(error);
      }
    },
  );
};

function cut({ values, total, hasMore }: Completion): Completion {
  const isCut = values.length > MAX_VALUES;
  return {
    values: values.slice(0, MAX_VALUES),
    ...(total !== undefined && { total }),
    ...((isCut || hasMore !== undefined) && { hasMore: isCut || hasMore }),
  };
}

/** Completes a variable of a template of our own; `undefined` for anything else. */
async function ownCompletion(
  { view, options: { computer: only } }: ServerParts,
  agent: OfficeAgent,
  { ref, argument: { name: variable, value }, context }: Params,
): Promise<Completion | undefined> {
  if (ref.type !== "ref/resource") return undefined;
  const template = TEMPLATES.find((each) => each.uriTemplate === ref.uri);
  if (template === undefined) return undefined;
  const known = context?.arguments ?? {};
  const computers = view.catalogue.computers
    .filter((each) => (only ?? each) === each);
  const valuesOf = async () => {
    if (variable === "computer") return computers;
    const resources = await view.reads.resources.list(agent, computers);
    const values = resources.flatMap(({ uri }) => {
      const { kind, ...fields }: Readonly<Partial<Record<string, string>>> = {
        ...placeOf(uri),
      };
      const isMeant = kind === template.name &&
        ["computer", "server", "name"].every((each) =>
          each === variable || fields[each] === (known[each] ?? fields[each])
        );
      return isMeant ? fields[variable] ?? [] : [];
    });
    return [...new Set(values)].toSorted();
  };
  const prefix = value.toLowerCase();
  const values = (await valuesOf())
    .filter((each) => each.toLowerCase().startsWith(prefix));
  return { values, total: values.length, hasMore: false };
}

/** Lets the MCP server complete; one that completes nothing has no values. */
async function passOn(
  parts: ServerParts,
  agent: OfficeAgent,
  params: Params,
  signal: AbortSignal,
): Promise<Completion> {
  const meant = await meantBy(parts, agent, params.ref);
  if (meant === undefined) return { values: [] };
  const { computer, server, ref } = meant;
  const { argument, context } = params;
  const what = {
    ref,
    argument,
    ...(context?.arguments && { context: { arguments: context.arguments } }),
  };
  try {
    const request = { timeoutMs: TIMEOUT_MS, signal };
    return await agent.complete(computer, server, what, request);
  } catch (error) {
    if (isLacking(error)) return { values: [] };
    throw error;
  }
}

/** Whether the MCP server completes nothing, or its Computer knows no completions. */
const isLacking = (error: unknown): boolean =>
  error instanceof ProtocolError && (
    error.code === ErrorCode.MCP_CAPABILITY_NOT_SUPPORTED ||
    error.code === ErrorCode.BAD_REQUEST &&
      error.fields.mcp_server === undefined
  );

/** What is to be completed, as its MCP server calls it. */
interface Meant {
  readonly computer: string;
  readonly server: string;
  readonly ref: CompletionRef;
}

/**
 * Finds what is to be completed at which MCP server.
 *
 * @returns `undefined` for a skill, which has no arguments
 * @throws {ProtocolError} there is no such prompt or template
 */
async function meantBy(
  parts: ServerParts,
  agent: OfficeAgent,
  ref: Params["ref"],
): Promise<Meant | undefined> {
  if (ref.type === "ref/prompt") {
    const found = (await namedPrompts(parts, agent)).get(ref.name);
    if (found === undefined) {
      throw invalidParams(`Unknown prompt: ${ref.name}`);
    }
    const { computer, skill, prompt: { mcp_server: server, name } } = found;
    if (skill) return undefined;
    return { computer, server, ref: { type: "ref/prompt", name } };
  }
  const { view, options: { computer: only } } = parts;
  const computers = view.catalogue.computers
    .filter((each) => (only ?? each) === each);
  const templates = await view.reads.templates.list(agent, computers);
  const found = templates.find(({ computer, template }) =>
    templateOf(
      { computer, server: template.mcp_server },
      template.uriTemplate,
    ) ===
      ref.uri
  );
  if (found === undefined) {
    throw invalidParams(`There is no template ${ref.uri}`);
  }
  const { computer, template: { mcp_server: server, uriTemplate: uri } } =
    found;
  return { computer, server, ref: { type: "ref/resource", uri } };
}
