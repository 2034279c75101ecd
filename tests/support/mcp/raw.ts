/** The headers that every POST of MCP has. */
export const JSON_HEADERS = {
  "content-type": "application/json",
  "accept": "application/json, text/event-stream",
};

/** The body of the request that opens a session. */
export const INITIALIZE = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "raw", version: "1.0.0" },
  },
});

/** A request of a session. */
export const LIST_TOOLS = JSON.stringify({
  jsonrpc: "2.0",
  id: 2,
  method: "tools/list",
});

/** What a server refuses with. */
export interface Refusal {
  readonly status: number;
  readonly code: unknown;
  readonly message: unknown;
}

/** Reads a refusal; its body is the JSON of an error of JSON-RPC. */
export async function refusalOf(response: Response): Promise<Refusal> {
  const { error } = await response.json();
  return { status: response.status, ...error };
}
