import { type CallToolResult, toolErrorResult } from "../../protocol/mod.ts";
import type { AuthorizationError } from "./authorization_error.ts";

/** Makes the result of a call that a MCP server does not let the Computer make (spec §6). */
export const authorizationResult = (
  tool: string,
  server: string,
  { code, hint }: AuthorizationError,
): CallToolResult =>
  toolErrorResult(
    code,
    `Cannot call "${tool}" of MCP server "${server}". ${hint.message}`,
    { mcp_server: server, auth_hint: { ...hint } },
  );
