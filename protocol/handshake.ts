/**
 * How versions are compared. Clients do not, so bundles of them are without the library for that.
 *
 * @module
 */
import { compare, parse, type SemVer } from "std-semver";
import { ErrorCode, type ErrorPayload, ProtocolError } from "./errors.ts";
import { PLAIN_VERSION, VERSION_PARAMETER } from "./version.ts";

/** A protocol version: three plain non-negative integers. */
export interface Version {
  /** Incompatible changes from 1.0 on. */
  readonly major: number;
  /** Additions; incompatible changes while `major` is 0. */
  readonly minor: number;
  /** Has no effect on compatibility. */
  readonly patch: number;
}

/**
 * Parses exactly `MAJOR.MINOR.PATCH`, three plain non-negative integers (protocol §2).
 *
 * @throws {ProtocolError} 400 `Invalid a2c_version: <why>`
 */
export function parseVersion(text: string): Version {
  const shown = JSON.stringify(
    text.length > 40 ? `${text.slice(0, 40)}…` : text,
  );
  if (!PLAIN_VERSION.test(text)) {
    throw invalid(
      `expected MAJOR.MINOR.PATCH, three plain integers, got ${shown}`,
    );
  }
  try {
    return parse(text);
  } catch {
    throw invalid(`a number in ${shown} is too large`);
  }
}

/**
 * Returns whether a client's version is compatible with a server's: major equal; while major is 0, minor equal;
 * otherwise the client's minor at most the server's. PATCH has no effect (protocol §2).
 */
export function isCompatible(
  client: Version | string,
  server: Version | string,
): boolean {
  const c = toVersion(client);
  const { min, max } = rangeOf(toVersion(server));
  return compare(c, min) >= 0 && compare({ ...c, patch: 0 }, max) <= 0;
}

/** The lowest and highest client version that a server of `server` announces in a 4008 body (protocol §2). */
export function supportedRange(
  server: Version | string,
): { min: string; max: string } {
  const { min, max } = rangeOf(toVersion(server));
  return { min: format(min), max: format({ ...max, patch: 999 }) };
}

const rangeOf = ({ major, minor }: Version): { min: SemVer; max: SemVer } => ({
  min: { major, minor: major === 0 ? minor : 0, patch: 0 },
  max: { major, minor, patch: 0 },
});

const toVersion = (version: Version | string): Version =>
  typeof version === "string" ? parseVersion(version) : version;

const format = ({ major, minor, patch }: Version): string =>
  `${major}.${minor}.${patch}`;

const invalid = (why: string): ProtocolError =>
  new ProtocolError(ErrorCode.BAD_REQUEST, `Invalid a2c_version: ${why}`);

/** The decision of the gate: the accepted version, or the body of an HTTP 400. */
export type VersionCheck =
  | { ok: true; version: string }
  | { ok: false; body: ErrorPayload };

/**
 * Decides whether a request may pass the version gate (protocol §2).
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
