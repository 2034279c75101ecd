/**
 * Headers that repeat arguments (MCP 2026-07-28), for clients over stdio, which send none.
 *
 * The Server refuses a call without them. Then the tools are listed, and the call is sent again; later
 * calls of the tool have them at once.
 *
 * @module
 */
import type { FetchLike } from "@modelcontextprotocol/client";
import { RpcError } from "../http/guards.ts";
import { paramHeaders } from "../../protocol/mcp/param_headers.ts";
import { isRecord } from "../../protocol/names.ts";

/** Maximum number of tools whose schemas are remembered. */
const MAX_SCHEMAS = 1_000;
/** Maximum number of pages of a list. */
const MAX_PAGES = 1_000;

/** A request, as the transport of the MCP SDK sends it. */
type Sent = Parameters<FetchLike>;

/** The body of a call. */
interface Call {
  readonly params: Readonly<Record<string, unknown>> & {
    readonly name: string;
  };
}

/** Wraps a `fetch` so that calls of tools have the headers that repeat their arguments. */
export function mirroringFetch(fetch: FetchLike): FetchLike {
  /** By the tool's name; those that were fetched first go first. */
  const schemas = new Map<string, unknown>();
  const send = (call: Call, [url, init = {}]: Sent) => {
    const headers = new Headers(init.headers);
    const { name, arguments: args } = call.params;
    const more = paramHeaders(schemas.get(name), args);
    for (const [name, value] of Object.entries(more)) headers.set(name, value);
    return fetch(url, { ...init, headers });
  };
  return async (url, init) => {
    const isCall =
      new Headers(init?.headers).get("mcp-method") === "tools/call";
    const known = isCall && schemas.size > 0 ? callIn(init) : undefined;
    const response = known
      ? await send(known, [url, init])
      : await fetch(url, init);
    if (!isCall || !await isMismatch(response)) return response;
    const call = known ?? callIn(init);
    if (!call) return response;
    const { name } = call.params;
    const schema = await schemaOf(fetch, call, [url, init]);
    schemas.delete(name);
    if (schema === undefined) return response;
    await response.body?.cancel();
    schemas.set(name, schema);
    const [oldest] = schemas.keys();
    if (schemas.size > MAX_SCHEMAS && oldest !== undefined) {
      schemas.delete(oldest);
    }
    return await send(call, [url, init]);
  };
}

function callIn({ body }: RequestInit = {}): Call | undefined {
  if (typeof body !== "string") return undefined;
  const { params } = Object(JSON.parse(body));
  return isRecord(params) && typeof params.name === "string"
    ? { params: { ...params, name: params.name } }
    : undefined;
}

async function isMismatch(response: Response): Promise<boolean> {
  if (response.status !== 400) return false;
  try {
    const { error } = Object(await response.clone().json());
    return Object(error).code === RpcError.HEADER_MISMATCH;
  } catch {
    return false;
  }
}

/** Finds the schema of a called tool in the Server's list. */
async function schemaOf(
  fetch: FetchLike,
  { params: { name, _meta } }: Call,
  [url, init = {}]: Sent,
): Promise<unknown> {
  const headers = new Headers(init.headers);
  headers.set("accept", "application/json");
  headers.set("mcp-method", "tools/list");
  headers.delete("mcp-name");
  let cursor: unknown;
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: crypto.randomUUID(),
      method: "tools/list",
      params: { _meta, ...(cursor !== undefined && { cursor }) },
    });
    const response = await fetch(url, { ...init, headers, body });
    const { result } = Object(await response.json().catch(() => undefined));
    const { tools, nextCursor } = Object(result);
    const tool = Array.isArray(tools)
      ? tools.find((tool) => Object(tool).name === name)
      : undefined;
    if (tool) return Object(tool).inputSchema;
    if (typeof nextCursor !== "string") return undefined;
    cursor = nextCursor;
  }
  return undefined;
}
