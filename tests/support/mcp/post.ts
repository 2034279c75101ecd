import { once } from "node:events";
import { type Agent, type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";

/** The headers that every POST of MCP has. */
export const JSON_HEADERS = {
  "content-type": "application/json",
  "accept": "application/json, text/event-stream",
};

/** A request of JSON-RPC. */
export const message = (
  id: number,
  method: string,
  params?: object,
): string => JSON.stringify({ jsonrpc: "2.0", id, method, params });

/** The body of the request that opens a session. */
export const INITIALIZE: string = message(1, "initialize", {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "raw", version: "1.0.0" },
});

/** A request of a session. */
export const LIST_TOOLS: string = message(2, "tools/list");

/** A request: default POST, with more headers than those of MCP. */
export interface Posting {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Keeps connections open. */
  readonly agent?: Agent;
}

/** Sends a request with any headers, which `fetch` does not let through, such as a foreign `host`. */
export async function post(
  url: string | URL,
  { method = "POST", headers = {}, body = "", agent }: Posting = {},
) {
  const sent = request(url, {
    method,
    // Node frames no body of a DELETE by itself.
    headers: {
      ...JSON_HEADERS,
      ...(headers["transfer-encoding"] === undefined && {
        "content-length": new TextEncoder().encode(body).length,
      }),
      ...headers,
    },
    agent: agent ?? false,
  });
  sent.on("error", () => {}); // a server may refuse a body before it has read it
  sent.end(body);
  const [response]: IncomingMessage[] = await once(sent, "response");
  return {
    status: response?.statusCode ?? 0,
    headers: response?.headers ?? {},
    body: response ? await text(response) : "",
  };
}

/** A `fetch` whose requests have no length: the quick door leaves them to the app. */
export const fetchByTheApp: typeof fetch = (input, init = {}) =>
  fetch(input, {
    ...init,
    ...(init.body && { body: new Blob([String(init.body)]).stream() }),
  });

/** A request of MCP 2026-07-28, which needs no session. */
export function modernRequest(
  method: string,
  params: Readonly<Record<string, unknown>> = {},
  id = 1,
): Required<Pick<Posting, "headers" | "body">> {
  const name = params.name ?? params.uri;
  return {
    headers: {
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...(typeof name === "string" && { "mcp-name": name }),
    },
    body: message(id, method, {
      ...params,
      _meta: {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1.0.0" },
      },
    }),
  };
}

/** Reads a refusal: its status, and the code and message of its error of JSON-RPC. */
export async function refusalOf(response: Response) {
  const { error } = await response.json();
  return { status: response.status, ...error };
}
