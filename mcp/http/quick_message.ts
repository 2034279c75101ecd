/**
 * What a message must be to be answered past the MCP SDK: a request that is certainly valid, and that has
 * nothing unusual. The SDK has the say about all others.
 *
 * @module
 */
import {
  type CallToolRequest,
  classifyInboundRequest,
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type ListToolsRequest,
  PROTOCOL_VERSION_META_KEY,
  SUPPORTED_PROTOCOL_VERSIONS,
} from "@modelcontextprotocol/server";
import type { IncomingHttpHeaders } from "node:http";
import { acceptsBoth } from "./guards.ts";
import type { Introduction } from "../office/begun_call.ts";
import { isRecord } from "../../protocol/names.ts";

/** A request that is certainly valid. */
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

/** A request of a client without a session, which introduces itself in each. */
export interface LoneRequest extends QuickMessage {
  readonly request: QuickList | QuickCall;
  readonly client: Introduction;
}

/** The revisions that have sessions. */
const SESSION_VERSIONS: ReadonlySet<string> = new Set(
  SUPPORTED_PROTOCOL_VERSIONS.filter((version) => version < "2026"),
);
/** The revision that has none. */
const LONE_VERSION = "2026-07-28";

/** Whether the headers of a POST are those of a request that may be usual. */
export const areUsual = (headers: IncomingHttpHeaders): boolean =>
  (areOfSession(headers) || areLone(headers)) && acceptsBoth(headers.accept);

/** Whether headers are those of a request of a session. */
export function areOfSession(headers: IncomingHttpHeaders): boolean {
  const version = headers["mcp-protocol-version"];
  return typeof headers["mcp-session-id"] === "string" &&
    headers["mcp-method"] === undefined &&
    isSessionVersion(version?.toString());
}

/** Whether a revision has sessions; a request without one has that of its session. */
export const isSessionVersion = (version: string | undefined): boolean =>
  version === undefined || SESSION_VERSIONS.has(version);

const areLone = (headers: IncomingHttpHeaders): boolean =>
  headers["mcp-protocol-version"] === LONE_VERSION &&
  (headers["mcp-method"] === "tools/call" ||
    headers["mcp-method"] === "tools/list");

/**
 * Reads a request without a session, whose headers repeat what they must (MCP 2026-07-28); `undefined` for
 * anything that is not certainly a usual one.
 */
export function readLoneRequest(
  json: unknown,
  headers: IncomingHttpHeaders,
): LoneRequest | undefined {
  if (!areLone(headers) || !isRecord(json)) return undefined;
  const { params } = json;
  if (!isRecord(params) || !isPlain(params._meta)) return undefined;
  const {
    [PROTOCOL_VERSION_META_KEY]: version,
    [CLIENT_INFO_META_KEY]: info,
    [CLIENT_CAPABILITIES_META_KEY]: capabilities,
    ...meta
  } = params._meta;
  const { _meta: _, ...rest } = params;
  const hasMeta = Object.keys(meta).length > 0;
  const message = readQuickMessage({
    ...json,
    params: { ...rest, ...(hasMeta && { _meta: meta }) },
  });
  const client = knownClient(info, capabilities);
  if (client === undefined || message === undefined) return undefined;
  const { id, request } = message;
  if (request.method === "ping") return undefined;
  const isSame = version === LONE_VERSION &&
    headers["mcp-method"] === request.method && isNamed(request, headers);
  return isSame ? { id, request, client, json } : undefined;
}

/** Whether the header of a name is that of the request's tool; a list has none. */
function isNamed(
  request: QuickList | QuickCall,
  { "mcp-name": name }: IncomingHttpHeaders,
): boolean {
  if (request.method === "tools/list") return name === undefined;
  return name === request.params.name && PLAIN_NAME.test(request.params.name);
}

/** Names that are their own header, whatever is done to that. */
const PLAIN_NAME = /^[\w.-]+$/;

/** The most introductions of clients that are remembered, and the characters of each. */
const MAX_CLIENTS = 1_000;
const MAX_CLIENT_TEXT = 2_000;

/** What the MCP SDK has accepted clients to say of themselves, as texts. */
const knownClients = new Map<string, Introduction | undefined>();

/** Returns how a client introduces itself; `undefined` where the MCP SDK does not accept that. */
function knownClient(
  info: unknown,
  capabilities: unknown,
): Introduction | undefined {
  const text = JSON.stringify({ info, capabilities }); // one may be absent
  if (knownClients.has(text)) return knownClients.get(text);
  if (text.length > MAX_CLIENT_TEXT) return undefined;
  if (knownClients.size >= MAX_CLIENTS) knownClients.clear();
  const client = readClient(info, capabilities);
  knownClients.set(text, client);
  return client;
}

function readClient(
  info: unknown,
  capabilities: unknown,
): Introduction | undefined {
  const _meta = {
    [PROTOCOL_VERSION_META_KEY]: LONE_VERSION,
    [CLIENT_CAPABILITIES_META_KEY]: capabilities,
    ...(info !== undefined && { [CLIENT_INFO_META_KEY]: info }),
  };
  const body = { jsonrpc: "2.0", id: 1, method: "ping", params: { _meta } };
  const { kind } = classifyInboundRequest({ httpMethod: "POST", body });
  if (kind !== "modern") return undefined;
  return {
    info: info as Introduction["info"],
    capabilities: capabilities as Introduction["capabilities"],
  };
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
