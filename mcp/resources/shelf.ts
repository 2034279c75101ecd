/**
 * What a Computer has to read, as MCP resources.
 *
 * Lists unite its desktop, the resources of its MCP servers, documents and skills; what cannot be
 * listed now is left out. A read goes to whatever the URI stands for, and keeps what MCP allows.
 *
 * @module
 */
import type {
  GetPromptResult,
  ReadResourceResult,
  Resource as McpResource,
} from "@modelcontextprotocol/server";
import { Buffer } from "node:buffer";
import {
  type AgentRequestOptions,
  expandSkillDir,
  type SmcpAgent,
} from "../../agent/mod.ts";
import { type Place, uriOf } from "./uris.ts";
import {
  type A2CSkillRef,
  type DPEDocumentSummary,
  ProtocolError,
  type Resource,
  type ResourceContents,
} from "../../protocol/mod.ts";
import { withTimeout } from "../../shared/async.ts";

/** How long a list waits for one Computer; a slow one, or an old one that never answers, costs what it has, not the list. */
const LIST_TIMEOUT_MS = 10_000;
/** The most documents of a page that a Computer gives. */
const PAGE = 100;
/** The most documents that a list names; a search finds the rest. */
const MAX_DOCUMENTS = 1_000;

/** Lists what a Computer has: its desktop, windows, documents and the resources of its MCP servers. */
export async function resourcesOf(
  agent: SmcpAgent,
  computer: string,
): Promise<McpResource[]> {
  const limited = <T>(work: (signal: AbortSignal) => Promise<T[]>) =>
    withTimeout(LIST_TIMEOUT_MS, work)
      .catch((): T[] => []); // what cannot be listed now is not there now
  const [documents, others, skills] = await Promise.all([
    limited((signal) => documentsOf(agent, computer, signal)),
    limited((signal) => serverResources(agent, computer, signal)),
    skillsOf(agent, computer),
  ]);
  return [
    {
      uri: uriOf({ kind: "desktop", computer }),
      name: `desktop of ${computer}`,
      description: `The windows of ${computer}, most relevant first`,
      mimeType: "text/markdown",
    },
    ...others,
    ...documents,
    ...skills.map((skill) => skillResource(computer, skill)),
  ];
}

/** Reads what a URI stands for. */
export async function readPlace(
  agent: SmcpAgent,
  place: Place,
  request: AgentRequestOptions & { signal: AbortSignal },
): Promise<ReadResourceResult> {
  const { computer } = place;
  const uri = uriOf(place);
  const markdown = (text: string): ReadResourceResult => ({
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
      const { server } = place;
      const contents = await agent.readResource(
        computer,
        server,
        place.uri,
        request,
      );
      return toContents(
        contents,
        (own = place.uri) => uriOf({ ...place, uri: own }),
      );
    }
  }
}

/**
 * Reads a resource by the URI of its MCP server, whichever of the Computer's has it.
 *
 * @throws what the last of them answered
 */
export async function readOwnUri(
  agent: SmcpAgent,
  computer: string,
  uri: string,
  request: AgentRequestOptions & { signal: AbortSignal },
): Promise<ReadResourceResult> {
  let failure: unknown = new ProtocolError(400, `There is no resource ${uri}`);
  for (const server of await readableServers(agent, computer, request)) {
    try {
      const contents = await agent.readResource(computer, server, uri, request);
      if (contents.length > 0) return toContents(contents, (own = uri) => own);
    } catch (error) {
      request.signal.throwIfAborted();
      failure = error;
    }
  }
  throw failure;
}

/** Lists the MCP servers of a Computer that may have something to read. */
export async function readableServers(
  agent: SmcpAgent,
  computer: string,
  request: AgentRequestOptions,
): Promise<string[]> {
  const { servers } = await agent.getConfig(computer, request);
  return Object.entries(servers).filter(([, { disabled }]) => !disabled)
    .map(([key]) => key);
}

/** Keeps what MCP allows, and clients check: text, or bytes. */
const toContents = (
  contents: readonly ResourceContents[],
  shown: (own: string | undefined) => string,
): ReadResourceResult => ({
  contents: contents.flatMap(({ uri, text, blob, mimeType, _meta }) => {
    const value = typeof text === "string"
      ? { text }
      : typeof blob === "string"
      ? { blob }
      : undefined;
    if (value === undefined) return [];
    return [{
      uri: shown(typeof uri === "string" ? uri : undefined),
      ...(typeof mimeType === "string" && { mimeType }),
      ...(_meta && { _meta }),
      ...value,
    }];
  }),
});

async function documentsOf(
  agent: SmcpAgent,
  computer: string,
  signal: AbortSignal,
): Promise<McpResource[]> {
  const found: DPEDocumentSummary[] = [];
  let total = Infinity;
  while (found.length < Math.min(total, MAX_DOCUMENTS)) {
    const { documents, total_count } = await agent.getFinder(computer, {
      offset: found.length,
      limit: PAGE,
      signal,
    });
    if (documents.length === 0) break;
    found.push(...documents);
    total = total_count;
  }
  return found.map(({ uri, title, summary }) => ({
    uri: uriOf({ kind: "document", computer, uri }),
    name: `${title} (${computer})`,
    ...(summary && { description: summary }),
    mimeType: "text/markdown",
  }));
}

async function serverResources(
  agent: SmcpAgent,
  computer: string,
  signal: AbortSignal,
): Promise<McpResource[]> {
  const servers = await readableServers(agent, computer, { signal });
  const lists = servers
    .map(async (server) => {
      const found: McpResource[] = [];
      try {
        const all = agent.allResources(computer, server, { signal });
        for await (const resource of all) {
          const shown = shownAs(computer, server, resource);
          if (shown) found.push(shown);
        }
      } catch {
        // It offers none, or does not run: part of a normal listing.
      }
      return found;
    });
  return (await Promise.all(lists)).flat();
}

/** Shows a listed resource; documents are listed by the Finder. */
function shownAs(
  computer: string,
  server: string,
  { uri, name, title, description, mimeType, size }: Resource,
): McpResource | undefined {
  if (typeof uri !== "string" || uri === "" || /^dpe:/i.test(uri)) {
    return undefined;
  }
  const isWindow = /^window:/i.test(uri);
  return {
    uri: uriOf(
      isWindow
        ? { kind: "window", computer, uri }
        : { kind: "resource", computer, server, uri },
    ),
    name: `${typeof name === "string" && name ? name : uri} (${computer})`,
    ...(typeof title === "string" && { title: `${title} (${computer})` }),
    ...(typeof description === "string" && { description }),
    ...(isWindow
      ? { mimeType: "text/markdown" }
      : typeof mimeType === "string" && { mimeType }),
    ...(!isWindow && typeof size === "number" && { size }),
  };
}

/** The most bytes of a file that is one message. */
const MAX_FILE_BYTES = 16 * 2 ** 20;
const ENTRY_FILE = "SKILL.md";

/** Lists the skills of a Computer; none where they cannot be listed now. */
export const skillsOf = (
  agent: SmcpAgent,
  computer: string,
): Promise<A2CSkillRef[]> =>
  withTimeout(
    LIST_TIMEOUT_MS,
    (signal) => agent.getSkills(computer, { signal }),
  ).catch(() => []);

/** Shows a skill as a resource: its `SKILL.md`, below which its other files are. */
const skillResource = (
  computer: string,
  { name, description }: A2CSkillRef,
): McpResource => ({
  uri: uriOf({ kind: "skill", computer, name, path: ENTRY_FILE }),
  name: `skill ${name} (${computer})`,
  description,
  mimeType: "text/markdown",
});

/** Reads a file of a skill. */
export async function readSkill(
  agent: SmcpAgent,
  place: Place & { readonly kind: "skill" },
  request: AgentRequestOptions,
): Promise<ReadResourceResult> {
  const { computer, name, path } = place;
  const file = await agent.getSkill(computer, name, { path, ...request });
  if (file.size > MAX_FILE_BYTES) {
    throw new ProtocolError(
      400,
      `${path} of skill ${name} has ${file.size} bytes, and a resource at most ${MAX_FILE_BYTES}`,
    );
  }
  const { mimeType } = file;
  const contents = { uri: uriOf(place), mimeType };
  const bytes = Buffer.from(await file.bytes());
  const text = bytes.toString();
  // What is no UTF-8 would come back as other bytes; a script is text whatever its type.
  const isText = !text.includes("\0") && Buffer.from(text).equals(bytes);
  return {
    contents: [
      isText
        ? { ...contents, text }
        : { ...contents, blob: bytes.toString("base64") },
    ],
  };
}

/** Gets the instructions of a skill as a prompt, with its folder in them. */
export async function skillPrompt(
  agent: SmcpAgent,
  computer: string,
  skill: A2CSkillRef,
  request: AgentRequestOptions,
): Promise<GetPromptResult> {
  const file = await agent.getSkill(computer, skill.name, request);
  const text = expandSkillDir(await file.text(), skill);
  return {
    description: skill.description,
    messages: [{ role: "user", content: { type: "text", text } }],
  };
}
