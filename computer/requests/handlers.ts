import { redactConfig } from "../config/redact.ts";
import type { McpHost } from "../host/host.ts";
import {
  getBlob,
  type GetBlobNeeds,
  getSkill,
  getSkills,
  putBlob,
  type PutBlobNeeds,
  type SkillNeeds,
} from "./contents.ts";
import {
  type AskedServerNeeds,
  getPrompt,
  type GetPromptNeeds,
  getPrompts,
  type GetPromptsNeeds,
  getResources,
  type Handler,
  readResource,
  watchResource,
  type WatchResourceNeeds,
} from "./mcp_requests.ts";
import { organizeDesktop, readWindows } from "../resources/desktop.ts";
import { type DpeResolver, resolveDpe } from "../resources/dpe.ts";
import { listDocuments, organizeFinder } from "../resources/finder.ts";
import type { ResourceWatch } from "../resources/resource_watch.ts";
import {
  participants,
  readContents,
  type RecentServers,
} from "../resources/servers.ts";
import { callOnce, type ToolCallNeeds } from "../tools/call.ts";
import { requestFailure } from "../tools/call_failure.ts";
import { limitAnswer } from "../tools/results.ts";
import type { WarnOnce } from "../util/log.ts";
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
  type MCPServerInput,
  ProtocolError,
  PUT_BLOB_EVENT,
  READ_RESOURCE_EVENT,
  type ResourceContents,
  TOOL_CALL_EVENT,
  WATCH_RESOURCE_EVENT,
} from "../../protocol/mod.ts";

/** What {@linkcode getTools} needs. */
export interface GetToolsNeeds {
  /** The MCP servers. */
  readonly host: Pick<McpHost, "tools">;
}

/** Lists the tools that can be called at the moment (spec §4, §7). */
export const getTools: Handler<typeof GET_TOOLS_EVENT, GetToolsNeeds> = (
  { req_id },
  { host },
) => ({ tools: host.tools(), req_id });

/** What {@linkcode getConfig} needs. */
export interface GetConfigNeeds {
  /** The MCP servers. */
  readonly host: Pick<McpHost, "configs" | "names">;
  /** The definitions of the placeholders. */
  readonly inputs: readonly MCPServerInput[];
}

/** Returns the configuration without secrets (spec §7). */
export const getConfig: Handler<typeof GET_CONFIG_EVENT, GetConfigNeeds> = (
  _request,
  { host, inputs },
) => redactConfig(host.configs, inputs, host.names);

/** What Desktop and Finder need. */
export interface ResourceNeeds {
  /** The MCP servers. */
  readonly host: McpHost;
  /** Receives the resources that each server lists. */
  readonly watch: Pick<ResourceWatch, "saw">;
  /** The MCP servers whose tools were called. */
  readonly recent: Pick<RecentServers, "history">;
  /** Logs warnings about invalid resources. */
  readonly warnOnce: WarnOnce;
}

/** Returns the windows of all MCP servers (spec §8.1). */
export const getDesktop: Handler<typeof GET_DESKTOP_EVENT, ResourceNeeds> =
  async (
    { desktop_size, window, req_id },
    { host, watch, recent, warnOnce },
  ) => {
    if (desktop_size !== undefined && desktop_size <= 0) {
      return { desktops: [], req_id };
    }
    const reading = await readWindows(
      participants(host),
      window,
      ({ bundleId }, resources) => watch.saw(bundleId, resources),
    );
    const { desktops, warnings } = organizeDesktop(
      reading.windows,
      desktop_size,
      recent.history.map((bundleId) => host.names.addressOf(bundleId)),
    );
    warnOnce.warn([...reading.warnings, ...warnings]);
    return { desktops, req_id };
  };

/** Returns a page of the catalogue of documents (spec §8.4). */
export const getFinder: Handler<typeof GET_FINDER_EVENT, ResourceNeeds> =
  async (
    request,
    { host, watch, recent, warnOnce },
  ) => {
    const listing = await listDocuments(
      participants(host),
      ({ bundleId }, resources) => watch.saw(bundleId, resources),
    );
    const { documents, total_count, warnings } = organizeFinder(
      listing.documents,
      request,
      recent.history.map((bundleId) => host.names.addressOf(bundleId)),
    );
    warnOnce.warn([...listing.warnings, ...warnings]);
    return { documents, total_count, req_id: request.req_id };
  };

/** What {@linkcode getDpe} needs to find, read and publish a document. */
export interface GetDpeNeeds {
  /** The MCP servers. */
  readonly host: McpHost;
  /** Finds the server of a document. */
  readonly watch: Pick<ResourceWatch, "route" | "originalOf">;
  /** Publishes documents, if the user registered one. */
  readonly resolver: DpeResolver | undefined;
}

/** Turns a `dpe://` URI into one that the Agent can fetch (spec §8.3). */
export const getDpe: Handler<typeof GET_DPE_EVENT, GetDpeNeeds> = (
  request,
  { host, watch, resolver },
) =>
  resolveDpe(request, {
    resolver,
    route: (uriHost) => watch.route(uriHost),
    nameOf: (server) => host.server(server)?.config.name ?? server,
    read: (server, uri, signal) =>
      read(host, server, watch.originalOf(server, uri), signal),
  });

async function read(
  host: McpHost,
  bundleId: string,
  uri: string,
  signal: AbortSignal,
): Promise<ResourceContents[]> {
  const server = host.server(bundleId);
  const name = server?.config.name ?? bundleId;
  if (!server?.connection) {
    throw new Error(
      `MCP server "${name}" is ${server?.status.state ?? "gone"}`,
    );
  }
  try {
    const contents = await server.connection.readResource(uri, { signal });
    return contents.map(readContents);
  } catch (error) {
    throw new Error(requestFailure(name, error).message, { cause: error });
  }
}

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
