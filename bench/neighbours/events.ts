/**
 * The smallest valid payload of every event, and which of its own members a sender can make large.
 *
 * @module
 */
import type {
  ClientEvent,
  ClientEvents,
  ServerEvent,
  ServerEvents,
} from "../../protocol/mod.ts";
import type { Shape } from "./shapes.ts";

/** The names of the members that attack. */
export const AGENT = "attacker";
/** The name of their Computer. */
export const COMPUTER = "pc";

/** The members that the requests of an Agent have in common. */
const COMMON = {
  agent: AGENT,
  req_id: "1",
  computer: COMPUTER,
};

/** A payload of an event. */
export interface Sample<T = object> {
  readonly base: T;
  /** Members that the event defines, by the worst shape that each may have. */
  readonly own?: readonly (readonly [member: string, shape: Shape])[];
}

const REQUESTS: {
  readonly [E in ClientEvent]: Sample<
    Omit<ClientEvents[E]["request"], keyof typeof COMMON>
  >;
} = {
  "client:tool_call": {
    base: { tool_name: "t", params: {}, timeout: 30 },
    own: [["params", "keys"]],
  },
  "client:get_tools": { base: {} },
  "client:get_config": { base: {} },
  "client:get_desktop": { base: {}, own: [["window", "escapes"]] },
  "client:get_resources": {
    base: { mcp_server: "a" },
    own: [["cursor", "escapes"]],
  },
  "client:get_dpe": { base: { uri: "dpe://a/b" }, own: [["uri", "escapes"]] },
  "client:get_finder": { base: {} },
  "client:get_skills": { base: {} },
  "client:get_skill": { base: { name: "a" } },
  "client:get_blob": { base: { blob_handle: "b" } },
  "client:put_blob": {
    base: { chunk_offset: 0, eof: true, blob: "" },
    own: [["blob", "text"]],
  },
  "client:read_resource": {
    base: { mcp_server: "a", uri: "file:///a" },
    own: [["uri", "escapes"]],
  },
  "client:watch_resource": {
    base: { mcp_server: "a", uri: "file:///a", watch: true },
    own: [["uri", "escapes"]],
  },
  "client:get_prompts": { base: {} },
  "client:get_prompt": {
    base: { mcp_server: "a", name: "p" },
    own: [["arguments", "keys"]],
  },
};

/** An answer that a Computer may give; nothing at the Server asks for more. */
const answer = (...own: [member: string, shape: Shape][]): Sample => ({
  base: { req_id: "1" },
  own,
});

const ANSWERS: Readonly<Record<ClientEvent, Sample>> = {
  "client:tool_call": {
    base: { content: [], isError: true },
    own: [["content", "objects"]],
  },
  "client:get_tools": answer(["tools", "objects"], ["tools", "tools"]),
  "client:get_config": {
    base: { servers: { a: {} } },
    own: [["servers", "servers"], ["servers", "name"], ["inputs", "options"]],
  },
  "client:get_desktop": answer(["desktops", "objects"]),
  "client:get_resources": answer(["resources", "objects"]),
  "client:get_dpe": answer(["uri", "escapes"]),
  "client:get_finder": answer(["documents", "objects"]),
  "client:get_skills": answer(["skills", "objects"]),
  "client:get_skill": answer(["body", "text"]),
  "client:get_blob": answer(["blob", "text"]),
  "client:put_blob": answer(["landing_path", "escapes"]),
  "client:read_resource": answer(["contents", "objects"]),
  "client:watch_resource": answer(),
  "client:get_prompts": answer(["prompts", "objects"]),
  "client:get_prompt": answer(["messages", "objects"]),
};

const reporting = {
  base: { computer: COMPUTER },
};

const REPORTS: {
  readonly [E in ServerEvent]: (
    office_id: string,
  ) => Sample<ServerEvents[E]["request"]>;
} = {
  "server:join_office": (office_id) => ({
    base: { role: "agent", name: AGENT, office_id },
  }),
  "server:leave_office": (office_id) => ({ base: { office_id } }),
  "server:list_room": (office_id) => ({
    base: { agent: AGENT, req_id: "1", office_id },
  }),
  "server:tool_call_cancel": () => ({ base: { agent: AGENT, req_id: "1" } }),
  "server:tool_call_progress": () => ({
    base: { ...COMMON, progress: 1 },
  }),
  "server:update_config": () => reporting,
  "server:update_tool_list": () => reporting,
  "server:update_desktop": () => reporting,
  "server:update_finder": () => reporting,
  "server:update_resources": () => ({
    base: { computer: COMPUTER, mcp_server: "a" },
    own: [["uri", "escapes"]],
  }),
  "server:update_skills": () => reporting,
};

/** Returns the request of an event that the Server routes. */
export function requestOf(event: ClientEvent): Sample {
  const { base, own = [] } = REQUESTS[event];
  return { base: { ...base, ...COMMON }, own };
}

/** Returns the answer to it. */
export const answerOf = (event: ClientEvent): Sample => ANSWERS[event];

/** Returns the request of an event that the Server answers itself. */
export const reportOf = (event: ServerEvent, office: string): Sample =>
  REPORTS[event](office);

/** An answer that is an error, which the Server reads whole. */
export const FAILURE: Sample = {
  base: { code: 404, message: "as sent", mcp_server: "a" },
  own: [["details", "details"]],
};
