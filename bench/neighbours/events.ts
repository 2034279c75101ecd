/**
 * A small valid payload of every event, and which of its own members a sender can make large.
 *
 * @module
 */
import type { ClientEvent, ServerEvent } from "../../protocol/mod.ts";
import { ANY_REQUEST } from "../../tests/support/any_request.ts";
import type { Shape } from "./shapes.ts";

/** The name of the Agent that attacks, and of its Computer. */
export const AGENT = ANY_REQUEST.agent;
export const COMPUTER = ANY_REQUEST.computer;

/** A payload of an event. */
export interface Sample {
  readonly base: Readonly<Record<string, unknown>>;
  /** Members that the event defines, by the worst shape that each may have. */
  readonly own: readonly Own[];
}

type Own = readonly [member: string, shape: Shape];

const OWN_OF_REQUESTS: Readonly<
  Partial<Record<ClientEvent | ServerEvent, Own>>
> = {
  "client:tool_call": ["params", "keys"],
  "client:get_desktop": ["window", "escapes"],
  "client:get_resources": ["cursor", "escapes"],
  "client:get_dpe": ["uri", "escapes"],
  "client:put_blob": ["blob", "text"],
  "client:read_resource": ["uri", "escapes"],
  "client:watch_resource": ["uri", "escapes"],
  "client:get_prompt": ["arguments", "keys"],
  "client:complete": ["context", "keys"],
  "server:update_resources": ["uri", "escapes"],
};

/** Returns the request of an event. */
export function requestOf(
  event: ClientEvent | ServerEvent,
  office_id = "",
): Sample {
  const own = OWN_OF_REQUESTS[event];
  const base = { ...ANY_REQUEST, role: "agent", name: AGENT, office_id };
  return { base, own: own === undefined ? [] : [own] };
}

const OWN_OF_ANSWERS: Readonly<Record<ClientEvent, readonly Own[]>> = {
  "client:tool_call": [["content", "objects"]],
  "client:get_tools": [["tools", "objects"], ["tools", "tools"]],
  "client:get_config": [
    ["servers", "servers"],
    ["servers", "name"],
    ["inputs", "options"],
  ],
  "client:get_desktop": [["desktops", "objects"]],
  "client:get_resources": [["resources", "objects"]],
  "client:get_dpe": [["uri", "escapes"]],
  "client:get_finder": [["documents", "objects"]],
  "client:get_skills": [["skills", "objects"]],
  "client:get_skill": [["body", "text"]],
  "client:get_blob": [["blob", "text"]],
  "client:put_blob": [["landing_path", "escapes"]],
  "client:read_resource": [["contents", "objects"]],
  "client:watch_resource": [],
  "client:get_prompts": [["prompts", "objects"]],
  "client:get_prompt": [["messages", "objects"]],
  "client:get_resource_templates": [["resource_templates", "objects"]],
  "client:complete": [["completion", "objects"]],
  "client:get_instructions": [["instructions", "objects"]],
};

/** Returns the answer to it; nothing at the Server requires more. */
export const answerOf = (event: ClientEvent): Sample => ({
  base: { req_id: "1", content: [], isError: true, servers: { a: {} } },
  own: OWN_OF_ANSWERS[event],
});

/** An answer that is an error, which the Server reads whole. */
export const FAILURE: Sample = {
  base: { code: 404, message: "as sent", mcp_server: "a" },
  own: [["details", "details"]],
};
