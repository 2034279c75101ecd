// @ts-types="@modelcontextprotocol/sdk/types"
import {
  type JSONRPCMessage,
  JSONRPCMessageSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { isRecord } from "../../util/values.ts";
import type { Line } from "./line_decoder.ts";
import { PARSE_ERROR } from "./mcp_error.ts";

/**
 * Reads a JSON-RPC message out of a line that an MCP server wrote.
 *
 * An answer that cannot be read becomes an error answer to its request where the request can be
 * told, so that this call fails at once, the others go on, and nobody waits for a timeout.
 *
 * @throws {Error} for a line that is no message; its text is not repeated, it may hold anything
 */
export function readMessage(line: Line, encoding: string): JSONRPCMessage {
  const data = parseJson(line.text);
  const message = JSONRPCMessageSchema.safeParse(withoutNullMeta(data));
  if (message.success && line.valid) return message.data;
  const problem = line.valid
    ? "is not a JSON-RPC message"
    : `is not valid ${encoding}; set "encoding", or "encoding_error_handler" to "replace"`;
  const id = answeredRequest(data);
  if (id === undefined) {
    throw new Error(
      `A line of ${line.text.length} characters on its output ${problem}`,
    );
  }
  return {
    jsonrpc: "2.0",
    id,
    error: {
      code: PARSE_ERROR,
      message: `What the MCP server answered ${problem}`,
    },
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Some servers write null for "no metadata", which the MCP SDK takes for no message at all. */
function withoutNullMeta(data: unknown): unknown {
  if (!isRecord(data) || !isRecord(data.result) || data.result._meta !== null) {
    return data;
  }
  const { _meta: _, ...result } = data.result;
  return { ...data, result };
}

function answeredRequest(data: unknown): string | number | undefined {
  if (!isRecord(data) || !("result" in data || "error" in data)) {
    return undefined;
  }
  return typeof data.id === "string" || typeof data.id === "number"
    ? data.id
    : undefined;
}
