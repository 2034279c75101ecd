/**
 * Output that neither blocks nor ends a command: lines are queued while their reader pauses, and a closed
 * terminal or pipe is no error. The last part is of the lines of logs.
 *
 * @module
 */
import type { SocketConstructorOpts } from "node:net";
import { setImmediate } from "node:timers";
import type { LogRecord } from "@logtape/logtape";

/** A writable stream of text. */
export interface LineStream {
  write(text: string, done: (error?: Error | null) => void): unknown;
  on(event: "error", listener: (error: unknown) => void): unknown;
  /** Lets the process end although writes are pending. */
  unref?(): unknown;
}

/** Options for a {@linkcode LineQueue}. */
interface LineQueueOptions {
  /** Maximum of pending characters; default 1 MiB. */
  readonly most?: number;
  /** Creates the line that reports dropped lines, with its line break. */
  readonly leftOut: (lines: number) => string;
}

/**
 * Writes lines without ever blocking: lines that the reader does not take are kept up to a bound;
 * further lines are dropped and counted, and the count is reported once it reads again.
 *
 * Lines that follow in the same turn of the event loop are one write, of which each takes as long as many
 * lines.
 */
export class LineQueue {
  readonly #stream: LineStream;
  readonly #options: LineQueueOptions;
  readonly #waiting: { readonly text: string; readonly lines: number }[] = [];
  /** Pending characters, including those of the current write. */
  #size = 0;
  #leftOut = 0;
  #writing = false;
  #closed = false;
  /** Writes that have ended. */
  #ended = 0;
  #idle: (() => void) | undefined;

  /** @param stream its `write` must not block the process, see {@linkcode patientStream} */
  constructor(stream: LineStream, options: LineQueueOptions) {
    this.#stream = stream;
    this.#options = options;
    // Each write reports its own failure.
    stream.on("error", () => {});
  }

  /** Adds lines, with their line breaks. */
  add(text: string, lines = 1): void {
    if (this.#closed) return;
    const { most = 2 ** 20 } = this.#options;
    const full = this.#size + text.length > most;
    // After one dropped line all are dropped, so that one report stands for one gap.
    if (this.#writing && (full || this.#leftOut > 0)) {
      this.#leftOut += lines;
      return;
    }
    if (this.#leftOut > 0) this.#reportDropped();
    this.#put(text, lines);
    if (!this.#writing) this.#next();
  }

  /**
   * Resolves when everything is written, or when the reader has taken nothing for so long; pending writes
   * no longer keep the process alive.
   */
  async flush(milliseconds: number): Promise<void> {
    if (!this.#writing) return;
    await new Promise<void>((resolve) => {
      let ended = this.#ended;
      const look = () => {
        if (ended === this.#ended) return resolve();
        ended = this.#ended;
        timer = setTimeout(look, milliseconds);
      };
      let timer = setTimeout(look, milliseconds);
      this.#idle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    if (this.#writing) this.#stream.unref?.();
  }

  #put(text: string, lines: number): void {
    this.#waiting.push({ text, lines });
    this.#size += text.length;
  }

  #next(): void {
    // All lines before the gap are written.
    if (this.#waiting.length === 0 && this.#leftOut > 0) this.#reportDropped();
    const batch = this.#waiting.splice(0);
    if (batch.length === 0) return this.#rest();
    this.#writing = true;
    const text = batch.map(({ text }) => text).join("");
    this.#stream.write(text, (error) => {
      this.#ended++;
      this.#size -= text.length;
      if (!error) return void setImmediate(() => this.#next());
      // The reader is gone for good, or, such as on a full disk, the next line tries again.
      this.#closed = isClosedOutput(error);
      for (const { lines } of [...batch, ...this.#waiting.splice(0)]) {
        this.#leftOut += lines;
      }
      this.#size = 0;
      this.#rest();
    });
  }

  #reportDropped(): void {
    const lines = this.#leftOut;
    this.#leftOut = 0;
    this.#put(this.#options.leftOut(lines), lines);
  }

  #rest(): void {
    this.#writing = false;
    this.#idle?.();
  }
}

/** The parts of `process.stderr` in use. */
interface Stderr extends LineStream {
  readonly isTTY?: boolean;
}

/** What both runtimes have below a stream to a terminal. */
type TerminalHandle = { setBlocking?(blocking: boolean): unknown } | null;

const STDERR = 2;

/**
 * Returns a stream to stderr whose `write` never blocks. Deno's own blocks until a pipe is read, and
 * in both runtimes that of a terminal blocks while it is paused with Ctrl-S. A file is used as it is,
 * since disks do not pause.
 *
 * @param Socket of `node:net`
 */
export function patientStream(
  stderr: Stderr,
  Socket: new (options: SocketConstructorOpts) => LineStream,
): LineStream {
  if (stderr.isTTY) {
    const handle: TerminalHandle | undefined = Reflect.get(stderr, "_handle");
    handle?.setBlocking?.(false);
    return stderr;
  }
  if (stderr instanceof Socket) return stderr;
  try {
    return new Socket({ fd: STDERR, readable: false, writable: true });
  } catch {
    return stderr; // neither a pipe nor a socket
  }
}

/** The codes of writing to a terminal or pipe that was closed, in Node and in Deno. */
const CLOSED: readonly unknown[] = ["EIO", "EPIPE"];

/** Checks whether an error only means that the reader of the output is gone. */
export const isClosedOutput = (error: unknown): boolean =>
  error instanceof Error && "code" in error && CLOSED.includes(error.code);

/**
 * Lets a command continue, or finish, when its terminal or pipe is closed: reporting the error would
 * fail with the same one, endlessly.
 */
export function outliveOutput(...outputs: Pick<LineStream, "on">[]): void {
  for (const output of outputs) {
    output.on("error", (error) => {
      if (!isClosedOutput(error)) throw error;
    });
  }
}

const PRINTING = ["debug", "error", "info", "log", "warn"] as const;

/**
 * Does the same for what is printed with a console: that of Deno throws when its terminal was closed, in
 * the middle of what the caller had to do.
 */
export function outliveConsole(
  printer: Pick<Console, typeof PRINTING[number]>,
): void {
  for (const method of PRINTING) {
    const print = printer[method];
    printer[method] = (...data) => {
      try {
        print.apply(printer, data);
      } catch (error) {
        if (!isClosedOutput(error)) throw error;
      }
    };
  }
}

/**
 * Returns the fields of a log record that its message does not contain: ` code=403 reason="…"`.
 *
 * @param replacer as of `JSON.stringify()`
 */
export function fieldsText(
  { properties, rawMessage }: Pick<LogRecord, "properties" | "rawMessage">,
  replacer?: (key: string, value: unknown) => unknown,
): string {
  const isContained = (key: string) =>
    typeof rawMessage === "string" && rawMessage.includes(`{${key}}`);
  return Object.entries(properties)
    .filter(([key, value]) => value !== undefined && !isContained(key))
    .map(([key, value]) => ` ${key}=${JSON.stringify(value, replacer)}`)
    .join("");
}
