/**
 * The requests of an Agent that read something, where more is to do than to send them; tool calls are in
 * `call_tool.ts`.
 *
 * The last part is about requests that older peers do not support, which their errors state.
 *
 * @module
 */
import {
  type AgentRequestOptions,
  type CallToolOptions,
  DESKTOP_NAMES,
  FINDER_NAMES,
  GET_DPE_NAMES,
  type GetDesktopOptions,
  type GetDpeOptions,
  type GetFinderOptions,
  type GetPromptOptions,
  type GetResourcesOptions,
  PROMPT_NAMES,
  REQUEST_NAMES,
  RESOURCES_NAMES,
  TIMED_NAMES,
  type TimedRequestOptions,
  WATCH_NAMES,
  type WatchResourceOptions,
} from "./options.ts";
import {
  ANSWER_GRACE_MS,
  REQUEST_TIMEOUT_MS,
  type Requests,
  wireTimeout,
} from "./requests.ts";
import { ConnectionError } from "../client/errors.ts";
import * as wire from "../protocol/mod.ts";
import { ACCEPTS } from "../protocol/payloads/elicitation.ts";
import { inMcpSpelling } from "../protocol/payloads/resources.ts";
import { checkNames, checkNumbers, present } from "../shared/checks.ts";
import { PagedList } from "../shared/pages.ts";

/** Stands for no office: a valid name, which the Server answers with 4103. */
const NO_OFFICE = "-";

/** Requests the tools of a Computer (protocol §4). */
export async function tools(
  requests: Requests,
  computer: string,
  options: AgentRequestOptions,
): Promise<wire.SMCPTool[]> {
  checkNames(options, REQUEST_NAMES, "getTools()");
  const event = wire.GET_TOOLS_EVENT;
  return (await requests.ask(event, { computer }, options)).tools;
}

/** Requests the configuration of a Computer (protocol §7). */
export async function config(
  requests: Requests,
  computer: string,
  options: AgentRequestOptions,
): Promise<wire.GetComputerConfigRet> {
  checkNames(options, REQUEST_NAMES, "getConfig()");
  return await requests.ask(wire.GET_CONFIG_EVENT, { computer }, options);
}

/** Requests the skills of a Computer (protocol §8.6). */
export async function skills(
  requests: Requests,
  computer: string,
  options: AgentRequestOptions,
): Promise<wire.A2CSkillRef[]> {
  checkNames(options, REQUEST_NAMES, "getSkills()");
  const event = wire.GET_SKILLS_EVENT;
  return (await requests.ask(event, { computer }, options)).skills;
}

/** Requests the desktop of a Computer (protocol §8.1). */
export async function desktop(
  requests: Requests,
  computer: string,
  options: GetDesktopOptions,
): Promise<wire.Desktop[]> {
  checkNames(options, DESKTOP_NAMES, "getDesktop()");
  const { size, window, ...sending } = options;
  checkNumbers({ size });
  const request = present({ computer, desktop_size: size, window });
  return (await requests.ask(wire.GET_DESKTOP_EVENT, request, sending))
    .desktops;
}

/** Requests one page of resources (protocol §8.2). */
export async function resources(
  requests: Requests,
  computer: string,
  mcpServer: string,
  options: GetResourcesOptions,
): Promise<wire.GetResourcesRet> {
  checkNames(options, RESOURCES_NAMES, "getResources()");
  const { cursor, ...sending } = options;
  const request = present({ computer, mcp_server: mcpServer, cursor });
  const page = await requests.ask(wire.GET_RESOURCES_EVENT, request, sending);
  return { ...page, resources: page.resources.map(inMcpSpelling) };
}

/** Iterates over all resources, requesting each page when it is needed (protocol §8.2). */
export async function* allResources(
  requests: Requests,
  computer: string,
  mcpServer: string,
  options: AgentRequestOptions,
): AsyncGenerator<wire.Resource, void, void> {
  checkNames(options, REQUEST_NAMES, "allResources()");
  const list = new PagedList<wire.Resource>("uri");
  do {
    const request = present({ ...options, cursor: list.cursor });
    const page = await resources(requests, computer, mcpServer, request);
    const { resources: items, next_cursor: nextCursor } = page;
    yield* list.take({ items, nextCursor });
  } while (list.cursor !== undefined);
}

/** Searches documents (protocol §8.4). */
export async function finder(
  requests: Requests,
  computer: string,
  options: GetFinderOptions,
): Promise<wire.GetFinderRet> {
  checkNames(options, FINDER_NAMES, "getFinder()");
  const { keywords, fileType, offset, limit, ...sending } = options;
  checkNumbers({ offset, limit });
  const request = { computer, keywords, file_type: fileType, offset, limit };
  return await requests.ask(wire.GET_FINDER_EVENT, present(request), sending);
}

/**
 * Requests the members of the office (protocol §4).
 *
 * @param office the Agent's office, if it is in one
 */
export async function members(
  requests: Requests,
  office: string = NO_OFFICE,
  options: AgentRequestOptions = {},
): Promise<wire.SessionInfo[]> {
  checkNames(options, REQUEST_NAMES, "listRoom()");
  const sending = { ...options, timeoutMs: REQUEST_TIMEOUT_MS };
  const request = { office_id: office };
  const answer = await requests.send(wire.LIST_ROOM_EVENT, request, sending);
  return wire.SERVER_EVENTS[wire.LIST_ROOM_EVENT].parseAnswer(answer).sessions;
}

/** Requests the contents of a resource. */
export const readResource = async (
  requests: Requests,
  place: Asked<typeof wire.READ_RESOURCE_EVENT>,
  options: TimedRequestOptions,
): Promise<wire.ResourceContents[]> =>
  (await readWhole(requests, place, options)).contents;

/** Requests the contents of a resource, with the metadata of the MCP server's answer. */
export async function readWhole(
  requests: Requests,
  place: Asked<typeof wire.READ_RESOURCE_EVENT>,
  options: TimedRequestOptions,
): Promise<wire.ReadResourceRet> {
  checkNames(options, TIMED_NAMES, "readResource()");
  return await extension(requests, wire.READ_RESOURCE_EVENT, place, options);
}

/** Requests the templates of a Computer's resources. */
export async function resourceTemplates(
  requests: Requests,
  computer: string,
  options: TimedRequestOptions,
): Promise<wire.ResourceTemplate[]> {
  checkNames(options, TIMED_NAMES, "getResourceTemplates()");
  const event = wire.GET_RESOURCE_TEMPLATES_EVENT;
  const answer = await extension(requests, event, { computer }, options);
  return answer.resource_templates;
}

/** Requests values for an argument of a prompt, or a variable of a template. */
export async function complete(
  requests: Requests,
  place: Asked<typeof wire.COMPLETE_EVENT>,
  options: TimedRequestOptions,
): Promise<wire.Completion> {
  checkNames(options, TIMED_NAMES, "complete()");
  const event = wire.COMPLETE_EVENT;
  return (await extension(requests, event, place, options)).completion;
}

/** Requests the instructions of a Computer's MCP servers. */
export async function instructions(
  requests: Requests,
  computer: string,
  options: AgentRequestOptions,
): Promise<wire.ServerInstructions[]> {
  checkNames(options, REQUEST_NAMES, "getInstructions()");
  const event = wire.GET_INSTRUCTIONS_EVENT;
  const answer = await extension(requests, event, { computer }, options);
  return answer.instructions;
}

/** Requests the notifications of a resource's changes, or their end. */
export async function watchResource(
  requests: Requests,
  place: Omit<Asked<typeof wire.WATCH_RESOURCE_EVENT>, "watch">,
  options: WatchResourceOptions,
): Promise<void> {
  checkNames(options, WATCH_NAMES, "watchResource()");
  const { stop = false, ...sending } = options;
  const watched = { ...place, watch: !stop };
  await extension(requests, wire.WATCH_RESOURCE_EVENT, watched, sending);
}

/** Requests the prompts of a Computer. */
export async function prompts(
  requests: Requests,
  computer: string,
  options: TimedRequestOptions,
): Promise<wire.Prompt[]> {
  checkNames(options, TIMED_NAMES, "getPrompts()");
  const event = wire.GET_PROMPTS_EVENT;
  return (await extension(requests, event, { computer }, options)).prompts;
}

/** Requests a prompt, filled in. */
export async function prompt(
  requests: Requests,
  place: Asked<typeof wire.GET_PROMPT_EVENT>,
  options: GetPromptOptions,
): Promise<wire.GetPromptRet> {
  checkNames(options, PROMPT_NAMES, "getPrompt()");
  const { arguments: params, input, ...sending } = options;
  const request = {
    ...place,
    ...present({ arguments: params }),
    ...(input && inputFields(input)),
  };
  return await extension(requests, wire.GET_PROMPT_EVENT, request, sending);
}

/** Requests the address of a document (protocol §8.3). */
export async function dpe(
  requests: Requests,
  place: Asked<typeof wire.GET_DPE_EVENT>,
  options: GetDpeOptions,
): Promise<wire.GetDPERet> {
  checkNames(options, GET_DPE_NAMES, "getDpe()");
  return await askTimed(requests, wire.GET_DPE_EVENT, place, options);
}

/** Returns the fields of a request whose questions its caller answers. */
export const inputFields = (
  { accepts = ["form"], responses, state }: NonNullable<
    CallToolOptions["input"]
  >,
): wire.QuestionFields => ({
  accepts: accepts.map((mode) => ACCEPTS[mode]),
  ...present({ input_responses: responses, request_state: state }),
});

/** The events that older Servers and Computers do not support. */
type Extension =
  | typeof wire.READ_RESOURCE_EVENT
  | typeof wire.WATCH_RESOURCE_EVENT
  | typeof wire.GET_PROMPTS_EVENT
  | typeof wire.GET_PROMPT_EVENT
  | typeof wire.GET_RESOURCE_TEMPLATES_EVENT
  | typeof wire.COMPLETE_EVENT
  | typeof wire.GET_INSTRUCTIONS_EVENT;

/** The part of a request that the caller gives. */
type Asked<E extends keyof wire.ClientEvents> = Omit<
  wire.ClientEvents[E]["request"],
  keyof wire.AgentCallData | "timeout"
>;

/** Sends a request whose timeout the Computer gets too. */
export async function askTimed<
  E extends Extension | typeof wire.GET_DPE_EVENT,
>(
  requests: Requests,
  event: E,
  request: Asked<E>,
  { timeoutMs, signal, reqId }: TimedRequestOptions,
): Promise<wire.ClientEvents[E]["answer"]> {
  const timed = {
    ...request,
    ...(timeoutMs !== undefined && { timeout: wireTimeout(timeoutMs) }),
  } as Omit<wire.ClientEvents[E]["request"], keyof wire.AgentCallData>;
  return await requests.ask(event, timed, {
    timeoutMs: (timeoutMs ?? REQUEST_TIMEOUT_MS) + ANSWER_GRACE_MS,
    signal,
    reqId,
  });
}

const LACKED = ": its version lacks this extension; upgrade it";

/**
 * Sends a request that older peers do not support, which its error states: they refuse the event by
 * its name, answer nothing at all, or with nothing, as Python's Server does.
 */
async function extension<E extends Extension>(
  requests: Requests,
  event: E,
  request: Asked<E>,
  options: TimedRequestOptions,
): Promise<wire.ClientEvents[E]["answer"]> {
  try {
    return await askTimed(requests, event, request, options);
  } catch (error) {
    const isOurs = error instanceof ConnectionError ||
      error instanceof wire.ProtocolError && !error.fields.mcp_server;
    if (!isOurs) throw error;
    const { code, message } = error;
    if (code === "timeout" || code === wire.ErrorCode.TIMEOUT) {
      error.message +=
        `; a Computer or Server without the extension ${event} does not answer`;
    } else if (code === wire.ErrorCode.BAD_REQUEST && message.includes(event)) {
      error.message += LACKED;
    } else if (message.startsWith("Invalid payload: payload:")) {
      error.message = `The Server knows no ${event}${LACKED}`;
    }
    throw error;
  }
}
