/**
 * Who sends a request, and whose sessions, tasks and questions are.
 *
 * They belong to the sign-in by which a program calls, where there is one, else to the principal: neither another
 * sign-in of the same person nor the key itself finds them.
 *
 * @module
 */
import type { AuthInfo } from "@modelcontextprotocol/server";
import type { NamesOf } from "../shared/checks.ts";
import { type CallerGrant, ownerOf } from "../shared/gateway.ts";

/** Who sends an HTTP request, as the HTTP server has authenticated it. */
export interface McpCaller {
  /** The name of its credentials; a session belongs to the one that opened it. */
  readonly principal?: string;
  /** The sign-in by which it calls, to which sessions belong then; only its Computers exist for the caller. */
  readonly grant?: CallerGrant;
}

/** The names of {@linkcode McpCaller}. */
export const CALLER_NAMES = {
  principal: true,
  grant: {
    id: true,
    computers: true,
  } satisfies NamesOf<CallerGrant>,
} satisfies NamesOf<McpCaller>;

/** A request's body and its sender, as transports of the MCP SDK take them. */
export interface Message {
  readonly parsedBody: unknown;
  readonly authInfo?: AuthInfo;
}

/** What the MCP SDK hands through to handlers; it holds no token, since none is checked here. */
export function toAuthInfo(caller: McpCaller): Pick<Message, "authInfo"> {
  const clientId = ownerOf(caller);
  return clientId === ""
    ? {}
    : { authInfo: { token: "", clientId, scopes: [], extra: { caller } } };
}

/** Returns the caller of what the MCP SDK has handed through. */
export const callerIn = (
  authInfo: Pick<AuthInfo, "extra"> | undefined,
): McpCaller => (authInfo?.extra?.caller ?? {}) as McpCaller;
