// @ts-types="@modelcontextprotocol/sdk/types"
import {
  type JSONRPCMessage,
  JSONRPCMessageSchema,
  type JSONRPCResultResponse,
} from "@modelcontextprotocol/sdk/types.js";
import { isRecord } from "../../util/values.ts";
import type { Line } from "./line_decoder.ts";
import { PARSE_ERROR } from "./mcp_error.ts";

/**
 * Parses the JSON-RPC message in a line from an MCP server.
 *
 * An invalid answer becomes an error answer if its request is known: that call fails at once
 * instead of at its timeout, and other calls continue.
 *
 * @throws {Error} when the line is not a message; does not quote the line, as it may contain secrets
 */
export function readMessage(line: Line, encoding: string): JSONRPCMessage {
  const data = parseJson(line.text);
  if (line.valid && isPlainAnswer(data)) return data;
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

/**
 * Returns whether data is certainly the answer to a request; a fast path of the MCP SDK's schema, whose
 * union of all messages takes longer than everything else that is done with an answer.
 */
const isPlainAnswer = (data: unknown): data is JSONRPCResultResponse =>
  isRecord(data) && data.jsonrpc === "2.0" && Number.isInteger(data.id) &&
  isRecord(data.result) && !Array.isArray(data.result) &&
  data.result._meta === undefined && Object.keys(data).length === 3;

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Removes `_meta: null`, which some servers send and the MCP SDK rejects. */
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
