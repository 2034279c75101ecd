/**
 * Access to MCP servers over HTTP: a `fetch` with a token, the errors of a refused access, and the
 * results that Agents get for them (protocol §6).
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
   * @param answer the 401 response, which names where to get tokens
   * @param fetch sends requests to the authorization server
   * @throws {AuthorizationError} when the user must act
   */
  renew(
    refused: string | undefined,
    answer: Response,
    fetch: FetchLike,
  ): Promise<void>;
  /**
   * Asks the user for more rights after a request was refused for lack of them.
   *
   * @param refused the refused token
   * @param answer the 403 response, which names the missing scopes
   * @param fetch sends requests to the authorization server
   * @returns whether there is another token by now
   * @throws {AuthorizationError} when the user must act
   */
  widen(
    refused: string | undefined,
    answer: Response,
    fetch: FetchLike,
  ): Promise<boolean>;
}

/**
 * Creates a `fetch` that adds a token if there is one, and rejects with an error of its own when an
 * MCP server denies access (protocol §6).
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
    let token = await authorizer?.token();
    let response = await fetch(url, withToken(init, token));
    // Each once: a token that was renewed may lack rights, and one with more may have ended.
    const seen = new Set<number>();
    while (authorizer && !seen.has(response.status)) {
      seen.add(response.status);
      if (!await hasOther(authorizer, token, response, fetch)) break;
      await response.body?.cancel();
      token = await authorizer.token();
      response = await fetch(url, withToken(init, token));
    }
    const isChallenge = response.headers.has("www-authenticate");
    const refusal = classifyRefusal(response.status, isChallenge);
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

/** Returns whether there is another token than the refused one; may ask the user, and throw. */
async function hasOther(
  authorizer: Authorizer,
  refused: string | undefined,
  answer: Response,
  fetch: FetchLike,
): Promise<boolean> {
  try {
    if (answer.status === 403 && answer.headers.has("www-authenticate")) {
      return await authorizer.widen(refused, answer, fetch);
    }
    if (answer.status !== 401) return false;
    await authorizer.renew(refused, answer, fetch);
    return true;
  } catch (error) {
    await answer.body?.cancel();
    throw error;
  }
}

function withToken(
  init: RequestInit,
  token: string | undefined,
): RequestInit {
  if (token === undefined) return init;
  const headers = new Headers(init.headers);
  headers.set("authorization", `Bearer ${token}`);
  return { ...init, headers };
}

/** The remedy for the user (protocol §6). */
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

/** The content of an {@linkcode AuthorizationError}. */
interface AuthorizationProblem {
  /** 4006 when no credentials were tried, 4007 when they are insufficient. */
  readonly code: number;
  /** The problem, without a URL. */
  readonly what: string;
  /** The remedy, for programs. */
  readonly action: AuthHint["action"];
  /** The same in words, without a URL. */
  readonly todo: string;
  /** The values that it is about, for the user alone; may have URLs. */
  readonly values?: string | undefined;
  /** Resolves to whether the user, who is being asked, agreed; absent where a call must not wait. */
  readonly granted?: Promise<boolean>;
}

/** An MCP server denies the Computer access (protocol §6); its message is for the user. */
export class AuthorizationError extends Error {
  /** Always `"AuthorizationError"`. */
  override readonly name = "AuthorizationError";
  /** 4006 when no credentials were tried, 4007 when they are insufficient. */
  readonly code: number;
  /** The remedy; shown to Agents. */
  readonly hint: AuthHint;
  /** Resolves to whether the user, who is being asked, agreed; absent where a call must not wait. */
  readonly granted: Promise<boolean> | undefined;

  /** Creates an error. */
  constructor(
    { code, what, action, todo, values, granted }: AuthorizationProblem,
  ) {
    super(`${what}${values === undefined ? "" : ` (${values})`}; ${todo}`);
    this.code = code;
    this.hint = { action, message: `${what}; ${todo}` };
    this.granted = granted;
  }
}

/** Statuses with another meaning in MCP: an unknown session or method. */
const OF_TRANSPORT: ReadonlySet<number> = new Set([404, 405]);

/**
 * Maps an MCP server's response: HTTP 401 to 4006, 403 to 4007, another refusal that names how to
 * authenticate to 4006, anything else to no authorization error (protocol §6).
 *
 * @param isChallenge whether it has the header `WWW-Authenticate`
 */
export function classifyRefusal(
  status: number,
  isChallenge = false,
): AuthorizationError | undefined {
  if (status === 403) return notPermitted();
  const isRefusal = status >= 400 && status < 500 && !OF_TRANSPORT.has(status);
  return status === 401 || isChallenge && isRefusal
    ? credentialsWanted(status)
    : undefined;
}

/** The server accepts no configured credentials, and has no OAuth. */
export const credentialsWanted = (status = 401): AuthorizationError =>
  new AuthorizationError({
    code: ErrorCode.TOOL_AUTHORIZATION_REQUIRED,
    what: `Its credentials are missing or not accepted (HTTP ${status})`,
    action: "configure",
    todo: 'set them in its "headers" in the Computer\'s configuration',
  });

/**
 * Signing in cannot work as the two servers and the configuration are.
 *
 * @param what the field, and what is wrong with it
 * @param values its values, for the user alone
 */
export const signInImpossible = (
  what: string,
  todo: string,
  values?: string,
): AuthorizationError =>
  new AuthorizationError({
    code: ErrorCode.TOOL_AUTHORIZATION_REQUIRED,
    what,
    action: "configure",
    todo,
    values,
  });

const notPermitted = () =>
  new AuthorizationError({
    code: ErrorCode.TOOL_AUTHORIZATION_FAILED,
    what: "The credentials that the Computer has do not permit this (HTTP 403)",
    action: "grant",
    todo: "grant them the rights, or authorize the Computer with others",
  });

const IN_BROWSER =
  "authorize it in the browser of the Computer, which shows the address";

/** Why the user must authorize the Computer, and what they can do where it is not in their browser. */
const TO_AUTHORIZE = {
  /** They are being asked for the first time. */
  unauthorized: ["The Computer is not authorized yet"],
  /** They are being asked again, as the earlier authorization is no longer valid. */
  expired: ["The authorization of the Computer has expired or was revoked"],
  /** They are being asked for more scopes. */
  narrow: ["The authorization of the Computer does not include this"],
  /** They, or the authorization server, refused. */
  refused: [
    "The authorization of the Computer was refused",
    "start the MCP server again by hand to be asked again",
  ],
  /** The authorization server failed to renew the token, but did not call it invalid. */
  unrenewed: [
    "The authorization of the Computer could not be renewed",
    "it is tried again; if that does not help, authorize the Computer again",
  ],
} as const;

/** Creates the error of an authorization that the user must give. */
export function toAuthorize(
  why: keyof typeof TO_AUTHORIZE,
  more: Pick<AuthorizationProblem, "values" | "granted"> = {},
): AuthorizationError {
  const [what, todo = IN_BROWSER] = TO_AUTHORIZE[why];
  const code = why === "unauthorized"
    ? ErrorCode.TOOL_AUTHORIZATION_REQUIRED
    : ErrorCode.TOOL_AUTHORIZATION_FAILED;
  return new AuthorizationError({
    code,
    what,
    todo,
    action: "authorize",
    ...more,
  });
}

/**
 * Returns the error result of a call for which the Computer is not authorized (protocol §6).
 *
 * @param address how the office names the server
 */
export const authorizationAnswer = (
  tool: string,
  server: string,
  { code, hint }: AuthorizationError,
  address: string = server,
) => ({
  code,
  /** For people and models. */
  text: `Cannot call "${tool}" of MCP server "${server}". ${hint.message}`,
  /** Metadata of the result beside the code. */
  fields: { mcp_server: address, auth_hint: { ...hint } },
});
