/** Bytes that a line of a child, or a message over HTTP, may have. */
export const DEFAULT_MESSAGE_BYTES: number = 64 * 2 ** 20;

/** An MCP server sent more at once than it may. */
export class MessageTooLargeError extends Error {
  /** Always `"MessageTooLargeError"`. */
  override readonly name = "MessageTooLargeError";

  /** Says how many of what are too many. */
  constructor(most: number, what: "bytes" | "lists and objects" = "bytes") {
    super(
      `sent a message of more than ${most} ${what}` +
        (what === "bytes"
          ? "; if that is as it should be, raise maxMessageBytes (--max-message)"
          : ""),
    );
  }
}

/** Lists and objects of one message: each takes 20 times its bytes, and JSON is read in one piece. */
const MAX_CONTAINERS = 1_000_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LIST = 0x5b;
const OBJECT = 0x7b;

/** Counts the lists and objects of a JSON text, chunk by chunk. */
export class ContainerCounter {
  #count = 0;
  #inString = false;
  #escaped = false;

  /**
   * Takes the next bytes.
   *
   * @throws {MessageTooLargeError} when there are too many
   */
  push(chunk: Uint8Array): void {
    for (const byte of chunk) {
      if (this.#escaped) this.#escaped = false;
      else if (byte === QUOTE) this.#inString = !this.#inString;
      else if (this.#inString) this.#escaped = byte === BACKSLASH;
      else if (byte === LIST || byte === OBJECT) this.#count++;
    }
    if (this.#count > MAX_CONTAINERS) {
      throw new MessageTooLargeError(MAX_CONTAINERS, "lists and objects");
    }
  }

  /** Begins with the next text. */
  reset(): void {
    this.#count = 0;
    this.#inString = false;
    this.#escaped = false;
  }
}

/** A text of V8 has no more characters than 2^29, less a few. */
const MOST_BYTES = 2 ** 29 - 2 ** 10;

/**
 * Reads `maxMessageBytes`.
 *
 * @throws {TypeError} for what cannot be a limit
 */
export function checkMessageBytes(bytes: number): number {
  if (Number.isInteger(bytes) && bytes > 0 && bytes <= MOST_BYTES) return bytes;
  throw new TypeError(
    `maxMessageBytes cannot be ${bytes}: expected a whole number from 1 to ${MOST_BYTES}`,
  );
}
