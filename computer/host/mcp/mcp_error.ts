/** JSON-RPC's "invalid request". */
export const INVALID_REQUEST = -32600;
/** JSON-RPC's "invalid params". */
export const INVALID_PARAMS = -32602;
/** Unknown resource, until MCP 2025-11-25. */
export const RESOURCE_NOT_FOUND = -32002;
/** A page must be opened first (MCP's elicitation in URL mode). */
export const URL_REQUIRED = -32042;
/** JSON-RPC's "parse error". */
export const PARSE_ERROR = -32700;
/** The MCP SDK's code for a connection that closed before the answer. */
export const CONNECTION_CLOSED = -32000;
/** The MCP SDK's code for a request that timed out. */
export const REQUEST_TIMEOUT = -32001;

/**
 * Returns the code of an error that an MCP server answered, or that the MCP SDK created.
 *
 * By its name: to import the class of the SDK is to load the whole SDK, which a Computer needs
 * only once it reaches an MCP server.
 *
 * @returns undefined for any other error
 */
export const mcpErrorCode = (error: unknown): number | undefined =>
  error instanceof Error && error.name === "McpError" &&
    "code" in error && typeof error.code === "number"
    ? error.code
    : undefined;

/**
 * Recognizes the errors that the MCP SDK creates itself in place of an answer.
 *
 * By their text: an MCP server may answer with the same codes, and nothing else tells them apart. A
 * test compares them with those of the SDK.
 */
export function sdkFailure(error: Error): "closed" | "timeout" | undefined {
  const code = mcpErrorCode(error);
  if (
    code === CONNECTION_CLOSED && error.message.endsWith("Connection closed")
  ) {
    return "closed";
  }
  return code === REQUEST_TIMEOUT && error.message.endsWith("Request timed out")
    ? "timeout"
    : undefined;
}
