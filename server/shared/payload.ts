import type { JsonSpan } from "../../protocol/json_bytes.ts";
import {
  ErrorCode,
  type ErrorPayload,
  ProtocolError,
} from "../../protocol/mod.ts";
import { parsePieces } from "../../shared/json/pieces.ts";
import { inSlices, Pace } from "../../shared/pace.ts";
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

  /** Creates the payload of a message that is refused without being read. */
  static unread(bytes: number): Payload {
    return new UnreadPayload(bytes);
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
   * Its values and the names of members: the commas, colons and opening brackets outside of texts.
   * `undefined` where it was parsed already.
   */
  abstract readonly values: number | undefined;

  /** The number of its members; `undefined` where it was parsed already. */
  abstract readonly members: number | undefined;

  /**
   * Returns its members for routing, checks and logs. Large objects and arrays may be empty, except
   * those that describe failures, and of very many members the last ones may be missing.
   */
  abstract peek(): unknown;

  /** Returns the whole value. */
  abstract parse(): unknown;

  /** Returns its text; `undefined` where it has none, since parts of it came as bytes. */
  abstract json(): JsonBytes | undefined;

  /** Returns a payload of the same kind with another text, an object. */
  abstract edited(text: Uint8Array): Payload;

  /** Returns a copy with other members; all else of a text keeps its bytes. */
  abstract with(changes: Changes): Payload;

  /** Returns a copy with the named members alone, each once; their values keep their bytes. */
  abstract only(names: readonly string[]): Payload;
}

/** The values of members by their names, which are ASCII; `undefined` removes one. */
export type Changes = Readonly<Record<string, string | null | undefined>>;

/** A JSON text in a buffer. */
export interface JsonBytes extends JsonSpan {
  readonly bytes: Uint8Array;
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

  override get values(): undefined {
    return undefined;
  }

  override get members(): undefined {
    return undefined;
  }

  override peek(): unknown {
    return this.#value;
  }

  override parse(): unknown {
    return this.#value;
  }

  override json(): JsonBytes | undefined {
    if (hasBytes(this.#value)) return undefined;
    const bytes = new TextEncoder().encode(JSON.stringify(this.#value));
    return { bytes, start: 0, end: bytes.length };
  }

  override edited(text: Uint8Array): Payload {
    return Payload.of(JSON.parse(new TextDecoder().decode(text)));
  }

  override with(changes: Changes): Payload {
    const members = Object.entries({ ...Object(this.#value), ...changes });
    return Payload.of(Object.fromEntries(
      members.filter(([, value]) => value !== undefined),
    ));
  }

  override only(names: readonly string[]): Payload {
    const members = Object.entries(Object(this.#value));
    return Payload.of(Object.fromEntries(
      members.filter(([name, value]) =>
        names.includes(name) && value !== undefined
      ),
    ));
  }
}

/** Whether bytes, which JSON cannot carry, are among the parts of a value. */
function hasBytes(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) return true;
  return Object.values(value).some(hasBytes);
}

/** A payload that is larger than it may be: nothing of it is known but its size. */
class UnreadPayload extends Payload {
  override readonly size: number;
  override readonly isObject = true;
  override readonly mayBeError = false;
  override readonly values = undefined;
  override readonly members = undefined;

  constructor(size: number) {
    super();
    this.size = size;
  }

  override readonly peek = unread;
  override readonly parse = unread;
  override readonly json = unread;
  override readonly edited = unread;
  override readonly with = unread;
  override readonly only = unread;
}

function unread(): never {
  throw new Error("A message was not read: it is larger than it may be");
}

// ------------------------------------------------------------------ what takes long

/** Bytes of a payload up to which it is parsed immediately: that takes no noticeable time. */
const PARSED_AT_ONCE_BYTES = 65_536;

/** Whether a payload can be parsed without keeping others waiting. */
export const isParsedAtOnce = ({ size = 0 }: Payload): boolean =>
  size <= PARSED_AT_ONCE_BYTES;

/**
 * Parses a payload, a long one in pieces, with turns of others between them.
 *
 * @throws the reason of the pace's signal
 */
export async function parseInSlices(
  payload: Payload,
  pace: Pace = new Pace(),
): Promise<unknown> {
  const json = isParsedAtOnce(payload) ? undefined : payload.json();
  if (json === undefined) return payload.parse();
  const { bytes, start, end } = json;
  const text = new TextDecoder().decode(bytes.subarray(start, end));
  return await inSlices(parsePieces(text), pace);
}

// ------------------------------------------------------------------ errors

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

/** The error for requests while the server drains (protocol §5: shutdown counts as leaving). */
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
 * The error for refused credentials (protocol §10).
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
