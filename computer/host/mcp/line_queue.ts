import type { Readable } from "node:stream";
import type { Line } from "./line_decoder.ts";

/** Lines to process per turn of the event loop. */
const LINES_PER_TURN = 50;
/** Bytes to read per turn of the event loop. */
const BYTES_PER_TURN = 65_536;

/**
 * Processes the lines of a stream a few per turn of the event loop, and pauses it meanwhile.
 *
 * Otherwise a child that writes without end would block this process: Deno keeps reading within
 * one turn for as long as there is data.
 */
export class LineQueue {
  readonly #stream: Readable;
  readonly #take: (line: Line) => void;
  #lines: Line[] = [];
  #bytes = 0;
  #turn: ReturnType<typeof setImmediate> | undefined;

  constructor(stream: Readable, take: (line: Line) => void) {
    this.#stream = stream;
    this.#take = take;
  }

  /**
   * Processes lines, or keeps them for the next turns.
   *
   * @param bytes the size of their chunk
   */
  push(lines: readonly Line[], bytes: number): void {
    for (const line of lines) this.#lines.push(line);
    this.#bytes += bytes;
    if (this.#turn === undefined) this.#run();
  }

  /** Processes all remaining lines at once. */
  end(): void {
    clearImmediate(this.#turn);
    this.#turn = undefined;
    this.#lines.splice(0).forEach(this.#take);
  }

  #run(): void {
    this.#turn = undefined;
    this.#lines.splice(0, LINES_PER_TURN).forEach(this.#take);
    const isDone = this.#lines.length === 0;
    if (isDone && this.#bytes < BYTES_PER_TURN) {
      return void this.#stream.resume();
    }
    if (isDone) this.#bytes = 0;
    this.#stream.pause();
    this.#turn = setImmediate(() => this.#run());
  }
}

/** Reads a stream a limited number of bytes per turn; see {@linkcode LineQueue}. */
export function readInTurns(
  stream: Readable,
  take: (chunk: Uint8Array) => void,
): void {
  let bytes = 0;
  stream.on("data", (chunk: Uint8Array) => {
    take(chunk);
    bytes += chunk.length;
    if (bytes < BYTES_PER_TURN) return;
    bytes = 0;
    stream.pause();
    setImmediate(() => stream.resume());
  });
}
