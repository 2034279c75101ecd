import {
  type Desktop,
  GET_DESKTOP_EVENT,
  GET_DPE_EVENT,
  GET_FINDER_EVENT,
  GET_RESOURCES_EVENT,
  GET_TOOLS_EVENT,
  type GetDPERet,
  type GetFinderRet,
  type GetResourcesRet,
  LIST_ROOM_EVENT,
  parseListRoomRet,
  type Resource,
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
import { GRACE, REQUEST_TIMEOUT, type Requests } from "./requests.ts";

/** No office, in a form that the Server does not take for a mistake: it answers 4103. */
const NOWHERE = "-";

/** Asks for the tools (spec §4). */
export async function askTools(
  requests: Requests,
  computer: string,
  { signal }: AgentRequestOptions,
): Promise<SMCPTool[]> {
  return (await requests.ask(GET_TOOLS_EVENT, { computer }, signal)).tools;
}

/** Asks for the desktop (spec §8.1). */
export async function askDesktop(
  requests: Requests,
  computer: string,
  { signal, size, window }: GetDesktopOptions,
): Promise<Desktop[]> {
  const wanted = {
    computer,
    ...(size !== undefined && { desktop_size: size }),
    ...(window !== undefined && { window }),
  };
  return (await requests.ask(GET_DESKTOP_EVENT, wanted, signal)).desktops;
}

/** Asks for one page of resources (spec §8.2). */
export function askResources(
  requests: Requests,
  computer: string,
  mcpServer: string,
  { signal, cursor }: GetResourcesOptions,
): Promise<GetResourcesRet> {
  return requests.ask(GET_RESOURCES_EVENT, {
    computer,
    mcp_server: mcpServer,
    ...(cursor !== undefined && { cursor }),
  }, signal);
}

/** Asks for page after page of resources, as long as somebody wants more (spec §8.2). */
export async function* askAllResources(
  requests: Requests,
  computer: string,
  mcpServer: string,
  options: AgentRequestOptions,
): AsyncGenerator<Resource, void, void> {
  const seen = new Set<string>(); // a server whose cursors run in a circle ends here
  let cursor: string | undefined;
  do {
    const page = await askResources(requests, computer, mcpServer, {
      ...options,
      ...(cursor !== undefined && { cursor }),
    });
    yield* page.resources;
    if (cursor !== undefined) seen.add(cursor);
    cursor = page.next_cursor;
  } while (cursor !== undefined && !seen.has(cursor));
}

/** Asks where a document can be fetched (spec §8.3). */
export function askDpe(
  requests: Requests,
  computer: string,
  uri: string,
  { signal, timeout }: GetDpeOptions,
): Promise<GetDPERet> {
  return requests.request(
    GET_DPE_EVENT,
    { computer, uri, ...(timeout !== undefined && { timeout }) },
    (timeout ?? REQUEST_TIMEOUT) + GRACE,
    signal,
  );
}

/** Searches documents (spec §8.4). */
export function askFinder(
  requests: Requests,
  computer: string,
  { signal, keywords, fileType, offset, limit }: GetFinderOptions,
): Promise<GetFinderRet> {
  return requests.ask(GET_FINDER_EVENT, {
    computer,
    ...(keywords !== undefined && { keywords }),
    ...(fileType !== undefined && { file_type: fileType }),
    ...(offset !== undefined && { offset }),
    ...(limit !== undefined && { limit }),
  }, signal);
}

/**
 * Asks the Server who is in the office (spec §4).
 *
 * @param office that of the Agent, if it is in one
 */
export async function askMembers(
  requests: Requests,
  office: string | undefined,
  { signal }: AgentRequestOptions,
): Promise<SessionInfo[]> {
  const answer = await requests.send(
    LIST_ROOM_EVENT,
    { office_id: office ?? NOWHERE },
    REQUEST_TIMEOUT,
    signal,
  );
  return parseListRoomRet(answer).sessions;
}
