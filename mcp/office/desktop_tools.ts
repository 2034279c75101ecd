import type {
  CallToolResult as McpResult,
  Tool,
} from "@modelcontextprotocol/server";
import type { SmcpAgent } from "../../agent/mod.ts";
import { ErrorCode } from "../../protocol/mod.ts";
import { inTurn, type TurnParts } from "../calls/turn.ts";
import { readPlace } from "../resources/shelf.ts";
import { failure, failureOf } from "../tools/result.ts";

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
