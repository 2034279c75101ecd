import type { AuthInfo } from "@modelcontextprotocol/server";
import type { NamesOf } from "../shared/checks.ts";

/** Who sends an HTTP request, as the HTTP server has authenticated it. */
export interface McpCaller {
  /** The name of its credentials; a session belongs to the one that opened it. */
  readonly principal?: string;
}

/** The names of {@linkcode McpCaller}. */
export const CALLER_NAMES = {
  principal: true,
} satisfies NamesOf<McpCaller>;

/** A request's body and its sender, as transports of the MCP SDK take them. */
export interface Message {
  readonly parsedBody: unknown;
  readonly authInfo?: AuthInfo;
}

/** What the MCP SDK hands through to handlers; it holds no token, since none is checked here. */
export const toAuthInfo = (
  principal: string | undefined,
): Pick<Message, "authInfo"> =>
  principal === undefined
    ? {}
    : { authInfo: { token: "", clientId: principal, scopes: [] } };

/**
 * Returns whose the tasks of a request are: its principal's. Without authentication they are
 * anybody's who knows their ids, which cannot be guessed.
 */
export const ownerOf = (
  authInfo: { readonly clientId: string } | undefined,
): string => authInfo?.clientId ?? "";
