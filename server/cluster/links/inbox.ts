import { Buffer } from "node:buffer";
import { FrameError } from "./frame.ts";
import { type Item, readItems } from "./items.ts";
import { MAX_OPEN_MESSAGES } from "./outbox.ts";

interface Assembly {
  readonly message: Buffer;
  filled: number;
}

/** Puts the messages of a link together. */
export class Inbox {
  readonly #maxMessageBytes: number;
  readonly #partial = new Map<number, Assembly>();
  readonly #deliver: (message: Buffer) => void;
  #isClosed = false;

  /** @param deliver takes the messages; a small one is a part of its frame */
  constructor(maxMessageBytes: number, deliver: (message: Buffer) => void) {
    this.#maxMessageBytes = maxMessageBytes;
    this.#deliver = deliver;
  }

  /**
   * Takes the items of a frame.
   *
   * @throws {FrameError} when one is cut off, too large, or of no message
   */
  take(frame: Buffer, start: number): void {
    if (start < frame.length) readItems(frame, start, this.#takeItem);
  }

  /** Delivers nothing any more, not even the rest of a frame that is being taken. */
  close(): void {
    this.#isClosed = true;
    this.#partial.clear();
  }

  readonly #takeItem = (item: Item): boolean => {
    if (item.isFirst && item.total > this.#maxMessageBytes) {
      throw new FrameError(
        `a message has ${item.total} bytes, at most ${this.#maxMessageBytes} are taken`,
      );
    }
    const message = item.isFirst && item.isLast
      ? item.content
      : this.#assemble(item);
    if (message !== undefined) this.#deliver(message);
    return !this.#isClosed;
  };

  #assemble(item: Item): Buffer | undefined {
    const { slot, content } = item;
    if (item.isFirst) this.#open(item);
    const partial = this.#partial.get(slot);
    if (partial === undefined) {
      throw new FrameError("a piece is of no message");
    }
    const { message, filled } = partial;
    partial.filled += content.length;
    if (
      partial.filled > message.length ||
      item.isLast !== (partial.filled === message.length)
    ) throw new FrameError("the pieces of a message are not of its length");
    message.set(content, filled);
    if (!item.isLast) return undefined;
    this.#partial.delete(slot);
    return message;
  }

  #open({ slot, total }: Item): void {
    if (this.#partial.has(slot)) {
      throw new FrameError("a message begins twice");
    }
    if (this.#partial.size >= MAX_OPEN_MESSAGES) {
      throw new FrameError("too many messages come in pieces at once");
    }
    this.#partial.set(slot, { message: Buffer.allocUnsafe(total), filled: 0 });
  }
}
