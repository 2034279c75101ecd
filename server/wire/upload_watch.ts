import { type Deadline, Deadlines } from "../_deadlines.ts";
import type { FrameReader } from "./frame_reader.ts";

/** How long a message may come too slowly before its sender is closed; in milliseconds. */
export const UPLOAD_WINDOW_MS = 20_000;

/** A look at a message that has begun and not ended. */
export type Upload = Deadline;

/**
 * Ends the connections whose messages come so slowly that they hold their memory for too long.
 *
 * Most messages end long before anybody looks: there is one look a window for a connection, not one
 * a message, and one timer for all.
 */
export class UploadWatch {
  readonly #looks = new Deadlines<Upload>();
  readonly #least: number;

  /** @param bytesPerSecond how fast a message must come, where it does not end */
  constructor(bytesPerSecond: number) {
    this.#least = bytesPerSecond * UPLOAD_WINDOW_MS / 1000;
  }

  /**
   * Looks at a message that has begun, a window from now.
   *
   * @param next gets the look after this one, or `undefined` when there is nothing to look at
   * @param tooSlow called once instead
   */
  add(
    reader: Pick<FrameReader, "pending" | "messages" | "held">,
    next: (upload: Upload | undefined) => void,
    tooSlow: () => void,
  ): Upload {
    const { messages, held } = reader;
    const now = performance.now();
    const upload: Upload = {
      due: now + UPLOAD_WINDOW_MS,
      expire: () => {
        const same = reader.messages === messages;
        if (!reader.pending) next(undefined);
        else if (same && reader.held - held < this.#least) tooSlow();
        else next(this.add(reader, next, tooSlow));
      },
    };
    this.#looks.add(upload, now);
    return upload;
  }

  /** Looks no more. */
  remove(upload: Upload): void {
    this.#looks.remove(upload);
  }

  /** Looks at nothing any more. */
  close(): void {
    this.#looks.clear();
  }
}
