import type { Socket } from "node:net";
import { LineDecoder } from "../../shared/line_decoder.ts";

const STRICT = {
  encoding: "utf-8",
  encoding_error_handler: "strict",
} as const;

/** Values of JSON on a socket, one a line. */
export class JsonLines {
  readonly #socket: Socket;
  readonly #decoder: LineDecoder;
  readonly #waiting: unknown[] = [];
  #wake: (() => void) | undefined;
  #isEnded = false;

  /**
   * @param most the most bytes of a line that comes
   */
  constructor(socket: Socket, most: number) {
    this.#socket = socket;
    this.#decoder = new LineDecoder(STRICT, most);
    socket.on("data", (bytes: Uint8Array) => this.#take(bytes));
    socket.on("error", () => {}); // `close` follows
    socket.on("close", () => this.#end());
    socket.on("end", () => this.#end());
  }

  /** Sends a value; what the other side does not read any more is dropped. */
  send(value: unknown): void {
    if (this.#socket.writable) this.#socket.write(`${JSON.stringify(value)}\n`);
  }

  /** Returns the next value, or undefined at the end; one reader at a time. */
  async next(): Promise<unknown> {
    while (this.#waiting.length === 0 && !this.#isEnded) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      await promise;
    }
    return this.#waiting.shift();
  }

  /** Ends the connection after what was sent. */
  close(): void {
    this.#socket.end();
  }

  #take(bytes: Uint8Array): void {
    for (const line of this.#decoder.push(bytes)) {
      if (!("text" in line) || !line.valid) return this.#fail();
      try {
        this.#waiting.push(JSON.parse(line.text));
      } catch {
        return this.#fail();
      }
    }
    if (this.#decoder.isSkipping || this.#waiting.length > MAX_WAITING) {
      return this.#fail();
    }
    this.#wake?.();
  }

  /** Whoever sends something else than short lines of JSON is none of our commands. */
  #fail(): void {
    this.#socket.destroy();
    this.#end();
  }

  #end(): void {
    this.#isEnded = true;
    this.#wake?.();
  }
}

/** The most values that wait for their reader: commands send one at a time. */
const MAX_WAITING = 64;
