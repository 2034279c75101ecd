import {
  checkVersion,
  ErrorCode,
  type Profile,
  VERSION_PARAMETER,
} from "../../protocol/mod.ts";
import { type Refusal, refusal } from "../shared/refusal.ts";
import { parametersOf } from "../shared/request_target.ts";

/**
 * Checks the protocol version of a request before Engine.IO handles it (spec §2).
 *
 * @param query the request's query, without `?`
 * @param profile the protocol version of the server
 * @returns the refusal, or `undefined` when the request may pass
 */
export function checkGate(
  query: string,
  profile: Profile,
): Refusal | undefined {
  const sent = parametersOf(query).getAll(VERSION_PARAMETER);
  if (sent.length === 0 && !profile.handshake) return undefined;
  const check = checkVersion(sent, profile.version);
  return check.ok ? undefined : refusal(400, check.body);
}

/**
 * Refuses JSONP, Engine.IO's transport for browsers without CORS: any page could load it as a script.
 *
 * @param query the request's query, without `?`
 */
export const checkTransport = (query: string): Refusal | undefined =>
  parametersOf(query).has("j")
    ? refusal(400, {
      code: ErrorCode.BAD_REQUEST,
      message: 'JSONP is not supported: leave out the query parameter "j"',
    })
    : undefined;

/** Returns each path with and without a trailing slash. */
export const bothForms = (paths: readonly string[]): string[] =>
  paths.flatMap((path) => {
    const bare = path.replace(/\/+$/, "");
    return bare === "" ? ["/"] : [bare, `${bare}/`];
  });
