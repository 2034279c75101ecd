import { ErrorCode } from "../../../protocol/mod.ts";

/** What a person can do about it (spec §6). */
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

/** An MCP server does not let the Computer in (spec §6). */
export class AuthorizationError extends Error {
  /** Always `"AuthorizationError"`. */
  override readonly name = "AuthorizationError";
  /** 4006 when nothing was tried yet, 4007 when what was tried is not enough. */
  readonly code: number;
  /** What to do. */
  readonly hint: AuthHint;

  /** Makes an error of a code, what happened and what to do; all of it is shown to Agents. */
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

/**
 * Reads the HTTP status of an MCP server's answer: 401 is 4006, 403 is 4007, anything else is no
 * matter of authorization (spec §6).
 */
export function refusalOf(status: number): AuthorizationError | undefined {
  if (status === 401) return credentialsWanted();
  return status === 403 ? notPermitted() : undefined;
}

/** Nothing is configured that the MCP server takes, and there is no OAuth that would help. */
export const credentialsWanted = (): AuthorizationError =>
  new AuthorizationError(
    ErrorCode.TOOL_AUTHORIZATION_REQUIRED,
    "It wants other credentials than it got, or any at all (HTTP 401)",
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

/** A person is asked; nothing was authorized before. */
export const notAuthorizedYet = (): AuthorizationError =>
  new AuthorizationError(
    ErrorCode.TOOL_AUTHORIZATION_REQUIRED,
    "The Computer is not authorized yet",
    "authorize",
    IN_BROWSER,
  );

/** A person is asked; what they authorized before is worth nothing any more. */
export const expired = (): AuthorizationError =>
  new AuthorizationError(
    ErrorCode.TOOL_AUTHORIZATION_FAILED,
    "The authorization of the Computer has expired or was revoked",
    "authorize",
    IN_BROWSER,
  );

/** A person was asked, and they, or the authorization server afterwards, refused. */
export const refusedByPerson = (): AuthorizationError =>
  new AuthorizationError(
    ErrorCode.TOOL_AUTHORIZATION_FAILED,
    "The authorization of the Computer was refused",
    "authorize",
    "start the MCP server again by hand to be asked again",
  );

/** The authorization server would not renew the token, and did not say that it is worthless. */
export const notRenewed = (): AuthorizationError =>
  new AuthorizationError(
    ErrorCode.TOOL_AUTHORIZATION_FAILED,
    "The authorization of the Computer could not be renewed",
    "authorize",
    "it is tried again; if that does not help, authorize the Computer anew",
  );

const IN_BROWSER =
  "authorize it in the browser of the Computer, which shows the address";
