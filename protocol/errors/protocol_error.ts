/** The error codes of the protocol (spec §6). */
export const ErrorCode = {
  /** The request is malformed: a field is missing or wrong; sending it again changes nothing. */
  BAD_REQUEST: 400,
  /** The Server's authenticator does not accept the credentials. */
  UNAUTHORIZED: 401,
  /** The role or the credentials do not allow this. */
  FORBIDDEN: 403,
  /** Nothing of that name is there: no such Computer in the office, or it left; or no such MCP server. */
  NOT_FOUND: 404,
  /** The Computer did not answer in time. */
  TIMEOUT: 408,
  /** A limit of the Server was reached; the request was not carried out. */
  TOO_MANY_REQUESTS: 429,
  /** Something failed that the sender cannot mend. */
  INTERNAL_ERROR: 500,
  /** The Computer offers no tool of that name. */
  TOOL_NOT_FOUND: 4001,
  /** The Computer's configuration forbids the tool. */
  TOOL_DISABLED: 4002,
  /** The tool failed while it ran. */
  TOOL_EXECUTION_FAILED: 4003,
  /** The tool took longer than the call allowed. */
  TOOL_TIMEOUT: 4004,
  /** A person has to confirm the call, and nobody can or did. */
  TOOL_REQUIRES_CONFIRMATION: 4005,
  /** The MCP server wants an authorization that is not there yet. */
  TOOL_AUTHORIZATION_REQUIRED: 4006,
  /** The authorization at the MCP server was tried, and failed. */
  TOOL_AUTHORIZATION_FAILED: 4007,
  /** Client and Server speak versions that do not fit. */
  PROTOCOL_VERSION_MISMATCH: 4008,
  /** The Computer has no resolver for `dpe://` URIs. */
  DPE_RESOLVER_NOT_CONFIGURED: 4011,
  /** The URI is no valid `dpe://` URI. */
  INVALID_DPE_URI: 4012,
  /** The resolver could not turn the URI into one that can be fetched. */
  DPE_RESOLUTION_FAILED: 4013,
  /** There is no MCP server of that name; kept for later profiles, 0.2 answers 404. */
  MCP_SERVER_NOT_FOUND: 4014,
  /** The MCP server does not have what the request needs, such as resources. */
  MCP_CAPABILITY_NOT_SUPPORTED: 4015,
  /** The office already has an Agent. */
  ROOM_FULL: 4101,
  /** There is no such office. */
  ROOM_NOT_FOUND: 4102,
  /** The client is in no office, or left it before the answer came. */
  NOT_IN_ROOM: 4103,
  /** The request is about an office that the client is not in. */
  CROSS_ROOM_ACCESS: 4104,
  /** No document is at the address. */
  DOCUMENT_NOT_FOUND: 4201,
  /** The document has no page of that number. */
  PAGE_OUT_OF_RANGE: 4202,
  /** The page has no such element. */
  ELEMENT_NOT_FOUND: 4203,
  /** The URI is no valid address of a document, page or element. */
  INVALID_FINDER_URI: 4204,
} as const;

/** An error as it travels: flat, with the fields of its code beside `code` and `message` (spec §6). */
export interface ErrorPayload {
  /** One of {@linkcode ErrorCode}, or a code of a later version. */
  code: number;
  /** A sentence for people. */
  message: string;
  /** Structured diagnostics; never tokens, internal addresses or stack traces. */
  details?: Record<string, unknown>;
  /** What the code adds, such as `uri` and `reason` of 4012. */
  [field: string]: unknown;
}

/** What a {@linkcode ProtocolError} carries beside its code and message. */
export interface ProtocolErrorOptions extends ErrorOptions {
  /** The payload's `details`. */
  details?: Record<string, unknown>;
  /** Fields of that code, written beside `code` (spec §6). */
  fields?: Record<string, unknown>;
}

/**
 * An error that crosses the wire: a code of the protocol with its message and fields (spec §6).
 *
 * Local failures (no connection, a bad configuration file) are never of this class.
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

  /** Makes an error of a code, a sentence for people, and what belongs to the code. */
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

  /** The flat form for the wire; `cause` and `stack` stay behind (spec §6). */
  toPayload(): ErrorPayload {
    return {
      ...this.fields,
      code: this.code,
      message: this.message,
      ...(this.details && { details: this.details }),
    };
  }

  /** Reads an error of the wire, flat or in the nested form of 0.1; `undefined` when `data` is none (spec §6). */
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
 * Finds the error in an ack or a body: `{code, message}`, or `{error: {code, message}}` as 0.1 nested it.
 *
 * A tool's own result is never taken for an error: what has `content` is a result.
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

const isRecord = (data: unknown): data is Record<string, unknown> =>
  typeof data === "object" && data !== null && !Array.isArray(data);
