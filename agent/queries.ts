import type {
  AgentRequestOptions,
  CallToolOptions,
  GetDesktopOptions,
  GetDpeOptions,
  GetFinderOptions,
  GetPromptOptions,
  GetResourcesOptions,
  TimedRequestOptions,
  WatchResourceOptions,
} from "./options.ts";
import {
  ANSWER_GRACE_MS,
  REQUEST_TIMEOUT_MS,
  type Requests,
  wireTimeout,
} from "./requests.ts";
import { ConnectionError } from "../client/errors.ts";
import {
  type A2CSkillRef,
  type AgentCallData,
  type ClientEvents,
  type Desktop,
  ErrorCode,
  GET_CONFIG_EVENT,
  GET_DESKTOP_EVENT,
  GET_DPE_EVENT,
  GET_FINDER_EVENT,
  GET_PROMPT_EVENT,
  GET_PROMPTS_EVENT,
  GET_RESOURCES_EVENT,
  GET_SKILLS_EVENT,
  GET_TOOLS_EVENT,
  type GetComputerConfigRet,
  type GetDPERet,
  type GetFinderRet,
  type GetPromptRet,
  type GetResourcesRet,
  inMcpSpelling,
  LIST_ROOM_EVENT,
  type Prompt,
  ProtocolError,
  type QuestionFields,
  READ_RESOURCE_EVENT,
  type Resource,
  type ResourceContents,
  SERVER_EVENTS,
  type SessionInfo,
  type SMCPTool,
  WATCH_RESOURCE_EVENT,
} from "../protocol/mod.ts";
import { checkNumbers } from "../shared/checks.ts";

/** Stands for no office: a valid name, which the Server answers with 4103. */
const NO_OFFICE = "-";

/** Requests the tools of a Computer (spec §4). */
export async function tools(
  requests: Requests,
  computer: string,
  { signal, reqId }: AgentRequestOptions,
): Promise<SMCPTool[]> {
  return (await requests.ask(GET_TOOLS_EVENT, { computer }, signal, reqId))
    .tools;
}

/** Requests the configuration of a Computer, without secrets (spec §7). */
export function config(
  requests: Requests,
  computer: string,
  { signal, reqId }: AgentRequestOptions,
): Promise<GetComputerConfigRet> {
  return requests.ask(GET_CONFIG_EVENT, { computer }, signal, reqId);
}

/** Requests the desktop of a Computer (spec §8.1). */
export async function desktop(
  requests: Requests,
  computer: string,
  { signal, reqId, size, window }: GetDesktopOptions,
): Promise<Desktop[]> {
  checkNumbers({ size });
  const wanted = {
    computer,
    ...(size !== undefined && { desktop_size: size }),
    ...(window !== undefined && { window }),
  };
  return (await requests.ask(GET_DESKTOP_EVENT, wanted, signal, reqId))
    .desktops;
}

/** Requests one page of resources (spec §8.2). */
export async function resources(
  requests: Requests,
  computer: string,
  mcpServer: string,
  { signal, reqId, cursor }: GetResourcesOptions,
): Promise<GetResourcesRet> {
  const page = await requests.ask(
    GET_RESOURCES_EVENT,
    {
      computer,
      mcp_server: mcpServer,
      ...(cursor !== undefined && { cursor }),
    },
    signal,
    reqId,
  );
  return { ...page, resources: page.resources.map(inMcpSpelling) };
}

/** Iterates over all resources, requesting each page when it is needed (spec §8.2). */
export async function* allResources(
  requests: Requests,
  computer: string,
  mcpServer: string,
  options: AgentRequestOptions,
): AsyncGenerator<Resource, void, void> {
  const seen = new Set<string>(); // ends the loop if a server repeats a cursor
  let cursor: string | undefined;
  do {
    const page = await resources(requests, computer, mcpServer, {
      ...options,
      ...(cursor !== undefined && { cursor }),
    });
    yield* page.resources;
    if (cursor !== undefined) seen.add(cursor);
    cursor = page.next_cursor;
  } while (cursor !== undefined && !seen.has(cursor));
}

/** Requests the address of a document (spec §8.3). */
export async function dpe(
  requests: Requests,
  computer: string,
  uri: string,
  { signal, timeoutMs, reqId }: GetDpeOptions,
): Promise<GetDPERet> {
  return await requests.request(
    GET_DPE_EVENT,
    {
      computer,
      uri,
      ...(timeoutMs !== undefined && { timeout: wireTimeout(timeoutMs) }),
    },
    {
      timeoutMs: (timeoutMs ?? REQUEST_TIMEOUT_MS) + ANSWER_GRACE_MS,
      signal,
      reqId,
    },
  );
}

/** Searches documents (spec §8.4). */
export async function finder(
  requests: Requests,
  computer: string,
  { signal, reqId, keywords, fileType, offset, limit }: GetFinderOptions,
): Promise<GetFinderRet> {
  checkNumbers({ offset, limit });
  return await requests.ask(
    GET_FINDER_EVENT,
    {
      computer,
      ...(keywords !== undefined && { keywords }),
      ...(fileType !== undefined && { file_type: fileType }),
      ...(offset !== undefined && { offset }),
      ...(limit !== undefined && { limit }),
    },
    signal,
    reqId,
  );
}

/** Requests the skills of a Computer (0.4 §6). */
export async function skills(
  requests: Requests,
  computer: string,
  { signal }: AgentRequestOptions,
): Promise<A2CSkillRef[]> {
  return (await requests.ask(GET_SKILLS_EVENT, { computer }, signal)).skills;
}

/**
 * Requests the members of the office (spec §4).
 *
 * @param office the Agent's office, if it is in one
 */
export async function members(
  requests: Requests,
  office: string | undefined,
  { signal, reqId }: AgentRequestOptions,
): Promise<SessionInfo[]> {
  const answer = await requests.send(
    LIST_ROOM_EVENT,
    { office_id: office ?? NO_OFFICE },
    { timeoutMs: REQUEST_TIMEOUT_MS, signal, reqId },
  );
  return SERVER_EVENTS[LIST_ROOM_EVENT].parseAnswer(answer).sessions;
}

/** The events that older Servers and Computers do not know. */
type Extension =
  | typeof READ_RESOURCE_EVENT
  | typeof WATCH_RESOURCE_EVENT
  | typeof GET_PROMPTS_EVENT
  | typeof GET_PROMPT_EVENT;

/** Where a resource is. */
interface ResourcePlace {
  readonly computer: string;
  readonly mcpServer: string;
  readonly uri: string;
}

/** Where a prompt is. */
interface PromptPlace {
  readonly computer: string;
  readonly mcpServer: string;
  readonly name: string;
}

/** Requests the contents of a resource. */
export async function readResource(
  requests: Requests,
  { computer, mcpServer, uri }: ResourcePlace,
  options: TimedRequestOptions,
): Promise<ResourceContents[]> {
  const request = { computer, mcp_server: mcpServer, uri };
  return (await ask(requests, READ_RESOURCE_EVENT, request, options)).contents;
}

/** Begins or ends to watch a resource. */
export async function watchResource(
  requests: Requests,
  { computer, mcpServer, uri }: ResourcePlace,
  { stop = false, ...options }: WatchResourceOptions,
): Promise<void> {
  const request = { computer, mcp_server: mcpServer, uri, watch: !stop };
  await ask(requests, WATCH_RESOURCE_EVENT, request, options);
}

/** Requests the prompts of a Computer. */
export async function prompts(
  requests: Requests,
  computer: string,
  options: TimedRequestOptions,
): Promise<Prompt[]> {
  return (await ask(requests, GET_PROMPTS_EVENT, { computer }, options))
    .prompts;
}

/** Requests a prompt, filled in. */
export function prompt(
  requests: Requests,
  { computer, mcpServer, name }: PromptPlace,
  { arguments: params, input, ...options }: GetPromptOptions,
): Promise<GetPromptRet> {
  return ask(requests, GET_PROMPT_EVENT, {
    computer,
    mcp_server: mcpServer,
    name,
    ...(params && { arguments: params }),
    ...(input && inputFields(input)),
  }, options);
}

async function ask<E extends Extension>(
  requests: Requests,
  event: E,
  request: Omit<ClientEvents[E]["request"], keyof AgentCallData | "timeout">,
  { timeoutMs, signal, reqId }: TimedRequestOptions,
): Promise<ClientEvents[E]["answer"]> {
  const timed = {
    ...request,
    ...(timeoutMs !== undefined && { timeout: wireTimeout(timeoutMs) }),
  } as Omit<ClientEvents[E]["request"], keyof AgentCallData>;
  try {
    return await requests.request(event, timed, {
      timeoutMs: (timeoutMs ?? REQUEST_TIMEOUT_MS) + ANSWER_GRACE_MS,
      signal,
      reqId,
    });
  } catch (error) {
    explain(event, error);
    throw error;
  }
}

const LACKED = ": its version lacks this extension; upgrade it";

/**
 * Says of an older peer that it is one: it refuses the event by its name, answers nothing at all, or
 * with nothing, as Python's Server does.
 */
function explain(event: string, error: unknown): void {
  const isOurs = error instanceof ConnectionError ||
    error instanceof ProtocolError && !error.fields.mcp_server;
  if (!isOurs) return;
  const { code, message } = error;
  if (code === "timeout" || code === ErrorCode.TIMEOUT) {
    error.message +=
      `; a Computer or Server without the extension ${event} does not answer`;
  } else if (code === ErrorCode.BAD_REQUEST && message.includes(event)) {
    error.message += LACKED;
  } else if (message.startsWith("Invalid payload: payload:")) {
    error.message = `The Server knows no ${event}${LACKED}`;
  }
}

/** The fields of a request whose questions its caller answers. */
export const inputFields = (
  { responses, state }: NonNullable<CallToolOptions["input"]>,
): QuestionFields => ({
  accepts: ["input_required"],
  ...(responses && { input_responses: responses }),
  ...(state !== undefined && { request_state: state }),
});
