/**
 * Requests for tools: those of Computers, and our own.
 *
 * A name is looked up in the catalogue. In search mode clients see `search_tools` and `call_tool`
 * alone, which find and call the others; the tools for desktops and documents stand for resources,
 * for clients that show models none.
 *
 * @module
 */
import { isRecord } from "../../protocol/names.ts";
import type * as Mcp from "@modelcontextprotocol/server";
import type { OfficeAgent } from "../office_agent.ts";
import { type Asked, awayResult, callOffice } from "./call.ts";
import { takeBegun } from "./begun_call.ts";
import { isQuestion, readQuestions } from "./questions.ts";
import { Turn } from "./turn.ts";
import type { Answers, ServerParts } from "./server_parts.ts";
import { cutPage } from "./pages.ts";
import { runningCallOf } from "../tasks/running_call.ts";
import { readPlace } from "../resources/contents.ts";
import { DESKTOP_TOOL_NAMES } from "../tools/names.ts";
import { failure, invalidParams, toFailure } from "../tools/result.ts";
import {
  CALL_TOOL,
  readQuery,
  SEARCH_MODE_TOOLS,
  SEARCH_TOOLS,
  searchTools,
} from "../tools/search.ts";
import { ErrorCode } from "../../protocol/mod.ts";

/** Makes a server answer `tools/list` and `tools/call`. */
export const answerToolRequests: Answers = (server, parts) => {
  server.setRequestHandler(
    "tools/list",
    ({ params }) => listTools(parts, params?.cursor),
  );
  server.setRequestHandler("tools/call", async ({ params }, context) => {
    const turn = new Turn(server, context, parts);
    const questions = readQuestions(server, context, parts.states);
    const begun = takeBegun(context.http?.req);
    const result = begun
      ? await begun.goOn(turn.signal, context.mcpReq.notify, questions)
      : await answerCall(parts, params, {
        request: context.mcpReq,
        turn,
        questions,
        links: parts.view.links,
        running: runningCallOf(context),
      });
    if (isQuestion(result)) return result;
    const schema = outputSchemaOf(parts, params.name);
    return server.projectCallToolResult(result, schema);
  });
};

/** The schema of a tool's structured results, as clients see it. */
export function outputSchemaOf(
  { view }: Pick<ServerParts, "view">,
  name: string,
): Mcp.Tool["outputSchema"] {
  const found = view.catalogue.find(name);
  return found?.kind === "offered" ? found.shown.outputSchema : undefined;
}

/** Lists the tools that clients see, page by page. */
export async function listTools(
  { view, options }: ServerParts,
  cursor: string | undefined,
): Promise<Mcp.ListToolsResult> {
  const own = options.desktopTools ? DESKTOP_TOOLS : [];
  if (options.tools === "search") {
    return { tools: [...SEARCH_MODE_TOOLS, ...own] };
  }
  try {
    await view.complete();
  } catch {
    return { tools: [] }; // the reason is in the instructions, and in the error of a call
  }
  const { tools } = view.catalogue;
  const { items, next } = cutPage(tools, cursor, ({ weight }) => weight);
  const isFirst = cursor === undefined; // clients may read this page alone
  const shown = items.map(({ shown }) => shown);
  return { tools: [...shown, ...(isFirst ? own : [])], ...next };
}

/**
 * Answers a call of any tool that clients see.
 *
 * @throws {ProtocolError} there is no such tool, and never was
 */
export async function answerCall(
  { view, options }: ServerParts,
  { name, arguments: args = {} }: Mcp.CallToolRequest["params"],
  asked: Asked,
): Promise<Mcp.CallToolResult | Mcp.InputRequiredResult> {
  let agent: OfficeAgent;
  try {
    agent = asked.agent ?? await view.ready();
  } catch (error) {
    return toFailure(error);
  }
  const { computer: only } = options;
  if (options.desktopTools && DESKTOP_TOOL_NAMES.has(name)) {
    if (only !== undefined) args.computer = only; // no other one is shown
    return await callDesktopTool(agent, name, args, asked.turn);
  }
  /** Calls a tool of a Computer, if there is or was one of that name. */
  const call = (name: string, args: Record<string, unknown>) => {
    const found = view.catalogue.find(name);
    if (found?.kind === "away") return awayResult(found);
    return found && callOffice(agent, found, args, { ...asked, options });
  };
  const isSearch = options.tools === "search";
  if (isSearch && name === SEARCH_TOOLS) {
    const query = readQuery(args);
    return typeof query === "string"
      ? wrong(query)
      : text(JSON.stringify(await searchTools(view.catalogue.tools, query)));
  }
  if (isSearch && name === CALL_TOOL) {
    const { name: tool, arguments: inner = {} } = args;
    if (typeof tool !== "string") {
      return wrong(
        `name: expected the name of a tool, as ${SEARCH_TOOLS} gives it`,
      );
    }
    if (!isRecord(inner)) return wrong("arguments: expected an object");
    return await call(tool, inner) ?? failure(
      ErrorCode.TOOL_NOT_FOUND,
      `There is no tool ${tool}; find the tools that there are with ${SEARCH_TOOLS}`,
    );
  }
  const result = isSearch ? undefined : await call(name, args);
  if (result) return result;
  throw invalidParams(`Unknown tool: ${name}`);
}

const wrong = (problem: string): Mcp.CallToolResult =>
  failure(ErrorCode.BAD_REQUEST, problem);

const COMPUTER = { type: "string", description: "The Computer" };

const tool = (
  name: string,
  description: string,
  properties: Record<string, object>,
): Mcp.Tool => ({
  name,
  description,
  inputSchema: {
    type: "object",
    properties: { computer: COMPUTER, ...properties },
    required: ["computer", ...name === "read_document" ? ["uri"] : []],
  },
  annotations: { readOnlyHint: true, openWorldHint: false },
});

/** What models see of desktops and documents in clients that show them no resources. */
const DESKTOP_TOOLS: readonly Mcp.Tool[] = [
  tool("desktop", "Show the windows of a Computer, most relevant first.", {}),
  tool("find_documents", "Find documents of a Computer by words.", {
    query: { type: "string", description: "Words; empty finds all" },
  }),
  tool("read_document", "Read a document of a Computer as Markdown.", {
    uri: { type: "string", description: "As find_documents gives it" },
  }),
];

/** Calls one of these tools. */
async function callDesktopTool(
  agent: OfficeAgent,
  name: string,
  { computer, uri, query = "" }: Record<string, unknown>,
  turn: Turn,
): Promise<Mcp.CallToolResult> {
  if (typeof computer !== "string") return wrong("computer: expected its name");
  if (name === "read_document" && typeof uri !== "string") {
    return wrong("uri: expected that of a document");
  }
  try {
    return await turn.run({ computer, tool: name }, async (request) => {
      if (name === "find_documents") {
        const keywords = String(query).split(/\s+/).filter(Boolean);
        const found = await agent.getFinder(computer, {
          ...(keywords.length > 0 && { keywords }),
          ...request,
        });
        return text(JSON.stringify(found.documents));
      }
      const place = name === "desktop"
        ? { kind: "desktop" as const, computer }
        : { kind: "document" as const, computer, uri: String(uri) };
      const read = await readPlace(agent, place, request);
      const [contents] = read.contents;
      return text(contents && "text" in contents ? contents.text : "");
    });
  } catch (error) {
    return toFailure(error);
  }
}

const text = (text: string): Mcp.CallToolResult => ({
  content: [{ type: "text", text }],
});
