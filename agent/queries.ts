/**
 * One function for each request of an Agent that reads something; tool calls are in `call_tool.ts`.
 *
 * The last part is about requests that older peers do not support, whose errors say so.
 *
 * @module
 */
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
import { inMcpSpelling } from "../protocol/payloads/resources.ts";
import { checkNumbers, present } from "../shared/checks.ts";

/** Stands for no office: a valid name, which the Server answers with 4103. */
const NO_OFFICE = "-";

/** Requests the tools of a Computer (spec §4). */
export const tools = async (
  requests: Requests,
  computer: string,
  options: AgentRequestOptions = {},
): Promise<SMCPTool[]> =>
  (await requests.ask(GET_TOOLS_EVENT, { computer }, options)).tools;

/** Requests the configuration of a Computer, without secrets (spec §7). */
export const config = (
  requests: Requests,
  computer: string,
  options: AgentRequestOptions,
): Promise<GetComputerConfigRet> =>
  requests.ask(GET_CONFIG_EVENT, { computer }, options);

/** Requests the desktop of a Computer (spec §8.1). */
export async function desktop(
  requests: Requests,
  computer: string,
  { size, window, ...options }: GetDesktopOptions,
): Promise<Desktop[]> {
  checkNumbers({ size });
  const wanted = present({ computer, desktop_size: size, window });
  return (await requests.ask(GET_DESKTOP_EVENT, wanted, options)).desktops;
}

/** Requests one page of resources (spec §8.2). */
export async function resources(
  requests: Requests,
  computer: string,
  mcpServer: string,
  { cursor, ...options }: GetResourcesOptions,
): Promise<GetResourcesRet> {
  const wanted = present({ computer, mcp_server: mcpServer, cursor });
  const page = await requests.ask(GET_RESOURCES_EVENT, wanted, options);
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
    const wanted = present({ ...options, cursor });
    const page = await resources(requests, computer, mcpServer, wanted);
    yield* page.resources;
    if (cursor !== undefined) seen.add(cursor);
    cursor = page.next_cursor;
  } while (cursor !== undefined && !seen.has(cursor));
}

/** Requests the address of a document (spec §8.3). */
export const dpe = (
  requests: Requests,
  computer: string,
  uri: string,
  options: GetDpeOptions,
): Promise<GetDPERet> =>
  askTimed(requests, GET_DPE_EVENT, { computer, uri }, options);

/** Searches documents (spec §8.4). */
export async function finder(
  requests: Requests,
  computer: string,
  { keywords, fileType, offset, limit, ...options }: GetFinderOptions,
): Promise<GetFinderRet> {
  checkNumbers({ offset, limit });
  return await requests.ask(
    GET_FINDER_EVENT,
    present({ computer, keywords, file_type: fileType, offset, limit }),
    options,
  );
}

/** Requests the skills of a Computer (0.4 §6). */
export const skills = async (
  requests: Requests,
  computer: string,
  options: AgentRequestOptions,
): Promise<A2CSkillRef[]> =>
  (await requests.ask(GET_SKILLS_EVENT, { computer }, options)).skills;

/**
 * Requests the members of the office (spec §4).
 *
 * @param office the Agent's office, if it is in one
 */
export async function members(
  requests: Requests,
  office: string = NO_OFFICE,
  options: AgentRequestOptions = {},
): Promise<SessionInfo[]> {
  const answer = await requests.send(LIST_ROOM_EVENT, { office_id: office }, {
    ...options,
    timeoutMs: REQUEST_TIMEOUT_MS,
  });
  return SERVER_EVENTS[LIST_ROOM_EVENT].parseAnswer(answer).sessions;
}

/** Where a resource is. */
interface ResourcePlace {
  readonly computer: string;
  readonly mcpServer: string;
  readonly uri: string;
}

/** Requests the contents of a resource. */
export async function readResource(
  requests: Requests,
  { computer, mcpServer, uri }: ResourcePlace,
  options: TimedRequestOptions,
): Promise<ResourceContents[]> {
  const request = { computer, mcp_server: mcpServer, uri };
  return (await extension(requests, READ_RESOURCE_EVENT, request, options))
    .contents;
}

/** Begins or ends to watch a resource. */
export async function watchResource(
  requests: Requests,
  { computer, mcpServer, uri }: ResourcePlace,
  { stop = false, ...options }: WatchResourceOptions,
): Promise<void> {
  const request = { computer, mcp_server: mcpServer, uri, watch: !stop };
  await extension(requests, WATCH_RESOURCE_EVENT, request, options);
}

/** Requests the prompts of a Computer. */
export const prompts = async (
  requests: Requests,
  computer: string,
  options: TimedRequestOptions,
): Promise<Prompt[]> =>
  (await extension(requests, GET_PROMPTS_EVENT, { computer }, options)).prompts;

/** Requests a prompt, filled in. */
export const prompt = (
  requests: Requests,
  { computer, mcpServer, name }: Omit<ResourcePlace, "uri"> & { name: string },
  { arguments: params, input, ...options }: GetPromptOptions,
): Promise<GetPromptRet> =>
  extension(requests, GET_PROMPT_EVENT, {
    ...present({ computer, mcp_server: mcpServer, name, arguments: params }),
    ...(input && inputFields(input)),
  }, options);

/** Returns the fields of a request whose questions its caller answers. */
export const inputFields = (
  { responses, state }: NonNullable<CallToolOptions["input"]>,
): QuestionFields => ({
  accepts: ["input_required"],
  ...present({ input_responses: responses, request_state: state }),
});

/** The events that older Servers and Computers do not support. */
type Extension =
  | typeof READ_RESOURCE_EVENT
  | typeof WATCH_RESOURCE_EVENT
  | typeof GET_PROMPTS_EVENT
  | typeof GET_PROMPT_EVENT;

/** The part of a request that the caller gives. */
type Asked<E extends keyof ClientEvents> = Omit<
  ClientEvents[E]["request"],
  keyof AgentCallData | "timeout"
>;

/** Sends a request whose timeout the Computer gets too. */
async function askTimed<E extends Extension | typeof GET_DPE_EVENT>(
  requests: Requests,
  event: E,
  request: Asked<E>,
  { timeoutMs, signal, reqId }: TimedRequestOptions,
): Promise<ClientEvents[E]["answer"]> {
  const timed = {
    ...request,
    ...(timeoutMs !== undefined && { timeout: wireTimeout(timeoutMs) }),
  } as Omit<ClientEvents[E]["request"], keyof AgentCallData>;
  return await requests.ask(event, timed, {
    timeoutMs: (timeoutMs ?? REQUEST_TIMEOUT_MS) + ANSWER_GRACE_MS,
    signal,
    reqId,
  });
}

const LACKED = ": its version lacks this extension; upgrade it";

/**
 * Sends a request that older peers do not support, and says so in its error: they refuse the event by
 * its name, answer nothing at all, or with nothing, as Python's Server does.
 */
async function extension<E extends Extension>(
  requests: Requests,
  event: E,
  request: Asked<E>,
  options: TimedRequestOptions,
): Promise<ClientEvents[E]["answer"]> {
  try {
    return await askTimed(requests, event, request, options);
  } catch (error) {
    const isOurs = error instanceof ConnectionError ||
      error instanceof ProtocolError && !error.fields.mcp_server;
    if (!isOurs) throw error;
    const { code, message } = error;
    if (code === "timeout" || code === ErrorCode.TIMEOUT) {
      error.message +=
        `; a Computer or Server without the extension ${event} does not answer`;
    } else if (code === ErrorCode.BAD_REQUEST && message.includes(event)) {
      error.message += LACKED;
    } else if (message.startsWith("Invalid payload: payload:")) {
      error.message = `The Server knows no ${event}${LACKED}`;
    }
    throw error;
  }
}
