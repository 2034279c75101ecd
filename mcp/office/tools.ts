import {
  type CallToolRequest,
  type CallToolResult as McpResult,
  type InputRequiredResult,
  ProtocolError,
  ProtocolErrorCode,
  type Server,
  type ServerContext,
  type Tool,
} from "@modelcontextprotocol/server";
import type { SmcpAgent } from "../../agent/mod.ts";
import { awayResult, callOffice } from "./call.ts";
import { type CallQuestions, isQuestion, questionsOf } from "./questions.ts";
import {
  type Caller,
  callerOf,
  type Cancelled,
  inTurn,
  signalOf,
  type TurnParts,
} from "./turn.ts";
import type { ServerParts } from "./server.ts";
import { readPlace } from "../resources/shelf.ts";
import { failure, failureOf, isObject } from "../tools/result.ts";
import {
  CALL_TOOL,
  readQuery,
  SEARCH_MODE_TOOLS,
  SEARCH_TOOLS,
  searchTools,
} from "../tools/search.ts";
import { ErrorCode } from "../../protocol/mod.ts";

/** What tools are called with. */
interface CallRequest {
  readonly name: string;
  readonly args: Record<string, unknown>;
}

/** One request of a client, and whose it is. */
interface Asked {
  readonly request: ServerContext["mcpReq"];
  readonly signal: AbortSignal;
  readonly caller: Caller;
  readonly questions: CallQuestions | undefined;
}

/**
 * Makes a server answer `tools/list` and `tools/call`.
 *
 * @param cancelled cancels all of its calls
 */
export function answerToolRequests(
  server: Server,
  parts: ServerParts,
  cancelled: Cancelled,
): void {
  server.setRequestHandler(
    "tools/list",
    async () => ({ tools: await listTools(parts) }),
  );
  server.setRequestHandler("tools/call", async ({ params }, context) => {
    const { mcpReq: request } = context;
    const signal = signalOf(request, cancelled);
    const caller = callerOf(server, context);
    const questions = questionsOf(server, context, parts.states);
    const asked = { request, signal, caller, questions };
    const result = await answerCall(parts, params, asked);
    if (isQuestion(result)) return result;
    const found = parts.view.catalogue.find(params.name);
    return server.projectCallToolResult(
      result,
      found?.kind === "offered" ? found.shown.outputSchema : undefined,
    );
  });
}

async function listTools({ view, options }: ServerParts): Promise<Tool[]> {
  const own = options.desktopTools ? DESKTOP_TOOLS : [];
  if (options.tools === "search") return [...SEARCH_MODE_TOOLS, ...own];
  try {
    await view.ready();
  } catch {
    return []; // the instructions say why, and so does a call
  }
  return [...view.catalogue.tools.map(({ shown }) => shown), ...own];
}

/** @throws {ProtocolError} there is no such tool, and never was */
async function answerCall(
  parts: ServerParts,
  { name, arguments: args = {} }: CallToolRequest["params"],
  asked: Asked,
): Promise<McpResult | InputRequiredResult> {
  let agent: SmcpAgent;
  try {
    agent = await parts.view.ready();
  } catch (error) {
    return failureOf(error);
  }
  if (parts.options.desktopTools && !parts.view.catalogue.find(name)) {
    const { computer: only } = parts.options;
    if (only !== undefined) args.computer = only; // no other one is shown
    const turn = { ...parts, ...asked };
    const result = await callDesktopTool(agent, name, args, turn);
    if (result) return result;
  }
  const call = (call: CallRequest) => callTool(parts, agent, call, asked);
  const unknown = (name: string) =>
    new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      `Unknown tool: ${name}`,
    );
  if (parts.options.tools === "all") {
    const result = call({ name, args });
    if (result === undefined) throw unknown(name);
    return await result;
  }
  if (name === SEARCH_TOOLS) return search(parts, args);
  if (name !== CALL_TOOL) throw unknown(name);
  const found = readCall(args);
  if (typeof found === "string") return failure(ErrorCode.BAD_REQUEST, found);
  return await call(found) ?? failure(
    ErrorCode.TOOL_NOT_FOUND,
    `There is no tool ${found.name}; find the tools that there are with ${SEARCH_TOOLS}`,
  );
}

/** Calls a tool of a Computer, if there is or was one of that name. */
function callTool(
  { view, queue, options }: ServerParts,
  agent: SmcpAgent,
  { name, args }: CallRequest,
  asked: Asked,
): Promise<McpResult | InputRequiredResult> | McpResult | undefined {
  const found = view.catalogue.find(name);
  if (found === undefined) return undefined;
  if (found.kind === "away") return awayResult(found);
  return callOffice(agent, found, args, { queue, options, ...asked });
}

function search(
  { view }: ServerParts,
  args: Record<string, unknown>,
): McpResult {
  const query = readQuery(args);
  if (typeof query === "string") return failure(ErrorCode.BAD_REQUEST, query);
  const text = JSON.stringify(searchTools(view.catalogue.tools, query));
  return { content: [{ type: "text", text }] };
}

/** @returns a sentence that says what is wrong with the arguments of `call_tool` */
function readCall(args: Record<string, unknown>): CallRequest | string {
  const { name, arguments: inner = {} } = args;
  if (typeof name !== "string") {
    return `name: expected the name of a tool, as ${SEARCH_TOOLS} gives it`;
  }
  if (!isObject(inner)) return "arguments: expected an object";
  return { name, args: inner };
}

const COMPUTER = { type: "string", description: "The Computer" };

const tool = (
  name: string,
  description: string,
  properties: Record<string, object>,
): Tool => ({
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
export const DESKTOP_TOOLS: readonly Tool[] = [
  tool("desktop", "Show the windows of a Computer, most relevant first.", {}),
  tool("find_documents", "Find documents of a Computer by words.", {
    query: { type: "string", description: "Words; empty finds all" },
  }),
  tool("read_document", "Read a document of a Computer as Markdown.", {
    uri: { type: "string", description: "As find_documents gives it" },
  }),
];

/** Calls one of these tools; undefined for the name of another. */
export async function callDesktopTool(
  agent: SmcpAgent,
  name: string,
  { computer, uri, query = "" }: Record<string, unknown>,
  turn: TurnParts,
): Promise<McpResult | undefined> {
  if (!DESKTOP_TOOLS.some((each) => each.name === name)) return undefined;
  if (typeof computer !== "string") {
    return failure(ErrorCode.BAD_REQUEST, "computer: expected its name");
  }
  if (name === "read_document" && typeof uri !== "string") {
    return failure(ErrorCode.BAD_REQUEST, "uri: expected that of a document");
  }
  const { signal } = turn;
  try {
    return await inTurn({ computer, tool: name }, turn, async (reqId) => {
      if (name === "find_documents") {
        const keywords = String(query).split(/\s+/).filter(Boolean);
        const found = await agent.getFinder(computer, {
          ...(keywords.length > 0 && { keywords }),
          signal,
          reqId,
        });
        return text(JSON.stringify(found.documents));
      }
      const place = name === "desktop"
        ? { kind: "desktop" as const, computer }
        : { kind: "document" as const, computer, uri: String(uri) };
      const read = await readPlace(agent, place, { signal, reqId });
      const [contents] = read.contents;
      return text(contents && "text" in contents ? contents.text : "");
    });
  } catch (error) {
    return failureOf(error);
  }
}

const text = (text: string): McpResult => ({
  content: [{ type: "text", text }],
});
