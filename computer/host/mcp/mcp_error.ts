/** JSON-RPC's "invalid params": what the MCP server finds wrong with a request. */
export const INVALID_PARAMS = -32602;
/** JSON-RPC's "invalid JSON was received". */
export const PARSE_ERROR = -32700;
/** The MCP SDK's code for a connection that ended before the answer came. */
export const CONNECTION_CLOSED = -32000;
/** The MCP SDK's code for a request that was not answered in its time. */
export const REQUEST_TIMEOUT = -32001;

/**
 * The code of an error that an MCP server answered, or that the MCP SDK made up in its place.
 *
 * By its name: to import the class of the SDK is to load the whole SDK, which a Computer needs
 * only once it reaches an MCP server.
 *
 * @returns undefined for every other error
 */
export const mcpErrorCode = (error: unknown): number | undefined =>
  error instanceof Error && error.name === "McpError" &&
    "code" in error && typeof error.code === "number"
    ? error.code
    : undefined;
