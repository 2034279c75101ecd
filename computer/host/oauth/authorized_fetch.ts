/**
 * Access to MCP servers over HTTP: a `fetch` with a token, the errors of a refused access, and the
 * results that Agents get for them (spec §6).
 *
 * @module
 */
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport";
import { ErrorCode } from "../../../protocol/mod.ts";

/** The source of access tokens for one MCP server. */
export interface Authorizer {
  /** The token to try. */
  token(): Promise<string | undefined>;
  /**
   * Gets another token after a request with the last one, or without one, was refused.
   *
   * @param refused the refused token
   * @param answer the 401 response, which tells where to get tokens
   * @param fetch sends requests to the authorization server
   * @throws {AuthorizationError} when the user must act
   */
  renew(
    refused: string | undefined,
    answer: Response,
    fetch: FetchLike,
  ): Promise<void>;
}

/**
 * Creates a `fetch` that adds a token if there is one, and rejects with an error of its own when an
 * MCP server denies access (spec §6).
 *
 * The MCP SDK's transports can add tokens too, but each concurrent request renews the token: with a
 * single-use refresh token, all but one would fail.
 *
 * @param authorizer absent when the configuration has credentials
 * @param refused called with each refusal, as over SSE the error does not reach the caller
 */
export const authorizedFetch = (
  fetch: FetchLike,
  authorizer: Authorizer | undefined,
  refused: (error: unknown) => void,
): FetchLike =>
async (url, init = {}) => {
  try {
    const token = await authorizer?.token();
    let response = await fetch(url, withToken(init, token));
    if (response.status === 401 && authorizer) {
      await response.body?.cancel();
      await authorizer.renew(token, response, fetch);
      response = await fetch(url, withToken(init, await authorizer.token()));
    }
    const isChallenge = response.headers.has("www-authenticate");
    const refusal = refusalOf(response.status, isChallenge);
    // An EventSource would leave the body unread and the connection open.
    if (refusal || !response.ok && init.method !== "POST") {
      await response.body?.cancel();
    }
    if (refusal) throw refusal;
    return response;
  } catch (error) {
    refused(error);
    throw error;
  }
};

function withToken(
  init: RequestInit,
  token: string | undefined,
): RequestInit {
  if (token === undefined) return init;
  const headers = new Headers(init.headers);
  headers.set("authorization", `Bearer ${token}`);
  return { ...init, headers };
}

/** What the user can do (spec §6). */
interface AuthHint {
  /**
   * - `authorize`: in the browser of the Computer, which shows the address
   * - `configure`: credentials in the Computer's configuration
   * - `grant`: more rights to the credentials that it has
   */
  readonly action: "authorize" | "configure" | "grant";
  /** One sentence; no token, code, state, client id or secret, and no URL. */
  readonly message: string;
}

/** An MCP server denies the Computer access (spec §6). */
export class AuthorizationError extends Error {
  /** Always `"AuthorizationError"`. */
  override readonly name = "AuthorizationError";
  /** 4006 when no credentials were tried, 4007 when they are insufficient. */
  readonly code: number;
  /** What to do. */
  readonly hint: AuthHint;

  /** Creates an error; its message and hint are shown to Agents. */
  constructor(
    code: number,
    what: string,
    action: AuthHint["action"],
    todo: string,
  ) {
    super(`${what}; ${todo}`);
    this.code = code;
    this.hint = { action, message: `${what}; ${todo}` };
  }
}

/** Statuses that say something else in MCP: a session or a method that is not there. */
const OF_TRANSPORT: ReadonlySet<number> = new Set([404, 405]);

/**
 * Maps an MCP server's response: HTTP 401 to 4006, 403 to 4007, another refusal that names a way to
 * authenticate to 4006, anything else to no authorization error (spec §6, 0.4 §8.3).
 *
 * @param isChallenge whether it has the header `WWW-Authenticate`
 */
export function refusalOf(
  status: number,
  isChallenge = false,
): AuthorizationError | undefined {
  if (status === 403) return notPermitted();
  const isRefusal = status >= 400 && status < 500 && !OF_TRANSPORT.has(status);
  return status === 401 || isChallenge && isRefusal
    ? credentialsWanted(status)
    : undefined;
}

/** The server accepts no configured credentials, and OAuth cannot help. */
export const credentialsWanted = (status = 401): AuthorizationError =>
  new AuthorizationError(
    ErrorCode.TOOL_AUTHORIZATION_REQUIRED,
    `It wants other credentials than it got, or any at all (HTTP ${status})`,
    "configure",
    'set them in its "headers" in the Computer\'s configuration',
  );

const notPermitted = () =>
  new AuthorizationError(
    ErrorCode.TOOL_AUTHORIZATION_FAILED,
    "The credentials that the Computer has do not permit this (HTTP 403)",
    "grant",
    "grant them the rights, or authorize the Computer with others",
  );

const IN_BROWSER =
  "authorize it in the browser of the Computer, which shows the address";

/** Why the user must authorize the Computer: code, sentence, and what they can do. */
const TO_AUTHORIZE = {
  /** They are being asked for the first time. */
  unauthorized: [
    ErrorCode.TOOL_AUTHORIZATION_REQUIRED,
    "The Computer is not authorized yet",
    IN_BROWSER,
  ],
  /** They are being asked again, as the earlier authorization is no longer valid. */
  expired: [
    ErrorCode.TOOL_AUTHORIZATION_FAILED,
    "The authorization of the Computer has expired or was revoked",
    IN_BROWSER,
  ],
  /** They, or the authorization server, refused. */
  refused: [
    ErrorCode.TOOL_AUTHORIZATION_FAILED,
    "The authorization of the Computer was refused",
    "start the MCP server again by hand to be asked again",
  ],
  /** The authorization server failed to renew the token, but did not call it invalid. */
  unrenewed: [
    ErrorCode.TOOL_AUTHORIZATION_FAILED,
    "The authorization of the Computer could not be renewed",
    "it is tried again; if that does not help, authorize the Computer anew",
  ],
} as const;

/** Creates the error of an authorization that the user must give. */
export function toAuthorize(
  why: keyof typeof TO_AUTHORIZE,
): AuthorizationError {
  const [code, what, todo] = TO_AUTHORIZE[why];
  return new AuthorizationError(code, what, "authorize", todo);
}

/** The parts of an error result. */
interface AuthorizationAnswer {
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
