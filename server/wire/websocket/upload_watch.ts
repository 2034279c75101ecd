import { type Deadline, Deadlines } from "../../shared/pending.ts";
import { FrameError, type FrameReader } from "./frame_reader.ts";

/** How long a message may be too slow before its sender is disconnected. */
export const UPLOAD_WINDOW_MS = 20_000;

/** Minimum time between two checks; all that are due run together. */
const CHECK_INTERVAL_MS = 1000;

/** The part of a connection's frame reader that the watch uses. */
type Reader = Pick<FrameReader, "pending" | "messages" | "held" | "reserved">;

/** Limits for unfinished messages. */
export interface UploadLimits {
  /** Minimum rate of an unfinished message in bytes per second. */
  readonly bytesPerSecond: number;
  /** Maximum memory of all unfinished messages together, in bytes. */
  readonly bytes: number;
}

/**
 * Limits the memory of unfinished messages: disconnects senders that are too slow, and when all
 * messages together hold too much, the sender of the largest one.
 *
 * Most messages end long before their first check, so there is one check per window and connection,
 * not per message, and one timer for all.
 */
export class UploadWatch {
  readonly #looks = new Deadlines<Upload>();
  readonly #limits: UploadLimits;
  #held = 0;

  /** @param limits limits of all connections together */
  constructor(limits: UploadLimits) {
    this.#limits = limits;
  }

  /** Bytes that all unfinished messages hold. */
  get held(): number {
    return this.#held;
  }

  /** Schedules a check of a connection, a window from now. */
  look(upload: Upload): void {
    const now = Math.floor(performance.now() / CHECK_INTERVAL_MS) *
      CHECK_INTERVAL_MS;
    upload.due = now + UPLOAD_WINDOW_MS;
    this.#looks.add(upload, now);
  }

  /** Returns whether `bytes` in one window are below the minimum rate. */
  isTooFew(bytes: number): boolean {
    return bytes < this.#limits.bytesPerSecond * UPLOAD_WINDOW_MS / 1000;
  }

  /** Adds to the bytes held; closes the largest uploads while they exceed the limit. */
  hold(bytes: number): void {
    this.#held += bytes;
    while (this.#held > this.#limits.bytes) {
      let largest: Upload | undefined;
      for (const upload of this.#looks) {
        if (upload.holds > (largest?.holds ?? 0)) largest = upload;
      }
      if (largest === undefined) return;
      largest.end(
        new FrameError(1013, "Unfinished messages take too much memory"),
      );
    }
  }

  /** Stops watching a connection. */
  remove(upload: Upload): void {
    this.#looks.remove(upload);
  }

  /** Stops watching all connections. */
  close(): void {
    this.#looks.clear();
  }
}

/** The unfinished message of one connection, for {@linkcode UploadWatch}. */
export class Upload implements Deadline {
  /** See {@linkcode Deadlines}. */
  due = 0;
  /** See {@linkcode Deadlines}. */
  place?: number;
  /** Bytes of its unfinished message that the watch has counted. */
  holds = 0;
  readonly #watch: UploadWatch;
  readonly #reader: Reader;
  readonly #fail: (error: FrameError) => void;
  #watched = false;
  #messages = 0;
  #seen = 0;

  /** @param fail closes the connection */
  constructor(
    watch: UploadWatch,
    reader: Reader,
    fail: (error: FrameError) => void,
  ) {
    this.#watch = watch;
    this.#reader = reader;
    this.#fail = fail;
  }

  /** Updates the watch; called after each step of the reader. */
  note(): void {
    if (this.#reader.pending && !this.#watched) this.#look();
    const more = this.#reader.reserved - this.holds;
    if (more === 0) return;
    this.holds += more;
    this.#watch.hold(more);
  }

  /** Checks whether the message arrives fast enough. */
  expire(): void {
    const { pending, messages, held } = this.#reader;
    this.#watched = false;
    if (!pending) return;
    const same = messages === this.#messages;
    if (same && this.#watch.isTooFew(held - this.#seen)) {
      this.end(new FrameError(1008, "Message too slow"));
    } else this.#look();
  }

  /** Closes the connection. */
  end(error: FrameError): void {
    this.#fail(error);
    this.close();
  }

  /** Releases what the connection held. */
  close(): void {
    const { holds } = this;
    this.holds = 0;
    this.#watch.hold(-holds);
    this.#watch.remove(this);
  }

  #look(): void {
    this.#watched = true;
    this.#messages = this.#reader.messages;
    this.#seen = this.#reader.held;
    this.#watch.look(this);
  }
}
