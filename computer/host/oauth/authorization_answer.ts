import type { AuthorizationError } from "./authorization_error.ts";

/** The parts of an error result. */
export interface AuthorizationAnswer {
  /** 4006 or 4007. */
  readonly code: number;
  /** For people and models. */
  readonly text: string;
  /** Metadata of the result beside the code. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/**
 * Returns the error result of a call for which the Computer is not authorized (spec §6).
 *
 * @param address how the office names the server
 */
export const authorizationAnswer = (
  tool: string,
  server: string,
  { code, hint }: AuthorizationError,
  address: string = server,
): AuthorizationAnswer => ({
  code,
  text: `Cannot call "${tool}" of MCP server "${server}". ${hint.message}`,
  fields: { mcp_server: address, auth_hint: { ...hint } },
});
