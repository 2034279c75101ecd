/** The process of an MCP server ended, or its connection did. */
export class ServerEndedError extends Error {
  /** Always `"ServerEndedError"`. */
  override readonly name = "ServerEndedError";
}

/** How a child ended that could not be started. */
export const NEVER_STARTED = "was never started";
