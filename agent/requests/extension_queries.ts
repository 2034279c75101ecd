import { ConnectionError } from "../../client/errors.ts";
import {
  type AgentCallData,
  type ClientEvents,
  ErrorCode,
  GET_PROMPT_EVENT,
  GET_PROMPTS_EVENT,
  type GetPromptRet,
  type Prompt,
  ProtocolError,
  READ_RESOURCE_EVENT,
  type ResourceContents,
  WATCH_RESOURCE_EVENT,
} from "../../protocol/mod.ts";
import type {
  GetPromptOptions,
  TimedRequestOptions,
  WatchResourceOptions,
} from "./options.ts";
import {
  ANSWER_GRACE_MS,
  REQUEST_TIMEOUT_MS,
  type Requests,
} from "./requests.ts";
import { inputFields } from "./question_fields.ts";
import { wireTimeout } from "./wire_timeout.ts";

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
