/**
 * Requests of Agents and of this process, and what answers them.
 *
 * One table has the handler of each event. Requests about one MCP server are in `mcp_requests.ts`,
 * those for content in parts in `contents.ts`; tool calls, windows and documents have rooms of their
 * own.
 *
 * @module
 */
import {
  type AgentCallData,
  CLIENT_EVENTS,
  type ClientEvent,
  type ClientEvents,
  COMPLETE_EVENT,
  ErrorCode,
  GET_BLOB_EVENT,
  GET_CONFIG_EVENT,
  GET_DESKTOP_EVENT,
  GET_DPE_EVENT,
  GET_FINDER_EVENT,
  GET_INSTRUCTIONS_EVENT,
  GET_PROMPT_EVENT,
  GET_PROMPTS_EVENT,
  GET_RESOURCE_TEMPLATES_EVENT,
  GET_RESOURCES_EVENT,
  GET_SKILL_EVENT,
  GET_SKILLS_EVENT,
  GET_TOOLS_EVENT,
  isClientEvent,
  ProtocolError,
  PUT_BLOB_EVENT,
  READ_RESOURCE_EVENT,
  TOOL_CALL_EVENT,
  WATCH_RESOURCE_EVENT,
} from "../../protocol/mod.ts";
import {
  readOffices,
  writeOffices,
} from "../../protocol/payloads/request_meta.ts";
import { onAbort } from "../../shared/async.ts";
import { redactConfig } from "../config/redact.ts";
import { getDesktop } from "../resources/desktop.ts";
import { getDpe } from "../resources/dpe.ts";
import { getFinder } from "../resources/finder.ts";
import type { RequestOrigin } from "../tools/tool_calls.ts";
import { MESSAGE_BYTES } from "../../protocol/event_table.ts";
import { logThrown } from "../util/log.ts";
import { hideSecrets } from "../util/secrets.ts";
import { getBlob, getSkill } from "./contents.ts";
import {
  complete,
  getInstructions,
  getPrompt,
  getPrompts,
  getResources,
  getResourceTemplates,
  readResource,
  watchResource,
} from "./mcp_requests.ts";
import type { CallHostedToolOptions } from "./local_options.ts";
import { LIST_EVENTS } from "./merged_lists.ts";
import type { Handler, ToolHostParts } from "./parts.ts";

/** The handler of each request (protocol §3). */
const HANDLERS: { readonly [E in ClientEvent]: Handler<E> } = {
  [TOOL_CALL_EVENT]: (request, { calls }, origin) => calls.run(request, origin),
  [GET_TOOLS_EVENT]: ({ req_id, _meta }, { hosting: { host }, office }) => {
    const name = office?.connection.office;
    // First: what leads back to this office must not be offered to it.
    if (name !== undefined) host.isIn(readOffices(_meta), name);
    const starting = host.views.filter(({ state }) => state === "starting");
    return {
      tools: host.tools(),
      req_id,
      ...(starting.length > 0 && { starting: starting.length }),
      ...writeOffices(host.behind),
    };
  },
  [GET_CONFIG_EVENT]: (_request, { hosting: { host, inputs } }) =>
    redactConfig(host.configs, inputs.definitions, host.names),
  [GET_DESKTOP_EVENT]: getDesktop,
  [GET_FINDER_EVENT]: getFinder,
  [GET_DPE_EVENT]: getDpe,
  [GET_SKILLS_EVENT]: async ({ req_id }, { skills }) => ({
    skills: await skills.list(),
    req_id,
  }),
  [GET_SKILL_EVENT]: getSkill,
  [GET_BLOB_EVENT]: (request, { blobs }, { maxPayload }) =>
    getBlob(request, blobs, maxPayload),
  [PUT_BLOB_EVENT]: (request, { blobs }) => blobs.uploads.put(request),
  [GET_RESOURCES_EVENT]: getResources,
  [READ_RESOURCE_EVENT]: readResource,
  [WATCH_RESOURCE_EVENT]: watchResource,
  [GET_PROMPTS_EVENT]: getPrompts,
  [GET_PROMPT_EVENT]: getPrompt,
  [GET_RESOURCE_TEMPLATES_EVENT]: getResourceTemplates,
  [COMPLETE_EVENT]: complete,
  [GET_INSTRUCTIONS_EVENT]: getInstructions,
};

/**
 * Answers a request of an Agent.
 *
 * @throws {ProtocolError} sent to the Agent as the answer
 */
export async function answerRequest(
  parts: ToolHostParts,
  event: string,
  payload: unknown,
  origin: RequestOrigin,
): Promise<unknown> {
  try {
    if (!isClientEvent(event)) {
      throw new ProtocolError(
        ErrorCode.BAD_REQUEST,
        `This Computer does not answer ${event}`,
      );
    }
    const answer = await handle(parts, event, payload, origin);
    // A tool call has limited its own result.
    return event === TOOL_CALL_EVENT
      ? answer
      : parts.lists.fit(event, answer, origin.maxPayload);
  } catch (error) {
    if (error instanceof Error) error.message = hideSecrets(error.message);
    throw error;
  }
}

function handle<E extends ClientEvent>(
  parts: ToolHostParts,
  event: E,
  payload: unknown,
  origin: RequestOrigin,
): ReturnType<Handler<E>> {
  const handler: Handler<E> = HANDLERS[event];
  return handler(CLIENT_EVENTS[event].parseRequest(payload), parts, origin);
}

/**
 * Answers each request for a merged list as in the office of a Server with default limits, so that what would be
 * left out is among the problems.
 */
export async function tryLists(parts: ToolHostParts): Promise<void> {
  const origin = { maxPayload: MESSAGE_BYTES, progressed: () => {} };
  for (const event of LIST_EVENTS) {
    const req_id = crypto.randomUUID();
    const request = { agent: "local", req_id, computer: "local" };
    await answerRequest(parts, event, request, origin).catch(logThrown);
  }
}

/** A request without the fields that name caller and target. */
type Unsigned<E extends ClientEvent> = Omit<
  ClientEvents[E]["request"],
  keyof AgentCallData | "computer"
>;

/** Answers a request of this process in the same way; its answer is no message, and never too large. */
export async function answerLocal<E extends ClientEvent>(
  parts: ToolHostParts,
  event: E,
  unsigned: Unsigned<E>,
  { agent = "local", signal, onProgress }: CallHostedToolOptions = {},
): Promise<ClientEvents[E]["answer"]> {
  const call: AgentCallData = { agent, req_id: crypto.randomUUID() };
  const request = { ...unsigned, ...call, computer: agent };
  const answer = answerRequest(parts, event, request, {
    maxPayload: undefined,
    progressed: ({ agent: _, req_id: __, ...progress }) => {
      new Promise((resolve) => resolve(onProgress?.(progress)))
        .catch(logThrown);
    },
  });
  const off = onAbort(signal, () => parts.calls.cancel(call));
  try {
    return CLIENT_EVENTS[event].parseAnswer(await answer);
  } finally {
    off();
  }
}
