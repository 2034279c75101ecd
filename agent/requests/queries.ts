import { checkNumbers } from "../../shared/checks.ts";
import {
  type A2CSkillRef,
  type Desktop,
  GET_CONFIG_EVENT,
  GET_DESKTOP_EVENT,
  GET_DPE_EVENT,
  GET_FINDER_EVENT,
  GET_RESOURCES_EVENT,
  GET_SKILLS_EVENT,
  GET_TOOLS_EVENT,
  type GetComputerConfigRet,
  type GetDPERet,
  type GetFinderRet,
  type GetResourcesRet,
  inMcpSpelling,
  LIST_ROOM_EVENT,
  type Resource,
  SERVER_EVENTS,
  type SessionInfo,
  type SMCPTool,
} from "../../protocol/mod.ts";
import type {
  AgentRequestOptions,
  GetDesktopOptions,
  GetDpeOptions,
  GetFinderOptions,
  GetResourcesOptions,
} from "./options.ts";
import {
  ANSWER_GRACE_MS,
  REQUEST_TIMEOUT_MS,
  type Requests,
} from "./requests.ts";
import { wireTimeout } from "./wire_timeout.ts";

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
