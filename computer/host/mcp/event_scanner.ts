const LF = 0x0a;
const CR = 0x0d;
/** Number of characters of a line to keep: the field's name and an id. */
const MAX_LINE_HEAD = 1_024;

/** Scans a stream of server-sent events for the size of the unfinished event and the last id. */
export class EventScanner {
  #size = 0;
  #lastId: string | undefined;
  #line = "";
  #lineLength = 0;
  #afterCr = false;
  #id: string | undefined;
  #hasData = false;

  /** The bytes of the unfinished event. */
  get size(): number {
    return this.#size;
  }

  /** The id of the last event with an id and data; an event without data does not count. */
  get lastId(): string | undefined {
    return this.#lastId;
  }

  /** Scans the next bytes. */
  push(chunk: Uint8Array): void {
    const feeds = new Occurrences(chunk, LF);
    const returns = new Occurrences(chunk, CR);
    let at = 0;
    while (at < chunk.length) {
      const isPair = this.#afterCr && chunk[at] === LF;
      this.#afterCr = false;
      if (isPair) {
        at++;
        continue;
      }
      const end = Math.min(feeds.from(at), returns.from(at));
      this.#take(chunk.subarray(at, end));
      if (end === chunk.length) return;
      this.#afterCr = chunk[end] === CR;
      this.#endLine();
      at = end + 1;
    }
  }

  #take(bytes: Uint8Array): void {
    this.#size += bytes.length;
    this.#lineLength += bytes.length;
    const room = MAX_LINE_HEAD - this.#line.length;
    if (room > 0) this.#line += String.fromCharCode(...bytes.subarray(0, room));
  }

  #endLine(): void {
    this.#size++;
    const [, field, value = ""] =
      /^(id|data)(?:$|: ?([^]*))/.exec(this.#line) ??
        [];
    if (field === "id" && this.#lineLength <= MAX_LINE_HEAD) this.#id = value;
    if (field === "data") this.#hasData = true;
    if (this.#lineLength === 0) {
      if (this.#hasData && this.#id) this.#lastId = this.#id;
      this.#id = undefined;
      this.#hasData = false;
      this.#size = 0;
    }
    this.#line = "";
    this.#lineLength = 0;
  }
}

/** Finds occurrences of a byte in a chunk, in one pass. */
class Occurrences {
  readonly #chunk: Uint8Array;
  readonly #byte: number;
  #next = -1;

  constructor(chunk: Uint8Array, byte: number) {
    this.#chunk = chunk;
    this.#byte = byte;
  }

  /** Returns the first at or after an index, which must not decrease, or the chunk's length. */
  from(at: number): number {
    if (this.#next < at) {
      const found = this.#chunk.indexOf(this.#byte, at);
      this.#next = found === -1 ? this.#chunk.length : found;
    }
    return this.#next;
  }
}
