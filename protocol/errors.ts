/**
 * The errors of the protocol: their codes, their form on the wire, and how the refusal of a handshake is
 * read (protocol §2, §6).
 *
 * @module
 */
import { isRecord } from "./names.ts";
import { PROTOCOL_VERSIONS, protocolOf } from "./version.ts";

/** The error codes of the protocol (protocol §6). */
export const ErrorCode = {
  /** The request is malformed: a field is missing or invalid; sending it again cannot help. */
  BAD_REQUEST: 400,
  /** The Server does not accept the credentials. */
  UNAUTHORIZED: 401,
  /** The role or the credentials do not allow this. */
  FORBIDDEN: 403,
  /** Not found: the Computer is not in the office or left it, or there is no MCP server of that name. */
  NOT_FOUND: 404,
  /** The Computer did not answer in time. */
  TIMEOUT: 408,
  /** A limit of the Server was exceeded; the request was not executed. */
  TOO_MANY_REQUESTS: 429,
  /** An internal failure, which the sender cannot fix. */
  INTERNAL_ERROR: 500,
  /** The Computer has no tool of that name. */
  TOOL_NOT_FOUND: 4001,
  /** The Computer's configuration disables the tool. */
  TOOL_DISABLED: 4002,
  /** The tool failed during execution. */
  TOOL_EXECUTION_FAILED: 4003,
  /** The tool took longer than the call allowed. */
  TOOL_TIMEOUT: 4004,
  /** The call requires a user's confirmation, which was not given. */
  TOOL_REQUIRES_CONFIRMATION: 4005,
  /** The MCP server requires authorization, which is missing. */
  TOOL_AUTHORIZATION_REQUIRED: 4006,
  /** The authorization at the MCP server failed. */
  TOOL_AUTHORIZATION_FAILED: 4007,
  /** Client and Server have incompatible versions. */
  PROTOCOL_VERSION_MISMATCH: 4008,
  /** The Computer has no resolver for `dpe://` URIs. */
  DPE_RESOLVER_NOT_CONFIGURED: 4011,
  /** The URI is not a valid `dpe://` URI. */
  INVALID_DPE_URI: 4012,
  /** The resolver failed to resolve the URI. */
  DPE_RESOLUTION_FAILED: 4013,
  /** There is no skill of that name; from 0.3 on also no such MCP server, for which 0.2 uses 404. */
  MCP_SERVER_NOT_FOUND: 4014,
  /** The MCP server lacks a capability that the request requires, such as resources. */
  MCP_CAPABILITY_NOT_SUPPORTED: 4015,
  /** The name is not one that a skill can have. */
  INVALID_SKILL_NAME: 4016,
  /** The file of a skill is outside of it, forbidden, too large, or not there. */
  SKILL_NOT_ACCESSIBLE: 4017,
  /** The handle is invalid, or its bytes are gone. */
  BLOB_NOT_ACCESSIBLE: 4018,
  /** The Computer did not take the file. */
  BLOB_WRITE_FAILED: 4019,
  /** The office already has an Agent. */
  ROOM_FULL: 4101,
  /** The office does not exist. */
  ROOM_NOT_FOUND: 4102,
  /** The client is not in an office, or left it before the answer. */
  NOT_IN_ROOM: 4103,
  /** The request names an office that the client is not in. */
  CROSS_ROOM_ACCESS: 4104,
  /** There is no document at the address. */
  DOCUMENT_NOT_FOUND: 4201,
  /** The document has no page of that number. */
  PAGE_OUT_OF_RANGE: 4202,
  /** The page has no such element. */
  ELEMENT_NOT_FOUND: 4203,
  /** The URI is not a valid address of a document, page or element. */
  INVALID_FINDER_URI: 4204,
} as const;

/** An error on the wire: flat, with the fields of its code next to `code` and `message` (protocol §6). */
export interface ErrorPayload {
  /** One of {@linkcode ErrorCode}, or a code of a later version. */
  code: number;
  /** A message for people. */
  message: string;
  /** Structured diagnostics; never tokens, internal addresses or stack traces. */
  details?: Record<string, unknown>;
  /** Fields of the code, such as `uri` and `reason` of 4012. */
  [field: string]: unknown;
}

/** Additional parts of a {@linkcode ProtocolError}. */
export interface ProtocolErrorOptions extends ErrorOptions {
  /** The payload's `details`. */
  details?: Record<string, unknown>;
  /** Fields of the code, written next to `code` (protocol §6). */
  fields?: Record<string, unknown>;
}

/**
 * An error that is sent over the wire: a code of the protocol with its message and fields (protocol §6).
 *
 * Local failures (no connection, an invalid configuration file) have other classes.
 */
export class ProtocolError extends Error {
  /** Always `"ProtocolError"`. */
  override readonly name = "ProtocolError";
  /** One of {@linkcode ErrorCode}, or a code of a later version. */
  readonly code: number;
  /** The payload's `details`, if any. */
  readonly details: Record<string, unknown> | undefined;
  /** The fields that belong to the code, such as `uri` and `reason`. */
  readonly fields: Record<string, unknown>;

  /** Creates an error from a code, a message for people, and the fields of the code. */
  constructor(
    code: number,
    message: string,
    options: ProtocolErrorOptions = {},
  ) {
    super(message, options);
    this.code = code;
    this.details = options.details;
    this.fields = options.fields ?? {};
  }

  /** Converts to the flat form for the wire, without `cause` and `stack` (protocol §6). */
  toPayload(): ErrorPayload {
    return {
      ...this.fields,
      code: this.code,
      message: this.message,
      ...(this.details && { details: this.details }),
    };
  }

  /** Parses an error of the wire, flat or in the nested form of 0.1; `undefined` if `data` is not an error (protocol §6). */
  static fromPayload(data: unknown): ProtocolError | undefined {
    const payload = toErrorPayload(data);
    if (!payload) return undefined;
    const { code, message, details, ...fields } = payload;
    return new ProtocolError(code, message, {
      fields,
      ...(isRecord(details) && { details }),
    });
  }
}

/**
 * Extracts the error from an ack or a body: `{code, message}`, or `{error: {code, message}}` as in 0.1.
 *
 * Anything with `content` is a tool's result, never an error.
 */
export function toErrorPayload(data: unknown): ErrorPayload | undefined {
  if (!isRecord(data) || "content" in data) return undefined;
  if (isErrorPayload(data)) return data;
  return isRecord(data.error) && isErrorPayload(data.error)
    ? data.error
    : undefined;
}

const isErrorPayload = (
  data: Record<string, unknown>,
): data is Record<string, unknown> & ErrorPayload =>
  Number.isInteger(data.code) && typeof data.message === "string";

/**
 * Creates the error of a request to a Computer that is not in the office of its Agent; it never reveals whether it
 * is in another one (protocol §5).
 */
export const notInOffice = (computer: string): ProtocolError =>
  new ProtocolError(
    ErrorCode.NOT_FOUND,
    `Computer ${JSON.stringify(computer)} is not in your office`,
    { fields: { computer } },
  );

/** Why bytes cannot be read by their handle (protocol §6); later versions may add others. */
export type BlobReason = "invalid_handle" | "forbidden" | "gone" | "range";

/** Why a Computer did not take a chunk of a file (protocol §8.7); later versions may add others. */
export type BlobWriteReason =
  | "forbidden"
  | "invalid_declaration"
  | "too_large"
  | "busy"
  | "invalid_upload"
  | "range"
  | "integrity"
  | "io_error";

/** Creates the error of a handle whose bytes cannot be read (protocol §8.7). */
export const blobNotAccessible = (reason: BlobReason): ProtocolError => {
  const message = `Blob not accessible: ${BLOB_TEXTS[reason]}`;
  return detailed(ErrorCode.BLOB_NOT_ACCESSIBLE, message, { reason });
};

/**
 * Creates the error of a chunk that a Computer did not take (protocol §8.7).
 *
 * @param why the problem and its fix, for people
 * @param uploadId the upload that it belongs to, once it has begun
 */
export const blobWriteFailed = (
  reason: BlobWriteReason,
  why: string,
  uploadId?: string,
): ProtocolError =>
  detailed(ErrorCode.BLOB_WRITE_FAILED, `Upload failed: ${why}`, {
    reason,
    ...(uploadId !== undefined && { upload_id: uploadId }),
  });

const BLOB_TEXTS: Readonly<Record<BlobReason, string>> = {
  invalid_handle: "this Computer did not issue the handle",
  forbidden: "the owner no longer gives it out",
  gone:
    "the bytes are no longer there; ask for them again where the handle came from",
  range: "chunk_offset is beyond the end",
};

/** Why a file of a skill cannot be read (protocol §8.6); later versions may add others. */
export type SkillReason = "traversal" | "forbidden" | "not_found" | "too_large";

/** Creates the error of a name that no skill can have (protocol §8.6). */
export const invalidSkillName = (name: string): ProtocolError =>
  detailed(ErrorCode.INVALID_SKILL_NAME, "Invalid skill name", { name });

/** Creates the error of a skill that is not there, or whose source is gone (protocol §8.6). */
export const skillNotFound = (name: string): ProtocolError =>
  detailed(ErrorCode.MCP_SERVER_NOT_FOUND, "Skill not found", { name });

/**
 * Creates the error of a file of a skill that cannot be read (protocol §8.6).
 *
 * @param totalSize its size in bytes, if that is the reason
 */
export const skillNotAccessible = (
  reason: SkillReason,
  relPath: string,
  totalSize?: number,
): ProtocolError =>
  detailed(ErrorCode.SKILL_NOT_ACCESSIBLE, "Skill resource not accessible", {
    reason,
    rel_path: relPath,
    ...(totalSize !== undefined && { total_size: totalSize }),
  });

const detailed = (
  code: number,
  message: string,
  details: Record<string, unknown>,
): ProtocolError => new ProtocolError(code, message, { details });

/**
 * The Server has an incompatible version of the protocol (4008, protocol §2).
 *
 * Reconnecting cannot help; the message has the remedy.
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
 * Parses the body of a refused handshake: an object, a string or bytes (protocol §2).
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
 * Extracts the Server's error from the argument of a `connect_error` listener (protocol §2).
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

/** Returns where such an error may hold the body, the body itself first. */
function bodies(error: unknown): unknown[] {
  const { data, context, description, message } = Object(error);
  const { responseText, response } = Object(context);
  return [error, data, responseText, response, description, message];
}
