/** JSON-RPC codes of errors that belong to no request. */
export const RpcError = {
  /** The body is no JSON. */
  PARSE: -32700,
  /** The request cannot be served as it is. */
  REFUSED: -32000,
  /** There is no such session (2025): the client begins another. */
  NO_SESSION: -32001,
} as const;

/** An HTTP response with a JSON-RPC error, as clients of MCP expect for all that fails before a method. */
export const httpError = (
  status: number,
  code: number,
  message: string,
): Response =>
  Response.json({ jsonrpc: "2.0", error: { code, message }, id: null }, {
    status,
  });
