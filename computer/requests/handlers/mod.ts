import {
  CLIENT_EVENTS,
  type ClientEvent,
  type ClientEvents,
  ErrorCode,
  GET_BLOB_EVENT,
  GET_CONFIG_EVENT,
  GET_DESKTOP_EVENT,
  GET_DPE_EVENT,
  GET_FINDER_EVENT,
  GET_PROMPT_EVENT,
  GET_PROMPTS_EVENT,
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
} from "../../../protocol/mod.ts";
import { limitAnswer } from "../../tools/answer_limits.ts";
import { callOnce, type ToolCallNeeds } from "../../tools/call_once.ts";
import {
  getBlob,
  type GetBlobNeeds,
  putBlob,
  type PutBlobNeeds,
} from "./blobs.ts";
import { getConfig, type GetConfigNeeds } from "./get_config.ts";
import { getDesktop } from "./get_desktop.ts";
import { getDpe, type GetDpeNeeds } from "./get_dpe.ts";
import { getFinder } from "./get_finder.ts";
import type { AskedServerNeeds } from "./asked_server.ts";
import { getPrompt, type GetPromptNeeds } from "./get_prompt.ts";
import { getPrompts, type GetPromptsNeeds } from "./get_prompts.ts";
import { getResources } from "./get_resources.ts";
import { getTools, type GetToolsNeeds } from "./get_tools.ts";
import type { Handler } from "./handler.ts";
import { readResource } from "./read_resource.ts";
import { getSkill } from "./get_skill.ts";
import { getSkills, type SkillNeeds } from "./get_skills.ts";
import { watchResource, type WatchResourceNeeds } from "./watch_resource.ts";
import type { ResourceNeeds } from "./resource_needs.ts";

/** What all handlers together need. */
export type HandlerNeeds =
  & ToolCallNeeds
  & GetBlobNeeds
  & PutBlobNeeds
  & GetConfigNeeds
  & GetDpeNeeds
  & AskedServerNeeds
  & GetPromptNeeds
  & GetPromptsNeeds
  & GetToolsNeeds
  & WatchResourceNeeds
  & ResourceNeeds
  & SkillNeeds;

/** The handler of each request (spec §3); a tool call checks the size of its own result. */
const HANDLERS: { readonly [E in ClientEvent]: Handler<E, HandlerNeeds> } = {
  [TOOL_CALL_EVENT]: callOnce,
  [GET_TOOLS_EVENT]: limited(getTools),
  [GET_CONFIG_EVENT]: limited(getConfig),
  [GET_RESOURCES_EVENT]: limited(getResources),
  [GET_DESKTOP_EVENT]: limited(getDesktop),
  [GET_DPE_EVENT]: limited(getDpe),
  [GET_FINDER_EVENT]: limited(getFinder),
  [GET_SKILLS_EVENT]: limited(getSkills),
  [GET_SKILL_EVENT]: limited(getSkill),
  [GET_BLOB_EVENT]: limited(getBlob),
  [PUT_BLOB_EVENT]: limited(putBlob),
  [READ_RESOURCE_EVENT]: limited(readResource),
  [WATCH_RESOURCE_EVENT]: limited(watchResource),
  [GET_PROMPTS_EVENT]: limited(getPrompts),
  [GET_PROMPT_EVENT]: limited(getPrompt),
};

/**
 * Answers a request of an Agent.
 *
 * @throws {ProtocolError} sent to the Agent as the answer
 */
export async function answerRequest(
  event: string,
  payload: unknown,
  needs: HandlerNeeds,
): Promise<unknown> {
  if (!isClientEvent(event)) throw unanswered(event);
  return await handle(event, payload, needs);
}

async function handle<E extends ClientEvent>(
  event: E,
  payload: unknown,
  needs: HandlerNeeds,
): Promise<ClientEvents[E]["answer"]> {
  const handler: Handler<E, HandlerNeeds> = HANDLERS[event];
  return await handler(CLIENT_EVENTS[event].parseRequest(payload), needs);
}

/** Rejects answers that exceed the Server's limit. */
function limited<E extends ClientEvent, Needs>(
  handler: Handler<E, Needs>,
): Handler<E, Needs & Pick<HandlerNeeds, "maxPayload">> {
  return async (request, needs) =>
    limitAnswer(await handler(request, needs), needs.maxPayload);
}

const unanswered = (event: string): ProtocolError =>
  new ProtocolError(
    ErrorCode.BAD_REQUEST,
    `This Computer does not answer ${event}`,
  );
