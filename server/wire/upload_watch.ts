import { type Deadline, Deadlines } from "../shared/deadlines.ts";
import { FrameError, type FrameReader } from "./frame_reader.ts";

/** How long a message may come too slowly before its sender is closed; in milliseconds. */
export const UPLOAD_WINDOW_MS = 20_000;

/** Looks are taken so many milliseconds apart at least, all that are due at once. */
const LOOKS_APART_MS = 1000;

/** What is known of the messages of one connection. */
type Reader = Pick<FrameReader, "pending" | "messages" | "held" | "reserved">;

/** What unfinished messages may take. */
export interface UploadLimits {
  /** How fast a message must come, where it does not end; in bytes per second. */
  readonly bytesPerSecond: number;
  /** What all of them together may hold. */
  readonly bytes: number;
}

/**
 * Bounds what messages hold that have begun and not ended: those that come too slowly end, and when
 * all together hold too much, the largest does.
 *
 * Most messages end long before anybody looks: there is one look a window for a connection, not one
 * a message, and one timer for all.
 */
export class UploadWatch {
  readonly #looks = new Deadlines<Upload>();
  readonly #limits: UploadLimits;
  #held = 0;

  /** @param limits of all connections */
  constructor(limits: UploadLimits) {
    this.#limits = limits;
  }

  /** Bytes that unfinished messages hold. */
  get held(): number {
    return this.#held;
  }

  /** Looks at a connection a window from now. */
  look(upload: Upload): void {
    const now = Math.floor(performance.now() / LOOKS_APART_MS) * LOOKS_APART_MS;
    upload.due = now + UPLOAD_WINDOW_MS;
    this.#looks.add(upload, now);
  }

  /** Whether so many bytes are fewer than may come in a window. */
  isTooFew(bytes: number): boolean {
    return bytes < this.#limits.bytesPerSecond * UPLOAD_WINDOW_MS / 1000;
  }

  /** Takes note that a connection holds so many bytes more. */
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

  /** Looks at a connection no more. */
  remove(upload: Upload): void {
    this.#looks.remove(upload);
  }

  /** Looks at nothing any more. */
  close(): void {
    this.#looks.clear();
  }
}

/** The messages of one connection, for {@linkcode UploadWatch}. */
export class Upload implements Deadline {
  /** For {@linkcode Deadlines}. */
  due = 0;
  /** For {@linkcode Deadlines}. */
  place?: number;
  /** Bytes of its unfinished message, as the watch knows. */
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

  /** Takes note of what the reader has, after each of its steps. */
  note(): void {
    if (this.#reader.pending && !this.#watched) this.#look();
    const more = this.#reader.reserved - this.holds;
    if (more === 0) return;
    this.holds += more;
    this.#watch.hold(more);
  }

  /** Looks whether the message goes on as it should. */
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

  /** The connection holds nothing any more. */
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
