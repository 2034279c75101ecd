import { checkNumbers } from "../../../shared/checks.ts";

/** JSON-RPC's "invalid request". */
export const INVALID_REQUEST = -32600;
/** JSON-RPC's "method not found". */
export const METHOD_NOT_FOUND = -32601;
/** JSON-RPC's "invalid params". */
export const INVALID_PARAMS = -32602;
/** Unknown resource, until MCP 2025-11-25. */
export const RESOURCE_NOT_FOUND = -32002;
/** Pages must be opened first (MCP's elicitation in URL mode). */
export const URL_REQUIRED = -32042;
/** The headers of a request differ from its body, or from the schema of its tool (MCP 2026-07-28). */
export const HEADER_MISMATCH = -32020;
/** JSON-RPC's "parse error". */
export const PARSE_ERROR = -32700;
/** The MCP SDK's code for a connection that closed before the answer. */
export const CONNECTION_CLOSED = -32000;
/** The MCP SDK's code for a request that timed out. */
export const REQUEST_TIMEOUT = -32001;

/**
 * Returns the code of an error that an MCP server answered, or that the MCP SDK created.
 *
 * By its name: to import the class of the SDK is to load the whole SDK, which a Computer needs
 * only once it reaches an MCP server.
 *
 * @returns undefined for any other error
 */
export function mcpErrorCode(error: unknown): number | undefined {
  if (error instanceof HttpAnswerError) return error.rpc?.code;
  return error instanceof Error && error.name === "McpError" &&
      "code" in error && typeof error.code === "number"
    ? error.code
    : undefined;
}

/** Returns the pages that a person must open first, as the MCP server describes them in its error. */
export function pagesOf(error: unknown): readonly unknown[] {
  if (mcpErrorCode(error) !== URL_REQUIRED) return [];
  const { data } = error instanceof HttpAnswerError
    ? Object(error.rpc)
    : Object(error);
  const { elicitations } = Object(data);
  return Array.isArray(elicitations) ? elicitations : [];
}

/**
 * Recognizes the errors that the MCP SDK creates itself in place of an answer.
 *
 * By their text: an MCP server may answer with the same codes, and nothing else distinguishes them. A
 * test compares them with those of the SDK.
 */
export function sdkFailure(error: Error): "closed" | "timeout" | undefined {
  const code = mcpErrorCode(error);
  const ends = (text: string) => error.message.endsWith(text);
  if (code === CONNECTION_CLOSED && ends("Connection closed")) return "closed";
  if (code === REQUEST_TIMEOUT && ends("Request timed out")) return "timeout";
  return undefined;
}

/** The JSON-RPC error in the body of an HTTP response. */
interface RpcError {
  /** The code of JSON-RPC, or the server's own. */
  readonly code: number;
  /** Its details. */
  readonly data: unknown;
}

/** An MCP server answered an HTTP request with a status of failure, or with something that is not MCP. */
export class HttpAnswerError extends Error {
  /** Always `"HttpAnswerError"`. */
  override readonly name = "HttpAnswerError";
  /** Continues a sentence about the server; secrets are hidden. */
  readonly what: string;
  /** The HTTP status. */
  readonly code: number;
  /** The error in the body, if it is one of JSON-RPC. */
  readonly rpc: RpcError | undefined;

  /** @param what such as `answered HTTP 429: too many requests` */
  constructor(what: string, code: number, rpc?: RpcError) {
    super(`The MCP server ${what}`);
    this.what = what;
    this.code = code;
    this.rpc = rpc;
  }
}

/** A request of a session was answered with 404: the MCP server no longer has the session, and did not run the request. */
export class SessionForgottenError extends Error {
  /** Always `"SessionForgottenError"`. */
  override readonly name = "SessionForgottenError";
  /** The answer, which is about the request alone where the session still exists. */
  readonly answer: HttpAnswerError;

  /** @param answer with the server's words */
  constructor(answer: HttpAnswerError) {
    super("The MCP server forgot the session");
    this.answer = answer;
  }
}

/** The process of an MCP server ended, or its connection did. */
export class ServerEndedError extends Error {
  /** Always `"ServerEndedError"`. */
  override readonly name = "ServerEndedError";
}

/** An MCP server answered `initialize`, but not so that a session can begin. */
export class HandshakeError extends Error {
  /** Always `"HandshakeError"`. */
  override readonly name = "HandshakeError";
}

/** How a child ended that could not be started. */
export const NEVER_STARTED = "was never started";

/** Default maximum bytes of a line of a child process, or of a message over HTTP. */
export const DEFAULT_MESSAGE_BYTES: number = 64 * 2 ** 20;

/**
 * Maximum values of one message, as `ValueCounter` counts them: in memory each may take 40 times its
 * bytes.
 */
export const MAX_MESSAGE_VALUES = 1_000_000;

/** Why a message is refused for them. */
export const TOO_MANY_VALUES: string =
  `more than ${MAX_MESSAGE_VALUES} values in lists and objects; it must send less at once, or long data as one text`;

/** Why a message of more than these bytes is refused, with the remedy. */
export const tooManyBytes = (most: number): string =>
  `more than ${most} bytes; if that is intended, raise maxMessageBytes (--max-message)`;

/** An MCP server sent a message over the limit. */
export class MessageTooLargeError extends Error {
  /** Always `"MessageTooLargeError"`. */
  override readonly name = "MessageTooLargeError";

  /** @param most the bytes of a message; without them, it had too many values */
  constructor(most?: number) {
    super(
      most === undefined
        ? `sent a message of ${TOO_MANY_VALUES}`
        : `sent a message of ${tooManyBytes(most)}`,
    );
  }
}

/** Slightly less than the maximum length of a string in V8. */
const MAX_BYTES = 2 ** 29 - 2 ** 10;

/**
 * Validates `maxMessageBytes`.
 *
 * @throws {TypeError} when the value is out of range
 */
export function checkMessageBytes(bytes: number): number {
  checkNumbers({ maxMessageBytes: bytes });
  if (Number.isInteger(bytes) && bytes > 0 && bytes <= MAX_BYTES) return bytes;
  throw new TypeError(
    `maxMessageBytes cannot be ${bytes}: expected a whole number from 1 to ${MAX_BYTES}`,
  );
}

/** The answer to a question that cannot be answered; begins as the MCP SDK does for clients that cannot be asked. */
export class UnansweredError extends Error {
  /** JSON-RPC's "invalid request". */
  readonly code = INVALID_REQUEST;
  /** Why it is not answered. */
  readonly reason: string;

  /** @param reason why it is not answered */
  constructor(reason: string) {
    super(`Client does not support form elicitation: ${reason}`);
    this.name = "UnansweredError";
    this.reason = reason;
  }
}
