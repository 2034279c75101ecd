import {
  ErrorCode,
  type ErrorPayload,
  ProtocolError,
  toErrorPayload,
} from "./errors/protocol_error.ts";
import { PROTOCOL_VERSIONS, protocolOf } from "./version.ts";

/**
 * The Server has an incompatible version of the protocol (4008, spec §2).
 *
 * Reconnecting cannot help; the message says what can.
 */
export class ProtocolVersionError extends Error {
  /** Always `"ProtocolVersionError"`. */
  override readonly name = "ProtocolVersionError";
  /** The Server's version. */
  readonly serverVersion: string;
  /** The version that this side sent. */
  readonly clientVersion: string;

  /** Creates an error from the two versions of a 4008 body. */
  constructor(serverVersion: string, clientVersion: string) {
    super(
      `Cannot connect: the server speaks A2C-SMCP ${serverVersion}, this client ${clientVersion}; ${
        remedyOf(serverVersion)
      }`,
    );
    this.serverVersion = serverVersion;
    this.clientVersion = clientVersion;
  }
}

/** What helps against a Server of another version. */
function remedyOf(serverVersion: string): string {
  const protocol = protocolOf(serverVersion);
  if (protocol === "0.1") {
    return "its operator can upgrade it, or start it with --protocol 0.2";
  }
  const [, ...own] = Object.keys(PROTOCOL_VERSIONS);
  return protocol === undefined
    ? `upgrade the older of the two: this package speaks ${own.join(", ")}`
    : `choose that version with --protocol ${protocol} (in code: protocol: "${protocol}"), or leave the choice to "auto"`;
}

/**
 * Parses the body of a refused handshake: an object, a string or bytes (spec §2).
 *
 * @returns the error, or `undefined` when the body is not one
 */
export function parseErrorBody(body: unknown): ErrorPayload | undefined {
  if (body instanceof ArrayBuffer || ArrayBuffer.isView(body)) {
    return parseErrorBody(new TextDecoder().decode(body));
  }
  if (typeof body !== "string") return toErrorPayload(body);
  try {
    return toErrorPayload(JSON.parse(body));
  } catch {
    return undefined; // a proxy's HTML page, an empty body
  }
}

/**
 * Extracts the Server's error from the argument of a `connect_error` listener (spec §2).
 *
 * Accepts the body itself, or an `Error` that contains it: in `data` (refused by a middleware) or in
 * `context.responseText` / `context.response` / `description` (refused over HTTP).
 *
 * @returns {@linkcode ProtocolVersionError} for 4008, otherwise the Server's {@linkcode ProtocolError},
 * or `undefined` when the failure is not the Server's answer (no network, no server)
 */
export function parseConnectError(
  error: unknown,
): ProtocolVersionError | ProtocolError | undefined {
  for (const body of bodies(error)) {
    const payload = parseErrorBody(body);
    if (payload?.code === ErrorCode.PROTOCOL_VERSION_MISMATCH) {
      return new ProtocolVersionError(
        versionIn(payload.server_version),
        versionIn(payload.client_version),
      );
    }
    if (payload) return ProtocolError.fromPayload(payload);
  }
  return undefined;
}

const versionIn = (field: unknown): string =>
  typeof field === "string" ? field : "unknown";

function* bodies(error: unknown): Generator<unknown> {
  yield error;
  if (typeof error !== "object" || error === null) return;
  const held = error as Record<string, unknown>;
  yield held.data;
  const context = held.context;
  if (typeof context === "object" && context !== null) {
    yield (context as Record<string, unknown>).responseText;
    yield (context as Record<string, unknown>).response;
  }
  yield held.description;
  yield held.message;
}
