/** Bytes that a line of a child, or a message over HTTP, may have. */
export const DEFAULT_MESSAGE_BYTES: number = 64 * 2 ** 20;

/** An MCP server sent more at once than it may. */
export class MessageTooLargeError extends Error {
  /** Always `"MessageTooLargeError"`. */
  override readonly name = "MessageTooLargeError";

  /** @param limit in bytes */
  constructor(limit: number) {
    super(
      `sent a message of more than ${limit} bytes; if that is as it should be, raise maxMessageBytes (--max-message)`,
    );
  }
}

/** A text of V8 has no more characters than 2^29, less a few. */
const MOST_BYTES = 2 ** 29 - 2 ** 10;

/**
 * Reads `maxMessageBytes`.
 *
 * @throws {TypeError} for what can not be a limit
 */
export function checkMessageBytes(bytes: number): number {
  if (Number.isInteger(bytes) && bytes > 0 && bytes <= MOST_BYTES) return bytes;
  throw new TypeError(
    `maxMessageBytes cannot be ${bytes}: expected a whole number from 1 to ${MOST_BYTES}`,
  );
}
