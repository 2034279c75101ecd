import { ErrorCode } from "../../../protocol/mod.ts";

/** What the user can do (spec §6). */
export interface AuthHint {
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

/** The user is being asked for the first time. */
export const notAuthorizedYet = (): AuthorizationError =>
  new AuthorizationError(
    ErrorCode.TOOL_AUTHORIZATION_REQUIRED,
    "The Computer is not authorized yet",
    "authorize",
    IN_BROWSER,
  );

/** The user is being asked again, as the earlier authorization is no longer valid. */
export const expired = (): AuthorizationError =>
  new AuthorizationError(
    ErrorCode.TOOL_AUTHORIZATION_FAILED,
    "The authorization of the Computer has expired or was revoked",
    "authorize",
    IN_BROWSER,
  );

/** The user, or the authorization server, refused. */
export const refusedByPerson = (): AuthorizationError =>
  new AuthorizationError(
    ErrorCode.TOOL_AUTHORIZATION_FAILED,
    "The authorization of the Computer was refused",
    "authorize",
    "start the MCP server again by hand to be asked again",
  );

/** The authorization server failed to renew the token, but did not call it invalid. */
export const notRenewed = (): AuthorizationError =>
  new AuthorizationError(
    ErrorCode.TOOL_AUTHORIZATION_FAILED,
    "The authorization of the Computer could not be renewed",
    "authorize",
    "it is tried again; if that does not help, authorize the Computer anew",
  );

const IN_BROWSER =
  "authorize it in the browser of the Computer, which shows the address";
