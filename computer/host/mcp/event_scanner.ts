const LF = 0x0a;
const CR = 0x0d;
/** Characters of a line that are looked at: an id may have so many, less its field's name. */
const LINE_HEAD = 1_024;

/** Follows a stream of server-sent events, byte by byte: how large the unfinished one is, and the last id. */
export class EventScanner {
  #size = 0;
  #lastId: string | undefined;
  #line = "";
  #lineLength = 0;
  #afterCr = false;
  #id: string | undefined;
  #hasData = false;

  /** Bytes of the event that is not finished yet. */
  get size(): number {
    return this.#size;
  }

  /** The id of the last event that had one, and data: without data it counts for nobody. */
  get lastId(): string | undefined {
    return this.#lastId;
  }

  /** Takes the next bytes. */
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
    const room = LINE_HEAD - this.#line.length;
    if (room > 0) this.#line += String.fromCharCode(...bytes.subarray(0, room));
  }

  #endLine(): void {
    this.#size++;
    const [, field, value = ""] =
      /^(id|data)(?:$|: ?([^]*))/.exec(this.#line) ??
        [];
    if (field === "id" && this.#lineLength <= LINE_HEAD) this.#id = value;
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

/** Where a byte occurs in a chunk; none is looked for twice. */
class Occurrences {
  readonly #chunk: Uint8Array;
  readonly #byte: number;
  #next = -1;

  constructor(chunk: Uint8Array, byte: number) {
    this.#chunk = chunk;
    this.#byte = byte;
  }

  /** The first at or after an index, which must not decrease; the chunk's length when there is none. */
  from(at: number): number {
    if (this.#next < at) {
      const found = this.#chunk.indexOf(this.#byte, at);
      this.#next = found === -1 ? this.#chunk.length : found;
    }
    return this.#next;
  }
}
