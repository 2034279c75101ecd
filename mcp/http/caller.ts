import type { Message } from "./session_transport.ts";
import type { NamesOf } from "../../shared/checks.ts";

/** Who sends an HTTP request, as the HTTP server has authenticated it. */
export interface McpCaller {
  /** The name of its credentials; a session belongs to the one that opened it. */
  readonly principal?: string;
}

/** The names of {@linkcode McpCaller}. */
export const CALLER_NAMES = {
  principal: true,
} satisfies NamesOf<McpCaller>;

/** What the MCP SDK hands through to handlers; it holds no token, since none is checked here. */
export const toAuthInfo = (
  principal: string | undefined,
): Pick<Message, "authInfo"> =>
  principal === undefined
    ? {}
    : { authInfo: { token: "", clientId: principal, scopes: [] } };
