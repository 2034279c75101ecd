import {
  ErrorCode,
  type ErrorPayload,
  ProtocolError,
} from "../../protocol/mod.ts";
import { failure, log } from "./log.ts";

/**
 * The payload of an event or an ack: JSON text that is forwarded unchanged, or a value.
 *
 * The rest of the server sees only this of a message; frames and packets stay in this folder.
 */
export abstract class Payload {
  /** Makes the type nominal; takes no memory. */
  declare protected readonly nominal: never;

  /** Creates a payload from a value, to be sent as JSON. */
  static of(value: unknown): Payload {
    return new ValuePayload(value);
  }

  /** Whether it is an object: not an array, bytes or a primitive. Parses nothing. */
  abstract get isObject(): boolean;

  /**
   * Whether it may be an error or a failed result. If `false`, its members include no `code`, no
   * `error` and no `isError: true`. Parses nothing.
   */
  abstract readonly mayBeError: boolean;

  /** Its size as JSON in bytes; `undefined` where it would have to be encoded to know. */
  abstract get size(): number | undefined;

  /**
   * Returns its members for routing, checks and logs. Large objects and arrays may be empty, except
   * those that describe failures.
   */
  abstract peek(): unknown;

  /** Returns the whole value. */
  abstract parse(): unknown;
}

/** A parsed value, of the server itself or of a packet from the stock parser. */
class ValuePayload extends Payload {
  readonly #value: unknown;

  constructor(value: unknown) {
    super();
    this.#value = value;
  }

  override get isObject(): boolean {
    const value = this.#value;
    return typeof value === "object" && value !== null &&
      !Array.isArray(value) && !ArrayBuffer.isView(value) &&
      !(value instanceof ArrayBuffer);
  }

  override get mayBeError(): boolean {
    return true;
  }

  override get size(): undefined {
    return undefined;
  }

  override peek(): unknown {
    return this.#value;
  }

  override parse(): unknown {
    return this.#value;
  }
}

/** Converts a thrown value to the error sent to the client; only a {@linkcode ProtocolError} keeps its message. */
export function errorPayloadOf(error: unknown): ErrorPayload {
  if (error instanceof ProtocolError) return error.toPayload();
  log.error("A handler failed", failure(error));
  return new ProtocolError(ErrorCode.INTERNAL_ERROR, "Internal error")
    .toPayload();
}

/** Converts a thrown value to the answer that a client gets. */
export const errorAnswer = (error: unknown): Payload =>
  Payload.of(errorPayloadOf(error));

/** Converts a thrown value to the error that refuses a namespace connection; the client finds it as `error.data`. */
export function toConnectError(error: unknown): Error & { data: ErrorPayload } {
  const data = errorPayloadOf(error);
  return Object.assign(new Error(data.message), { data });
}

/** The error for requests while the server drains (spec §5: shutdown counts as leaving). */
export const shuttingDown = (): ProtocolError =>
  new ProtocolError(
    ErrorCode.INTERNAL_ERROR,
    "The server is shutting down: reconnect and try again",
    { fields: { reason: "server shutting down" } },
  );

/** The error for requests to a node that may not serve now. */
export const notServing = (): ProtocolError =>
  new ProtocolError(
    ErrorCode.INTERNAL_ERROR,
    "This server has lost its cluster: reconnect and try again",
    { fields: { reason: "registry unavailable" } },
  );

/**
 * The error for refused credentials (spec §10).
 *
 * @param shown the reason, for the holder of the credentials alone; absent as a rule
 */
export const unauthorized = (
  { shown }: { readonly shown?: string } = {},
): ProtocolError =>
  new ProtocolError(
    ErrorCode.UNAUTHORIZED,
    `Authentication failed${shown === undefined ? "" : `: ${shown}`}`,
  );
