import { checkNumbers } from "../../../shared/checks.ts";

/** Default maximum bytes of a line of a child process, or of a message over HTTP. */
export const DEFAULT_MESSAGE_BYTES: number = 64 * 2 ** 20;

/** An MCP server sent a message over the limit. */
export class MessageTooLargeError extends Error {
  /** Always `"MessageTooLargeError"`. */
  override readonly name = "MessageTooLargeError";

  /** Creates the error for a limit. */
  constructor(most: number, what: "bytes" | "lists and objects" = "bytes") {
    super(
      `sent a message of more than ${most} ${what}` +
        (what === "bytes"
          ? "; if that is as it should be, raise maxMessageBytes (--max-message)"
          : ""),
    );
  }
}

/** Maximum lists and objects of one message: in memory each takes about 20 times its bytes. */
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
   * Counts in the next bytes.
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

  /** Starts over with the next text. */
  reset(): void {
    this.#count = 0;
    this.#inString = false;
    this.#escaped = false;
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
