import { compare, parse, type SemVer } from "std-semver";
import { ErrorCode, ProtocolError } from "./errors/protocol_error.ts";

/**
 * The protocol versions that this package supports, oldest first (spec §12), with the number of each
 * as it is sent: those of the released SDKs (0.4 §1.1).
 */
export const PROTOCOL_VERSIONS = {
  "0.1": "0.1.2",
  "0.2": "0.2.0",
  "0.3": "0.3.1",
  "0.4": "0.4.0",
} as const;

/** The name of a protocol version that this package supports. */
export type ProtocolName = keyof typeof PROTOCOL_VERSIONS;

/** Those names, oldest first. */
export const PROTOCOL_NAMES: readonly ProtocolName[] = Object.keys(
  PROTOCOL_VERSIONS,
) as ProtocolName[];

/** The protocol version that this package speaks unless told otherwise (spec §2). */
export const PROTOCOL_VERSION: string = PROTOCOL_VERSIONS["0.2"];

/** The only Socket.IO namespace of the protocol (spec §1). */
export const SMCP_NAMESPACE = "/smcp";

/** The URL query parameter that carries the version on every Engine.IO request (spec §2). */
export const VERSION_PARAMETER = "a2c_version";

/** The response header that repeats the code of a version mismatch (spec §2). */
export const ERROR_CODE_HEADER = "X-A2C-Error-Code";

/** A protocol version: three plain non-negative integers. */
export interface Version {
  /** Incompatible changes from 1.0 on. */
  readonly major: number;
  /** Additions; incompatible changes while `major` is 0. */
  readonly minor: number;
  /** Has no effect on compatibility. */
  readonly patch: number;
}

/** Stricter than `@std/semver`, which accepts `v0.2.0`, spaces and pre-releases (spec §2). */
const PLAIN = /^(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}$/;

/**
 * Parses exactly `MAJOR.MINOR.PATCH`, three plain non-negative integers (spec §2).
 *
 * @throws {ProtocolError} 400 `Invalid a2c_version: <why>`
 */
export function parseVersion(text: string): Version {
  if (!PLAIN.test(text)) {
    throw invalid(
      `expected MAJOR.MINOR.PATCH, three plain integers, got ${quote(text)}`,
    );
  }
  try {
    return parse(text);
  } catch {
    throw invalid(`a number in ${quote(text)} is too large`);
  }
}

/**
 * Returns whether a client's version is compatible with a server's: major equal; while major is 0, minor equal;
 * otherwise the client's minor at most the server's. PATCH has no effect (spec §2).
 */
export function isCompatible(
  client: Version | string,
  server: Version | string,
): boolean {
  const c = toVersion(client);
  const { min, max } = rangeOf(toVersion(server));
  return compare(c, min) >= 0 && compare({ ...c, patch: 0 }, max) <= 0;
}

/**
 * Returns which of the versions of this package is compatible with a server's.
 *
 * @param version the server's, as it told it
 */
export function protocolOf(version: string): ProtocolName | undefined {
  // While the major number is 0, the minor one decides; a comparison would cost browsers a library.
  return PLAIN.test(version)
    ? PROTOCOL_NAMES.find((name) => version.startsWith(`${name}.`))
    : undefined;
}

/** The lowest and highest client version that a server of `server` announces in a 4008 body (spec §2). */
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

const quote = (text: string): string =>
  JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text);

const invalid = (why: string): ProtocolError =>
  new ProtocolError(ErrorCode.BAD_REQUEST, `Invalid a2c_version: ${why}`);
