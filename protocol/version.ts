/**
 * The protocol versions that this package supports, oldest first (protocol §12), with the number of each
 * as it is sent: those of the released SDKs (protocol §2).
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

/** The protocol version that this package speaks by default (protocol §2). */
export const PROTOCOL_VERSION: string = PROTOCOL_VERSIONS["0.2"];

/** The only Socket.IO namespace of the protocol (protocol §1). */
export const SMCP_NAMESPACE = "/smcp";

/** The URL query parameter that carries the version on every Engine.IO request (protocol §2). */
export const VERSION_PARAMETER = "a2c_version";

/** The response header that repeats the code of a version mismatch (protocol §2). */
export const ERROR_CODE_HEADER = "X-A2C-Error-Code";

/** Stricter than `@std/semver`, which accepts `v0.2.0`, spaces and pre-releases (protocol §2). */
export const PLAIN_VERSION: RegExp = /^(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}$/;

/**
 * Returns which of the versions of this package is compatible with a server's.
 *
 * @param version as the server announced it
 */
export function protocolOf(version: string): ProtocolName | undefined {
  // While the major number is 0, the minor one decides.
  return PLAIN_VERSION.test(version)
    ? PROTOCOL_NAMES.find((name) => version.startsWith(`${name}.`))
    : undefined;
}
