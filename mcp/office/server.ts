import {
  type CallToolRequest,
  type CallToolResult as McpResult,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
  type Tool,
} from "@modelcontextprotocol/server";
import type { SmcpAgent } from "../../agent/mod.ts";
import { ErrorCode, PROTOCOL_VERSION } from "../../protocol/mod.ts";
import { awayResult, callOffice } from "../calls/call.ts";
import type { CallQueue } from "../calls/call_queue.ts";
import { instructionsOf } from "./instructions.ts";
import { isObject } from "../tools/json.ts";
import type { OfficeView } from "./office_view.ts";
import type { ResolvedOptions } from "../options.ts";
import { failure, failureOf } from "../tools/result.ts";
import {
  CALL_TOOL,
  readQuery,
  SEARCH_MODE_TOOLS,
  SEARCH_TOOLS,
  searchTools,
} from "../tools/search.ts";

/** What all MCP servers of an office share. */
export interface ServerParts {
  /** The Agent and its tools. */
  readonly view: OfficeView;
  /** The turns of calls. */
  readonly queue: CallQueue;
  /** How the office is shown. */
  readonly options: ResolvedOptions;
}

/** What tools are called with. */
interface CallRequest {
  readonly name: string;
  readonly args: Record<string, unknown>;
}

/**
 * Makes the MCP server of one request, one session or one connection over stdio: its state is all in
 * the parts, and making it has no effect.
 *
 * @param cancelled cancels all of its calls
 */
export async function createOfficeServer(
  parts: ServerParts,
  cancelled?: () => AbortSignal,
): Promise<Server> {
  const server = new Server(
    { name: "a2c-smcp", version: PROTOCOL_VERSION },
    {
      capabilities: { tools: { listChanged: true } },
      instructions: await instructions(parts),
    },
  );
  server.setRequestHandler(
    "tools/list",
    async () => ({ tools: await listTools(parts) }),
  );
  server.setRequestHandler("tools/call", async ({ params }, { mcpReq }) => {
    const signal = cancelled
      ? AbortSignal.any([mcpReq.signal, cancelled()])
      : mcpReq.signal;
    const result = await answerCall(parts, params, mcpReq, signal);
    const schema = parts.view.catalogue.find(params.name);
    return server.projectCallToolResult(
      result,
      schema?.kind === "offered" ? schema.shown.outputSchema : undefined,
    );
  });
  return server;
}

async function instructions(
  { view, options }: ServerParts,
): Promise<string> {
  try {
    await view.ready();
  } catch (error) {
    return `No tools can be used now: ${messageOf(error)}`;
  }
  const { computers, tools } = view.catalogue;
  return instructionsOf({
    office: view.office,
    computers,
    tools,
    troubles: view.troubles,
    only: options.computer,
    nameLimit: options.nameLimit,
    searching: options.tools === "search",
  });
}

async function listTools({ view, options }: ServerParts): Promise<Tool[]> {
  if (options.tools === "search") return [...SEARCH_MODE_TOOLS];
  try {
    await view.ready();
  } catch {
    return []; // the instructions say why, and so does a call
  }
  return view.catalogue.tools.map(({ shown }) => shown);
}

/** @throws {ProtocolError} there is no such tool, and never was */
async function answerCall(
  parts: ServerParts,
  { name, arguments: args = {} }: CallToolRequest["params"],
  request: ServerContext["mcpReq"],
  signal: AbortSignal,
): Promise<McpResult> {
  let agent: SmcpAgent;
  try {
    agent = await parts.view.ready();
  } catch (error) {
    return failureOf(error);
  }
  const call = (call: CallRequest) =>
    callTool(parts, agent, call, request, signal);
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
  request: ServerContext["mcpReq"],
  signal: AbortSignal,
): Promise<McpResult> | McpResult | undefined {
  const found = view.catalogue.find(name);
  if (found === undefined) return undefined;
  if (found.kind === "away") return awayResult(found);
  return callOffice(agent, found, args, { queue, options, request, signal });
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

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
