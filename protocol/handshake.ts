import {
  ErrorCode,
  type ErrorPayload,
  ProtocolError,
} from "./errors/protocol_error.ts";
import { isCompatible, parseVersion, supportedRange } from "./compatibility.ts";
import { VERSION_PARAMETER } from "./version.ts";

/** The decision of the gate: the accepted version, or the body of an HTTP 400. */
export type VersionCheck =
  | { ok: true; version: string }
  | { ok: false; body: ErrorPayload };

/**
 * Decides whether a request may pass the version gate (spec §2).
 *
 * @param sent all values of `a2c_version` in the request's query
 * @param server the server's version
 * @returns the decision; the body's keys are in the order of the spec, so that all implementations send the same bytes
 */
export function checkVersion(
  sent: readonly string[],
  server: string,
): VersionCheck {
  const [client, ...more] = sent;
  if (client === undefined) {
    return refuse(`Missing ${VERSION_PARAMETER} query parameter`);
  }
  if (more.length > 0) {
    return refuse(
      `Invalid ${VERSION_PARAMETER}: given ${sent.length} times, expected once`,
    );
  }
  try {
    if (isCompatible(parseVersion(client), server)) {
      return { ok: true, version: client };
    }
  } catch (error) {
    if (error instanceof ProtocolError) return refuse(error.message);
    throw error;
  }
  const { min, max } = supportedRange(server);
  return {
    ok: false,
    body: {
      code: ErrorCode.PROTOCOL_VERSION_MISMATCH,
      message: "Protocol version mismatch",
      server_version: server,
      client_version: client,
      min_supported: min,
      max_supported: max,
    },
  };
}

const refuse = (message: string): VersionCheck => ({
  ok: false,
  body: { code: ErrorCode.BAD_REQUEST, message },
});
