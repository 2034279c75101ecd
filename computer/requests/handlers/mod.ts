import {
  CLIENT_EVENTS,
  type ClientEvent,
  type ClientEvents,
  ErrorCode,
  GET_CONFIG_EVENT,
  GET_DESKTOP_EVENT,
  GET_DPE_EVENT,
  GET_FINDER_EVENT,
  GET_RESOURCES_EVENT,
  GET_TOOLS_EVENT,
  isClientEvent,
  ProtocolError,
  TOOL_CALL_EVENT,
} from "../../../protocol/mod.ts";
import { limitAnswer } from "../../tools/answer_limits.ts";
import { getConfig } from "./get_config.ts";
import { getDesktop } from "./get_desktop.ts";
import { getDpe } from "./get_dpe.ts";
import { getFinder } from "./get_finder.ts";
import { getResources } from "./get_resources.ts";
import { getTools } from "./get_tools.ts";
import type { Handler, HandlerContext } from "./handler.ts";
import { toolCall } from "./tool_call.ts";

/** Who answers which request of an Agent (spec §3). */
const HANDLERS: { readonly [E in ClientEvent]?: Handler<E> } = {
  [TOOL_CALL_EVENT]: toolCall,
  [GET_TOOLS_EVENT]: getTools,
  [GET_CONFIG_EVENT]: getConfig,
  [GET_RESOURCES_EVENT]: getResources,
  [GET_DESKTOP_EVENT]: getDesktop,
  [GET_DPE_EVENT]: getDpe,
  [GET_FINDER_EVENT]: getFinder,
};

/**
 * Answers a request of an Agent.
 *
 * @throws {ProtocolError} what the Agent is answered instead
 */
export async function answerRequest(
  event: string,
  payload: unknown,
  context: HandlerContext,
): Promise<unknown> {
  if (!isClientEvent(event)) throw unanswered(event);
  return limitAnswer(
    await handle(event, payload, context),
    context.maxPayload,
  );
}

async function handle<E extends ClientEvent>(
  event: E,
  payload: unknown,
  context: HandlerContext,
): Promise<ClientEvents[E]["answer"]> {
  const handler: Handler<E> | undefined = HANDLERS[event];
  if (!handler) throw unanswered(event);
  return await handler(CLIENT_EVENTS[event].parseRequest(payload), context);
}

const unanswered = (event: string): ProtocolError =>
  new ProtocolError(
    ErrorCode.BAD_REQUEST,
    `This Computer does not answer ${event}`,
  );
