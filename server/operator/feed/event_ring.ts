/** An event, as it is sent to all who may see it. */
export interface RingEntry {
  /** Its number. */
  readonly seq: number;
  /** The office that it is about, if it is about one. */
  readonly office: string | undefined;
  /** The name of its kind. */
  readonly kind: string;
  /** Its fields as JSON. */
  readonly json: string;
}

/** The most that is kept. */
export interface RingSize {
  /** Number of events. */
  readonly events: number;
  /** Characters of all of them. */
  readonly characters: number;
}

/** The latest events, numbered; the oldest are forgotten. Has no side effects. */
export class EventRing {
  readonly #size: RingSize;
  readonly #entries: (RingEntry | undefined)[];
  #first = 1;
  #next = 1;
  #characters = 0;

  /** Keeps as much as `size` says. */
  constructor(size: RingSize) {
    this.#size = size;
    this.#entries = Array.from({ length: size.events });
  }

  /** The number of the oldest event that is kept. */
  get first(): number {
    return this.#first;
  }

  /** The number that the next event will have. */
  get next(): number {
    return this.#next;
  }

  /** Adds an event. */
  push(event: Omit<RingEntry, "seq">): void {
    const { events, characters } = this.#size;
    if (this.#next - this.#first >= events) this.#forget();
    const seq = this.#next++;
    this.#entries[seq % events] = { ...event, seq };
    this.#characters += event.json.length;
    // The newest is kept in any case.
    while (this.#characters > characters && this.#next - this.#first > 1) {
      this.#forget();
    }
  }

  /** Returns an event that is kept. */
  at(seq: number): RingEntry | undefined {
    return seq >= this.#first && seq < this.#next
      ? this.#entries[seq % this.#size.events]
      : undefined;
  }

  #forget(): void {
    const at = this.#first++ % this.#size.events;
    this.#characters -= this.#entries[at]?.json.length ?? 0;
    this.#entries[at] = undefined;
  }
}
