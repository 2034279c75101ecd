import type { AuthorizationError } from "./authorization_error.ts";

/** The parts of an error result. */
export interface AuthorizationAnswer {
  /** 4006 or 4007. */
  readonly code: number;
  /** For people and models. */
  readonly text: string;
  /** What the result's metadata says beside the code. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Says what comes of a call that an MCP server does not let the Computer make (spec §6). */
export const authorizationAnswer = (
  tool: string,
  server: string,
  { code, hint }: AuthorizationError,
): AuthorizationAnswer => ({
  code,
  text: `Cannot call "${tool}" of MCP server "${server}". ${hint.message}`,
  fields: { mcp_server: server, auth_hint: { ...hint } },
});
