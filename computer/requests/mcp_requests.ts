/**
 * Requests about one MCP server, its resources and prompts, and for the prompts, templates and instructions of all.
 *
 * @module
 */
import {
  type COMPLETE_EVENT,
  type Completion,
  ErrorCode,
  type GET_INSTRUCTIONS_EVENT,
  type GET_PROMPT_EVENT,
  type GET_PROMPTS_EVENT,
  type GET_RESOURCE_TEMPLATES_EVENT,
  type GET_RESOURCES_EVENT,
  type GetPromptReq,
  type Prompt,
  ProtocolError,
  type READ_RESOURCE_EVENT,
  type ResourceTemplate,
  type WATCH_RESOURCE_EVENT,
} from "../../protocol/mod.ts";
import { inBothSpellings } from "../../protocol/payloads/resources.ts";
import { mendContent } from "../../protocol/mcp/mend.ts";
import { getPrompt as promptParsers } from "../../protocol/payloads/prompts.ts";
import { onAbort, withTimeout } from "../../shared/async.ts";
import type { McpHost } from "../host/host.ts";
import type {
  AnswerQuestion,
  McpConnection,
} from "../host/mcp/mcp_connection.ts";
import { takesPart } from "../resources/servers.ts";
import { METHOD_NOT_FOUND } from "../host/mcp/errors.ts";
import { requestFailure } from "../tools/call_failure.ts";
import { type Dialogue, mayAsk } from "../tools/dialogues.ts";
import { isRecord } from "../../protocol/names.ts";
import { reasonOf } from "../util/values.ts";
import type { Handler, ToolHostParts } from "./parts.ts";

/** Default limit for reading and listing, as for documents (protocol §8.3). */
const DEFAULT_TIMEOUT_S = 30;

/** What an MCP server may offer beside tools. */
type Capability = "resources" | "prompts" | "completions";

/**
 * Finds the MCP server that a request names.
 *
 * @throws {ProtocolError} 4014, before 0.3 404: it is not there; 404: it does not run; 4015: it does
 * not offer this
 */
function askedServer(
  host: McpHost,
  name: string,
  capability: Capability,
): McpConnection {
  const { bundleIds } = host.names;
  const server = host.names.at(name);
  if (!server) {
    throw new ProtocolError(
      bundleIds ? ErrorCode.MCP_SERVER_NOT_FOUND : ErrorCode.NOT_FOUND,
      `There is no MCP server "${name}" on this Computer`,
      { fields: { mcp_server: name } },
    );
  }
  const { connection, status: { state } } = server;
  if (!connection) {
    throw new ProtocolError(
      ErrorCode.NOT_FOUND,
      `MCP server "${name}" cannot be asked: it is ${state}`,
      { fields: { mcp_server: name, reason: `it is ${state}` } },
    );
  }
  if (connection.capabilities[capability]) return connection;
  const why = `does not offer ${capability}`;
  throw notSupported(host, name, capability, why);
}

/** Creates the error 4015 of an MCP server; the SDKs of 0.2 read its name from another field. */
function notSupported(
  { names: { bundleIds } }: McpHost,
  name: string,
  capability: string,
  why: string,
): ProtocolError {
  const older = bundleIds ? {} : { mcp_server_name: name };
  return new ProtocolError(
    ErrorCode.MCP_CAPABILITY_NOT_SUPPORTED,
    `MCP server "${name}" ${why}`,
    { fields: { mcp_server: name, ...older, capability } },
  );
}

/**
 * Waits for an MCP server's answer.
 *
 * @param timeout in seconds
 * @throws {ProtocolError} 408 it did not answer in time, 400 or 500 it answered with an error
 */
async function awaitAnswer<T>(
  name: string,
  timeout: number | undefined = DEFAULT_TIMEOUT_S,
  ask: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new ProtocolError(
    ErrorCode.TIMEOUT,
    `MCP server "${name}" did not answer within ${timeout} s`,
    { fields: { mcp_server: name } },
  );
  try {
    return await withTimeout(timeout * 1000, ask, { error: () => late });
  } catch (error) {
    throw error === late ? late : requestFailure(name, error);
  }
}

/** Returns one page of an MCP server's resources, unchanged but for added spellings (protocol §8.2). */
export const getResources: Handler<typeof GET_RESOURCES_EVENT> = async (
  { mcp_server, cursor, req_id },
  { hosting },
) => {
  const connection = askedServer(hosting.host, mcp_server, "resources");
  const { resources, nextCursor } = await connection
    .listResources(cursor ?? undefined)
    .catch((error) => {
      throw requestFailure(mcp_server, error);
    });
  return {
    resources: resources.map(inBothSpellings),
    ...(nextCursor !== undefined && { next_cursor: nextCursor }),
    req_id,
  };
};

/** Reads a resource of an MCP server; its contents pass unchanged. */
export const readResource: Handler<typeof READ_RESOURCE_EVENT> = async (
  { mcp_server, uri, timeout, req_id },
  { hosting },
) => {
  const connection = askedServer(hosting.host, mcp_server, "resources");
  const read = (signal: AbortSignal) => connection.readWhole(uri, { signal });
  return { ...await awaitAnswer(mcp_server, timeout, read), req_id };
};

/** Less than a Server waits, so that the MCP server is named. */
const TIMEOUT_S = 20;

/** Begins or ends to notify of each change of a resource. */
export const watchResource: Handler<typeof WATCH_RESOURCE_EVENT> = async (
  { mcp_server, uri, watch, req_id },
  { hosting, watched },
) => {
  if (!watch) {
    watched.remove(mcp_server, uri);
    return { req_id };
  }
  const { host } = hosting;
  const connection = askedServer(host, mcp_server, "resources");
  if (!takesPart(connection)) {
    const why = "announces no changes of its resources";
    throw notSupported(host, mcp_server, "resources.subscribe", why);
  }
  const subscribe = (signal: AbortSignal) =>
    connection.subscribe(uri, { signal });
  await watched.add(
    mcp_server,
    uri,
    connection,
    () => awaitAnswer(mcp_server, TIMEOUT_S, subscribe),
  );
  return { req_id };
};

/** Taken off the time for listing, so that one slow MCP server does not cost the prompts of all. */
const MARGIN_S = 1;

/** Collects a list of all running MCP servers that offer it; that of one that fails is missing, with a warning. */
async function collect<T>(
  { hosting: { host }, warnOnce }: ToolHostParts,
  timeout: number | undefined = DEFAULT_TIMEOUT_S,
  { what, capability, list }: {
    /** What is listed, for warnings. */
    readonly what: string;
    readonly capability: Capability;
    readonly list: (
      connection: McpConnection,
      options: { signal: AbortSignal },
      /** What Agents call the server. */
      name: string,
    ) => Promise<T[]>;
  },
): Promise<T[]> {
  const seconds = Math.max(1, timeout - MARGIN_S);
  const listed = host.views.map(async ({ bundleId, address: name }) => {
    const connection = host.server(bundleId)?.connection;
    if (!connection?.capabilities[capability]) return [];
    try {
      return await awaitAnswer(
        name,
        seconds,
        (signal) => list(connection, { signal }, name),
      );
    } catch (error) {
      const { mcp_code } = error instanceof ProtocolError ? error.fields : {};
      // Some offer resources, and know nothing of templates.
      if (mcp_code === METHOD_NOT_FOUND) return [];
      const reason = reasonOf(error);
      warnOnce.warn([`Cannot list the ${what} of "${name}": ${reason}`]);
      return [];
    }
  });
  return (await Promise.all(listed)).flat();
}

/** Lists the prompts of all running MCP servers that have some. */
export const getPrompts: Handler<typeof GET_PROMPTS_EVENT> = async (
  { timeout, req_id },
  parts,
) => {
  const prompts = await collect<Prompt>(parts, timeout, {
    what: "prompts",
    capability: "prompts",
    // One without a name cannot be asked for.
    list: async (connection, options, mcp_server) =>
      (await connection.listPrompts(options)).flatMap((entry) =>
        isRecord(entry) && typeof entry.name === "string"
          ? [{ ...entry, name: entry.name, mcp_server }]
          : []
      ),
  });
  return { prompts, req_id };
};

/** Lists the templates of all running MCP servers that have some. */
export const getResourceTemplates: Handler<
  typeof GET_RESOURCE_TEMPLATES_EVENT
> = async ({ timeout, req_id }, parts) => {
  const templates = await collect<ResourceTemplate>(parts, timeout, {
    what: "resource templates",
    capability: "resources",
    list: async (connection, options, mcp_server) =>
      (await connection.listResourceTemplates(options)).flatMap((entry) =>
        isRecord(entry) && typeof entry.uriTemplate === "string"
          ? [{ ...entry, uriTemplate: entry.uriTemplate, mcp_server }]
          : []
      ),
  });
  return { resource_templates: templates, req_id };
};

/** Lists the instructions of all running MCP servers that have some. */
export const getInstructions: Handler<typeof GET_INSTRUCTIONS_EVENT> = (
  { req_id },
  { hosting: { host } },
) => {
  const instructions = host.views.flatMap(({ bundleId, address }) => {
    const text = host.server(bundleId)?.connection?.instructions ?? "";
    return text === "" ? [] : [{ mcp_server: address, text }];
  });
  return { instructions, req_id };
};

/** Completes an argument of a prompt, or a variable of a template. */
export const complete: Handler<typeof COMPLETE_EVENT> = async (
  { mcp_server, ref, argument, context, timeout, req_id },
  { hosting },
) => {
  const connection = askedServer(hosting.host, mcp_server, "completions");
  const params = { ref, argument, ...(context && { context }) };
  const completion = await awaitAnswer(
    mcp_server,
    timeout,
    (signal) => connection.complete(params, { signal }),
  );
  return { completion: readCompletion(completion), req_id };
};

/** Keeps what is valid of a completion. */
function readCompletion(data: unknown): Completion {
  const { values, total, hasMore } = isRecord(data) ? data : {};
  return {
    values: Array.isArray(values)
      ? values.filter((value) => typeof value === "string")
      : [],
    ...(Number.isSafeInteger(total) && { total: Number(total) }),
    ...(typeof hasMore === "boolean" && { hasMore }),
  };
}

/** Gets a prompt of an MCP server, filled in; the server may ask for what is missing. */
export const getPrompt: Handler<typeof GET_PROMPT_EVENT> = async (
  request,
  parts,
) => {
  const { mcp_server, timeout, req_id } = request;
  const dialogue = openDialogue(request, parts);
  const turn = await awaitAnswer(mcp_server, timeout, (signal) => {
    onAbort(signal, () => dialogue.end.abort("timeout"));
    return dialogue.turn.promise;
  });
  if ("question" in turn) return { ...turn.question, messages: [], req_id };
  const { description, messages, _meta } = turn.result;
  try {
    return promptParsers.parseAnswer({
      ...(typeof description === "string" && { description }),
      messages: Array.isArray(messages) ? messages.map(mendMessage) : messages,
      ...(isRecord(_meta) && { _meta }),
      req_id,
    });
  } catch (error) {
    const reason = reasonOf(error);
    throw new ProtocolError(
      ErrorCode.INTERNAL_ERROR,
      `MCP server "${mcp_server}" answered with something that is not a prompt (${reason})`,
      { fields: { mcp_server }, cause: error },
    );
  }
};

/** Mends the content of a message, so that one odd annotation does not cost the prompt. */
const mendMessage = (message: unknown): unknown =>
  isRecord(message)
    ? { ...message, content: mendContent(message.content, () => {}) }
    : message;

/** @throws {ProtocolError} as {@linkcode askedServer}, and 400: there is no such question */
function openDialogue(
  request: GetPromptReq,
  { hosting: { host }, calls: { elicitations, dialogues } }: ToolHostParts,
): Dialogue<Record<string, unknown>> {
  const { computer, agent, mcp_server, name, arguments: params = {} } = request;
  const about = JSON.stringify([computer, mcp_server, name, params]);
  const asked = { ...request, about };
  if (request.request_state !== undefined) return dialogues.resume(asked);
  const connection = askedServer(host, mcp_server, "prompts");
  const server = host.names.at(mcp_server)?.view.name ?? mcp_server;
  const passesOn = mayAsk(request) && !elicitations.canAsk;
  const askHere: AnswerQuestion = (question, context) =>
    elicitations.ask({ server, agent }, question, context);
  return dialogues.begin(asked, (signal, askAgent) => {
    const answer = passesOn ? askAgent : askHere;
    return connection.getPrompt(name, params, { signal, answer });
  });
}
