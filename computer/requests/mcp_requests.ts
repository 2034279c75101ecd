import type { McpHost } from "../host/host.ts";
import type { McpConnection } from "../host/mcp/connection.ts";
import { takesPart } from "../resources/servers.ts";
import type { WatchedUris } from "../resources/watched_uris.ts";
import { requestFailure } from "../tools/call_failure.ts";
import {
  type Dialogue,
  type Dialogues,
  INPUT_REQUIRED,
} from "../tools/dialogues.ts";
import type { Elicitations } from "../tools/elicitations.ts";
import type { WarnOnce } from "../util/log.ts";
import { isRecord, reasonOf } from "../util/values.ts";
import {
  type ClientEvent,
  type ClientEvents,
  ErrorCode,
  type GET_PROMPT_EVENT,
  type GET_PROMPTS_EVENT,
  type GET_RESOURCES_EVENT,
  type GetPromptReq,
  type GetPromptRet,
  inBothSpellings,
  parseGetPromptRet,
  type Prompt,
  ProtocolError,
  type READ_RESOURCE_EVENT,
  type WATCH_RESOURCE_EVENT,
} from "../../protocol/mod.ts";
import { onAbort, withTimeout } from "../../shared/async.ts";

/**
 * Answers one kind of request of an Agent.
 *
 * `Needs` are the parts of the Computer that it uses.
 *
 * @throws {ProtocolError} sent to the Agent as the answer
 */
export type Handler<E extends ClientEvent, Needs> = (
  request: ClientEvents[E]["request"],
  needs: Needs,
) => ClientEvents[E]["answer"] | Promise<ClientEvents[E]["answer"]>;

/** Default limit for reading and listing, as for documents (spec §8.3). */
export const DEFAULT_TIMEOUT_S = 30;

/** What requests for one MCP server need. */
export interface AskedServerNeeds {
  /** The MCP servers. */
  readonly host: Pick<McpHost, "names">;
}

/**
 * Finds the MCP server that a request names.
 *
 * @throws {ProtocolError} 4014, before 0.3 404: it is not there; 404: it does not run; 4015: it does
 * not offer this
 */
export function askedServer(
  host: AskedServerNeeds["host"],
  name: string,
  capability: "resources" | "prompts",
): McpConnection {
  const connection = running(host, name);
  if (connection.capabilities[capability]) return connection;
  throw new ProtocolError(
    ErrorCode.MCP_CAPABILITY_NOT_SUPPORTED,
    `MCP server "${name}" does not offer ${capability}`,
    {
      fields: {
        mcp_server: name,
        // The name of the field in the SDKs of 0.2.
        ...(!host.names.bundleIds && { mcp_server_name: name }),
        capability,
      },
    },
  );
}

/**
 * Waits for an MCP server's answer.
 *
 * @param timeout in seconds
 * @throws {ProtocolError} 408 it did not answer in time, 400 or 500 it answered with an error
 */
export async function answerOf<T>(
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

function running(host: AskedServerNeeds["host"], name: string): McpConnection {
  const server = host.names.at(name);
  if (server?.connection) return server.connection;
  const reason = server && `it is ${server.status.state}`;
  throw new ProtocolError(
    server || !host.names.bundleIds
      ? ErrorCode.NOT_FOUND
      : ErrorCode.MCP_SERVER_NOT_FOUND,
    reason
      ? `MCP server "${name}" cannot be asked: ${reason}`
      : `There is no MCP server "${name}" on this Computer`,
    { fields: { mcp_server: name, ...(reason && { reason }) } },
  );
}

/** Returns one page of an MCP server's resources, unchanged but for added spellings (spec §8.2, 0.4 §9). */
export const getResources: Handler<
  typeof GET_RESOURCES_EVENT,
  AskedServerNeeds
> = async (
  { mcp_server, cursor, req_id },
  { host },
) => {
  const connection = askedServer(host, mcp_server, "resources");
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
export const readResource: Handler<
  typeof READ_RESOURCE_EVENT,
  AskedServerNeeds
> = async ({ mcp_server, uri, timeout, req_id }, { host }) => {
  const connection = askedServer(host, mcp_server, "resources");
  const contents = await answerOf(
    mcp_server,
    timeout,
    (signal) => connection.readResource(uri, { signal }),
  );
  return { contents, req_id };
};

/** What {@linkcode watchResource} needs. */
export interface WatchResourceNeeds extends AskedServerNeeds {
  /** What Agents watch. */
  readonly watched: WatchedUris;
}

/** Less than a Server waits, so that the MCP server is named. */
const TIMEOUT_S = 20;

/** Begins or ends to tell of each change of a resource. */
export const watchResource: Handler<
  typeof WATCH_RESOURCE_EVENT,
  WatchResourceNeeds
> = async ({ mcp_server, uri, watch, req_id }, { host, watched }) => {
  if (!watch) {
    watched.remove(mcp_server, uri);
    return { req_id };
  }
  const connection = askedServer(host, mcp_server, "resources");
  if (!takesPart(connection)) {
    throw new ProtocolError(
      ErrorCode.MCP_CAPABILITY_NOT_SUPPORTED,
      `MCP server "${mcp_server}" tells of no changes of its resources`,
      { fields: { mcp_server, capability: "resources.subscribe" } },
    );
  }
  await watched.add(mcp_server, uri, connection, () =>
    answerOf(
      mcp_server,
      TIMEOUT_S,
      (signal) => connection.subscribe(uri, { signal }),
    ));
  return { req_id };
};

/** What {@linkcode getPrompts} needs. */
export interface GetPromptsNeeds {
  /** The MCP servers. */
  readonly host: Pick<McpHost, "views" | "server">;
  /** Logs what is left out. */
  readonly warnOnce: WarnOnce;
}

/** Taken off the time for listing, so that one slow MCP server does not cost the prompts of all. */
const MARGIN_S = 1;

/** Lists the prompts of all running MCP servers that have some. */
export const getPrompts: Handler<
  typeof GET_PROMPTS_EVENT,
  GetPromptsNeeds
> = async (
  { timeout = DEFAULT_TIMEOUT_S, req_id },
  { host, warnOnce },
) => {
  const seconds = Math.max(1, timeout - MARGIN_S);
  const listed = host.views.map(async (view): Promise<Prompt[]> => {
    const { bundleId, address: name } = view;
    const connection = host.server(bundleId)?.connection;
    if (!connection?.capabilities.prompts) return [];
    try {
      const prompts = await answerOf(
        name,
        seconds,
        (signal) => connection.listPrompts({ signal }),
      );
      return prompts.flatMap((prompt) => readPrompt(prompt, name));
    } catch (error) {
      warnOnce.warn([
        `Cannot list the prompts of "${name}": ${reasonOf(error)}`,
      ]);
      return [];
    }
  });
  return { prompts: (await Promise.all(listed)).flat(), req_id };
};

/** Reads an entry of `prompts/list`; one without a name cannot be asked for, and is left out. */
function readPrompt(entry: unknown, mcpServer: string): Prompt[] {
  if (!isRecord(entry) || typeof entry.name !== "string") return [];
  return [{ ...entry, name: entry.name, mcp_server: mcpServer }];
}

/** What {@linkcode getPrompt} needs. */
export interface GetPromptNeeds extends AskedServerNeeds {
  /** Answers questions of MCP servers. */
  readonly elicitations: Pick<Elicitations, "ask" | "canAsk">;
  /** Passes questions on to Agents that accept them. */
  readonly dialogues: Pick<Dialogues, "begin" | "resume">;
}

/** Gets a prompt of an MCP server, filled in; the server may ask for what is missing. */
export const getPrompt: Handler<typeof GET_PROMPT_EVENT, GetPromptNeeds> =
  async (request, needs) => {
    const { mcp_server, timeout, req_id } = request;
    const dialogue = dialogueOf(request, needs);
    const turn = await answerOf(mcp_server, timeout, (signal) => {
      onAbort(signal, () => dialogue.abort("timeout"));
      return dialogue.next;
    });
    if ("question" in turn) return { ...turn.question, messages: [], req_id };
    const { description, messages } = turn.result;
    return checked(mcp_server, { description, messages, req_id });
  };

/** @throws {ProtocolError} as {@linkcode askedServer}, and 400: there is no such question */
function dialogueOf(
  request: GetPromptReq,
  { host, elicitations, dialogues }: GetPromptNeeds,
): Dialogue<Record<string, unknown>> {
  const { computer, agent, mcp_server, name, arguments: params = {} } = request;
  const about = JSON.stringify([computer, mcp_server, name, params]);
  const asked = { ...request, about };
  if (request.request_state !== undefined) return dialogues.resume(asked);
  const connection = askedServer(host, mcp_server, "prompts");
  const server = host.names.at(mcp_server)?.view.name ?? mcp_server;
  const passesOn = request.accepts?.includes(INPUT_REQUIRED) &&
    !elicitations.canAsk;
  return dialogues.begin(
    asked,
    (signal, answer) =>
      connection.getPrompt(name, params, {
        signal,
        answer: passesOn ? answer : (question, context) =>
          elicitations.ask(
            { server, agent },
            question,
            context,
          ),
      }),
  );
}

/** @throws {ProtocolError} 500 naming the MCP server that answered with something else */
function checked(
  mcpServer: string,
  answer: { description: unknown; messages: unknown; req_id: string },
): GetPromptRet {
  const { description, ...rest } = answer;
  try {
    return parseGetPromptRet({
      ...rest,
      ...(description !== undefined && { description }),
    });
  } catch (error) {
    throw new ProtocolError(
      ErrorCode.INTERNAL_ERROR,
      `MCP server "${mcpServer}" answered with something that is not a prompt (${
        reasonOf(error)
      })`,
      { fields: { mcp_server: mcpServer }, cause: error },
    );
  }
}
