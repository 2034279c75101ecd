import {
  checkVersion,
  ErrorCode,
  type ErrorPayload,
  type Profile,
  supportedRange,
  VERSION_PARAMETER,
} from "../../protocol/mod.ts";
import { parametersOf, type Refusal, refusal } from "../shared/http.ts";

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
 * Chooses the version that a client is served in (0.4 §18).
 *
 * A version that the server does not let in is refused with the newest, and with the lowest and highest
 * of all.
 *
 * @param query the request's query, without `?`
 * @param profiles those that the server lets in, oldest first
 */
export function chooseProfile(
  query: string,
  profiles: readonly Profile[],
): Profile | Refusal {
  let refused: Refusal | undefined;
  for (const profile of profiles) {
    refused = checkGate(query, profile);
    if (refused === undefined) return profile;
  }
  const [oldest] = profiles;
  if (oldest === undefined || refused === undefined) {
    throw new Error("Cannot choose a version: none is served");
  }
  const body: ErrorPayload = JSON.parse(refused.body);
  if (body.code !== ErrorCode.PROTOCOL_VERSION_MISMATCH) return refused;
  const { min } = supportedRange(oldest.version);
  return refusal(400, { ...body, min_supported: min });
}

/** Returns whether a request was refused. */
export const isRefusal = (
  admitted: Profile | Refusal | undefined,
): admitted is Refusal => admitted !== undefined && "status" in admitted;

/**
 * Refuses JSONP, Engine.IO's transport for browsers without CORS: any page could load it as a script.
 * Refuses polling where its requests may reach another process than the one that has the session.
 *
 * @param query the request's query, without `?`
 * @param webSocketOnly whether polling is refused
 */
export function checkTransport(
  query: string,
  webSocketOnly: boolean,
): Refusal | undefined {
  const parameters = parametersOf(query);
  const refused = (message: string) =>
    refusal(400, { code: ErrorCode.BAD_REQUEST, message });
  if (parameters.has("j")) {
    return refused('JSONP is not supported: leave out the query parameter "j"');
  }
  // Engine.IO takes the last of several.
  if (webSocketOnly && parameters.getAll("transport").at(-1) === "polling") {
    return refused(
      'Polling is not supported here, where requests of one session may reach several processes: connect with WebSocket alone, transports: ["websocket"]',
    );
  }
  return undefined;
}

/** Returns each path with and without a trailing slash. */
export const bothForms = (paths: readonly string[]): string[] =>
  paths.flatMap((path) => {
    const bare = path.replace(/\/+$/, "");
    return bare === "" ? ["/"] : [bare, `${bare}/`];
  });
