/**
 * What a message must be to be answered past the MCP SDK: a request that is certainly valid, and that has
 * nothing unusual. The SDK has the say about all others.
 *
 * @module
 */
import {
  type CallToolRequest,
  type ListToolsRequest,
  SUPPORTED_PROTOCOL_VERSIONS,
} from "@modelcontextprotocol/server";
import type { IncomingHttpHeaders } from "node:http";
import { acceptsBoth } from "./guards.ts";
import { isRecord } from "../../protocol/names.ts";

/** A request of a session. */
export interface QuickMessage {
  readonly id: string | number;
  readonly request: { readonly method: "ping" } | QuickList | QuickCall;
  /** As it was parsed. */
  readonly json: object;
}

/** A request for a page of the list of tools. */
export interface QuickList {
  readonly method: "tools/list";
  readonly params: Pick<ListParams, "cursor" | "_meta">;
}

/** A call of a tool. */
export interface QuickCall {
  readonly method: "tools/call";
  readonly params: Pick<CallParams, "name" | "arguments" | "_meta">;
}

type ListParams = NonNullable<ListToolsRequest["params"]>;
type CallParams = CallToolRequest["params"];

/** The revisions that have sessions. */
const SESSION_VERSIONS: ReadonlySet<string | undefined> = new Set(
  SUPPORTED_PROTOCOL_VERSIONS.filter((version) => version < "2026"),
);

/** Whether the headers of a POST are those of a request of a session, and of nothing else. */
export function areOfSession(headers: IncomingHttpHeaders): boolean {
  const version = headers["mcp-protocol-version"];
  return typeof headers["mcp-session-id"] === "string" &&
    (version === undefined || SESSION_VERSIONS.has(String(version))) &&
    acceptsBoth(headers.accept);
}

/** Reads a request of a session; `undefined` for anything that is not certainly a usual one. */
export function readQuickMessage(json: unknown): QuickMessage | undefined {
  if (!isRecord(json) || !hasOnly(json, MESSAGE)) return undefined;
  const { jsonrpc, id, method, params } = json;
  const isId = typeof id === "string" || isInteger(id);
  if (jsonrpc !== "2.0" || !isId) return undefined;
  const request = readRequest(method, params);
  return request && { id, request, json };
}

const MESSAGE = new Set(["jsonrpc", "id", "method", "params"]);
const PING = new Set(["_meta"]);
const LIST = new Set(["_meta", "cursor"]);
const CALL = new Set(["_meta", "arguments", "name"]);

function readRequest(
  method: unknown,
  given: unknown,
): QuickMessage["request"] | undefined {
  const params = given ?? {};
  if (given === null || !isRecord(params)) return undefined;
  const { name, arguments: args, cursor, _meta } = params;
  if (!isPlainMeta(_meta)) return undefined;
  switch (method) {
    case "ping":
      return hasOnly(params, PING) ? { method } : undefined;
    case "tools/list":
      return hasOnly(params, LIST) &&
          (cursor === undefined || typeof cursor === "string")
        ? { method, params }
        : undefined;
    case "tools/call":
      return hasOnly(params, CALL) && typeof name === "string" &&
          (args === undefined || isPlain(args))
        ? { method, params: { ...params, name } }
        : undefined;
  }
  return undefined;
}

/** Whether metadata has no key that the MCP SDK reads, but for a valid token of progress. */
function isPlainMeta(meta: unknown): boolean {
  if (meta === undefined) return true;
  if (!isPlain(meta)) return false;
  const { progressToken: token } = meta;
  return (token === undefined || typeof token === "string" ||
    isInteger(token)) &&
    !Object.keys(meta).some((key) => key.startsWith(RESERVED));
}

/** What begins the keys of MCP's own. */
const RESERVED = "io.modelcontextprotocol/";

/** Whether a value is an object that the schemas of the MCP SDK leave as it is. */
const isPlain = (value: unknown): value is Record<string, unknown> =>
  isRecord(value) && !Object.hasOwn(value, "__proto__");

const hasOnly = (
  object: Record<string, unknown>,
  names: ReadonlySet<string>,
): boolean => Object.keys(object).every((name) => names.has(name));

const isInteger = (value: unknown): value is number =>
  Number.isSafeInteger(value);
