/**
 * What an event or an acknowledgement carries: JSON text that goes on as it came, or a value.
 *
 * It is all that the rest of the server sees of a message; frames and packets stay in this folder.
 */
export abstract class Payload {
  /** Keeps other objects from passing for a payload; it takes no memory. */
  declare protected readonly nominal: never;

  /** Makes a payload of a value, to be sent as JSON. */
  static of(value: unknown): Payload {
    return new ValuePayload(value);
  }

  /** Whether it is an object: no array, no bytes, no primitive. Free: nothing is parsed. */
  abstract get isObject(): boolean;

  /**
   * Whether it may be an error or a failed result: where it is `false` there is no `code`, no
   * `error` and no `isError: true` among its members. Free: nothing is parsed.
   */
  abstract readonly mayBeError: boolean;

  /**
   * Returns what routing, checks and logs need: its members, where large objects and arrays may be
   * empty, except those that tell of failures.
   */
  abstract peek(): unknown;

  /** Returns all of it as a value. */
  abstract parse(): unknown;
}

/** A value: of the server itself, or of a packet that the fast path leaves to the stock parser. */
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

  override peek(): unknown {
    return this.#value;
  }

  override parse(): unknown {
    return this.#value;
  }
}
