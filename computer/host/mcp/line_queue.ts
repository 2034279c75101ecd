import type { Readable } from "node:stream";
import type { Line } from "./line_decoder.ts";

/** How many lines are taken before everything else gets its turn. */
const LINES = 50;
/** Bytes that are read before everything else gets its turn. */
const BYTES = 65_536;

/**
 * Takes lines of a stream a few at a time, and lets it wait meanwhile.
 *
 * A child that always has more to say would else keep this process from everything else: Deno
 * reads on within one turn of the event loop for as long as there is something to read.
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
   * Takes lines, or keeps them for the next turns.
   *
   * @param bytes of the chunk that they came with
   */
  push(lines: readonly Line[], bytes: number): void {
    for (const line of lines) this.#lines.push(line);
    this.#bytes += bytes;
    if (this.#turn === undefined) this.#run();
  }

  /** Takes all that is left at once. */
  end(): void {
    clearImmediate(this.#turn);
    this.#turn = undefined;
    this.#lines.splice(0).forEach(this.#take);
  }

  #run(): void {
    this.#turn = undefined;
    this.#lines.splice(0, LINES).forEach(this.#take);
    const isDone = this.#lines.length === 0;
    if (isDone && this.#bytes < BYTES) return void this.#stream.resume();
    if (isDone) this.#bytes = 0;
    this.#stream.pause();
    this.#turn = setImmediate(() => this.#run());
  }
}

/** Reads a stream without a promise to take it whole at once; see {@linkcode LineQueue}. */
export function readInTurns(
  stream: Readable,
  take: (chunk: Uint8Array) => void,
): void {
  let bytes = 0;
  stream.on("data", (chunk: Uint8Array) => {
    take(chunk);
    bytes += chunk.length;
    if (bytes < BYTES) return;
    bytes = 0;
    stream.pause();
    setImmediate(() => stream.resume());
  });
}
