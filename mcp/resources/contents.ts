/**
 * What a Computer has to read, as MCP resources.
 *
 * Lists unite its desktop, the resources of its MCP servers, documents and skills; what cannot be
 * listed now is left out. A read goes to whatever the URI stands for, and keeps what MCP allows.
 *
 * @module
 */
import type * as Mcp from "@modelcontextprotocol/server";
import { Buffer } from "node:buffer";
import { type AgentRequestOptions, expandSkillDir } from "../../agent/mod.ts";
import { agentAt, type OfficeAgent } from "../office_agent.ts";
import { readWhole } from "../../agent/queries.ts";
import { requestsOf } from "../../agent/requests.ts";
import { type Place, templateOf, uriOf } from "./uris.ts";
import {
  type A2CSkillRef,
  type DPEDocumentSummary,
  ProtocolError,
  type ReadResourceRet,
  type Resource,
  type ResourceTemplate,
} from "../../protocol/mod.ts";
import { mendContents, mendListed, mendMeta } from "../../protocol/mcp/mend.ts";
import { withTimeout } from "../../shared/async.ts";

/** How long a list waits for one Computer. */
const LIST_TIMEOUT_MS = 10_000;
/** The most documents of a page that a Computer gives. */
const PAGE = 100;
/** The most documents that a list names; a search finds the rest. */
const MAX_DOCUMENTS = 1_000;
/** The most resources that a list names of a Computer: the pages of an MCP server may have no end. */
const MAX_RESOURCES = 10_000;

/** Lists what a Computer has: its desktop, windows, documents and the resources of its MCP servers. */
export async function resourcesOf(
  agent: OfficeAgent,
  computer: string,
): Promise<Mcp.Resource[]> {
  const lists = await Promise.all([
    limited((signal) => serverResources(agent, computer, signal)),
    limited((signal) => documentsOf(agent, computer, signal)),
    skillsOf(agent, computer).then((skills = []) =>
      skills.map((skill) => skillResource(computer, skill))
    ),
  ]);
  return [{
    uri: uriOf({ kind: "desktop", computer }),
    name: `desktop of ${computer}`,
    description: `The windows of ${computer}, most relevant first`,
    mimeType: "text/markdown",
  }, ...lists.flat()];
}

/** Lists what can be listed now: a slow Computer, or an old one that never answers, costs what it has, not the list. */
const limited = <T>(
  list: (signal: AbortSignal) => Promise<T[]>,
): Promise<T[]> => withTimeout(LIST_TIMEOUT_MS, list).catch(() => []);

/** Reads what a URI stands for. */
export async function readPlace(
  agent: OfficeAgent,
  place: Place,
  request: AgentRequestOptions & { signal: AbortSignal },
): Promise<Mcp.ReadResourceResult> {
  const { computer } = place;
  const uri = uriOf(place);
  const markdown = (text: string): Mcp.ReadResourceResult => ({
    contents: [{ uri, mimeType: "text/markdown", text }],
  });
  switch (place.kind) {
    case "desktop": {
      const windows = await agent.getDesktop(computer, request);
      return markdown(windows.join("\n\n---\n\n"));
    }
    case "window": {
      const window = place.uri;
      const [found] = await agent.getDesktop(computer, { window, ...request });
      if (found === undefined) {
        throw new ProtocolError(400, `${computer} shows no window ${window}`);
      }
      return markdown(found);
    }
    case "document": {
      const document = await agent.openDocument(computer, place.uri, request);
      return markdown(await document.toMarkdown(request));
    }
    case "skill":
      return await readSkill(agent, place, request);
    case "resource": {
      const { server, uri } = place;
      return toContents(
        await readAt(agent, { computer, mcp_server: server, uri }, request),
        (own = uri) => uriOf({ ...place, uri: own }),
      );
    }
  }
}

/** Reads a resource of an MCP server, with the metadata of its answer. */
const readAt = async (
  agent: OfficeAgent,
  place: Parameters<typeof readWhole>[1],
  request: AgentRequestOptions,
): Promise<ReadResourceRet> =>
  await readWhole(requestsOf(agentAt(agent, place.computer)), place, request);

/**
 * Reads a resource by the URI of its MCP server, whichever of the Computer's has it.
 *
 * @throws what the last of them answered
 */
export async function readOwnUri(
  agent: OfficeAgent,
  computer: string,
  uri: string,
  request: AgentRequestOptions & { signal: AbortSignal },
): Promise<Mcp.ReadResourceResult> {
  let failure: unknown = new ProtocolError(400, `There is no resource ${uri}`);
  for (const server of await readableServers(agent, computer, request)) {
    try {
      const place = { computer, mcp_server: server, uri };
      const answer = await readAt(agent, place, request);
      if (answer.contents.length > 0) {
        return toContents(answer, (own = uri) => own);
      }
    } catch (error) {
      request.signal.throwIfAborted();
      failure = error;
    }
  }
  throw failure;
}

/** Lists the MCP servers of a Computer that may have something to read. */
export async function readableServers(
  agent: OfficeAgent,
  computer: string,
  request: AgentRequestOptions,
): Promise<string[]> {
  const { servers, other_servers } = await agent.getConfig(computer, request);
  const enabled = Object.entries(servers)
    .filter(([, { disabled }]) => !disabled).map(([key]) => key);
  return [...enabled, ...other_servers ?? []];
}

/** Keeps what MCP allows, and clients check: text, or bytes. */
const toContents = (
  { contents, _meta }: ReadResourceRet,
  shown: (own: string | undefined) => string,
): Mcp.ReadResourceResult => ({
  ...(_meta && mendMeta({ _meta }, () => {})),
  contents: contents.flatMap((each): Mcp.ReadResourceResult["contents"] => {
    const { uri, text, blob, mimeType, _meta } = each;
    const value = typeof text === "string" ? { text } : { blob };
    if (value.text === undefined && typeof blob !== "string") return [];
    const own = {
      uri: shown(typeof uri === "string" ? uri : undefined),
      ...(mimeType !== undefined && { mimeType }),
      ...(_meta !== undefined && { _meta }),
      ...value,
    };
    const mended: object = mendContents(own, () => {});
    return [mended as Mcp.ReadResourceResult["contents"][number]];
  }),
});

/** Lists something of a Computer. */
type List = (
  agent: OfficeAgent,
  computer: string,
  signal: AbortSignal,
) => Promise<Mcp.Resource[]>;

const documentsOf: List = async (agent, computer, signal) => {
  const found: DPEDocumentSummary[] = [];
  let total = Infinity;
  while (found.length < Math.min(total, MAX_DOCUMENTS)) {
    const page = { offset: found.length, limit: PAGE, signal };
    const { documents, total_count } = await agent.getFinder(computer, page);
    if (documents.length === 0) break;
    for (const document of documents) found.push(document);
    total = total_count;
  }
  return found.slice(0, MAX_DOCUMENTS).map(({ uri, title, summary }) => ({
    uri: uriOf({ kind: "document", computer, uri }),
    name: `${title} (${computer})`,
    ...(summary && { description: summary }),
    mimeType: "text/markdown",
  }));
};

const serverResources: List = async (agent, computer, signal) => {
  const servers = await readableServers(agent, computer, { signal });
  let count = 0;
  const lists = servers.map(async (server) => {
    const found: Mcp.Resource[] = [];
    try {
      const all = agent.allResources(computer, server, { signal });
      for await (const each of all) {
        if (++count > MAX_RESOURCES) break;
        found.push(...shownAs(computer, server, each));
      }
    } catch {
      // It offers none, or does not run: part of a normal listing.
    }
    return found;
  });
  return (await Promise.all(lists)).flat();
};

/** Shows a listed resource; documents are listed by the Finder. */
function shownAs(
  computer: string,
  server: string,
  { uri, ...rest }: Resource,
): Mcp.Resource[] {
  if (typeof uri !== "string" || !uri || /^dpe:/i.test(uri)) return [];
  const isWindow = /^window:/i.test(uri);
  const kind = isWindow ? "window" : "resource";
  const { size, ...shown } = shownItem(computer, uri, rest);
  return [{
    uri: uriOf({ kind, computer, server, uri }),
    ...shown,
    // Windows are shown as Markdown.
    ...(isWindow
      ? { mimeType: "text/markdown" }
      : typeof size === "number" && { size }),
  }];
}

/** A template of URIs, and the Computer that has it. */
export interface OfficeTemplate {
  /** The Computer. */
  readonly computer: string;
  /** As its MCP server lists it. */
  readonly template: ResourceTemplate;
}

/** Shows a template of an MCP server. */
export const shownTemplate = (
  { computer, template: { uriTemplate, mcp_server, ...rest } }: OfficeTemplate,
): Mcp.ResourceTemplateType => ({
  uriTemplate: templateOf({ computer, server: mcp_server }, uriTemplate),
  ...shownItem(computer, uriTemplate, rest),
});

/** Shows the fields of a list's item as they came, with the Computer for people; invalid ones are left out. */
function shownItem(
  computer: string,
  uri: string,
  item: Record<string, unknown>,
): Record<string, unknown> & { name: string } {
  const { name, title, ...rest } = mendListed(item, () => {});
  return {
    ...rest,
    name: `${typeof name === "string" && name ? name : uri} (${computer})`,
    ...(typeof title === "string" && { title: `${title} (${computer})` }),
  };
}

/** The most bytes of a file that is one message. */
const MAX_FILE_BYTES = 16 * 2 ** 20;
const ENTRY_FILE = "SKILL.md";

/** Lists the skills of a Computer; `undefined` where they cannot be listed now. */
export const skillsOf = (
  agent: OfficeAgent,
  computer: string,
): Promise<A2CSkillRef[] | undefined> =>
  withTimeout(
    LIST_TIMEOUT_MS,
    (signal) => agent.getSkills(computer, { signal }),
  ).catch(() => undefined);

/** Shows a skill as a resource: its `SKILL.md`, below which its other files are. */
const skillResource = (
  computer: string,
  { name, description }: A2CSkillRef,
): Mcp.Resource => ({
  uri: uriOf({ kind: "skill", computer, name, path: ENTRY_FILE }),
  name: `skill ${name} (${computer})`,
  description,
  mimeType: "text/markdown",
});

/** Reads a file of a skill. */
async function readSkill(
  agent: OfficeAgent,
  place: Place & { readonly kind: "skill" },
  request: AgentRequestOptions,
): Promise<Mcp.ReadResourceResult> {
  const { computer, name, path } = place;
  const file = await agent.getSkill(computer, name, { path, ...request });
  if (file.size > MAX_FILE_BYTES) {
    throw new ProtocolError(
      400,
      `${path} of skill ${name} has ${file.size} bytes, and a resource at most ${MAX_FILE_BYTES}`,
    );
  }
  const contents = { uri: uriOf(place), mimeType: file.mimeType };
  const bytes = Buffer.from(await file.bytes());
  const text = bytes.toString();
  // What is no UTF-8 would come back as other bytes; a script is text whatever its type.
  const isText = !text.includes("\0") && Buffer.from(text).equals(bytes);
  const value = isText ? { text } : { blob: bytes.toString("base64") };
  return { contents: [{ ...contents, ...value }] };
}

/** Gets the instructions of a skill as a prompt, with its folder in them. */
export async function skillPrompt(
  agent: OfficeAgent,
  computer: string,
  skill: A2CSkillRef,
  request: AgentRequestOptions,
): Promise<Mcp.GetPromptResult> {
  const file = await agent.getSkill(computer, skill.name, request);
  const text = expandSkillDir(await file.text(), skill);
  return {
    description: skill.description,
    messages: [{ role: "user", content: { type: "text", text } }],
  };
}
