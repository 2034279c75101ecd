/** Calls a function when nobody has used a thing for some time. */
export class IdleTimer {
  readonly #idleMs: number;
  readonly #idle: () => void;
  #uses = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;

  /** @param idle called each time that the last use has ended so long ago */
  constructor(idleMs: number, idle: () => void) {
    this.#idleMs = idleMs;
    this.#idle = idle;
  }

  /** Whether it is used now. */
  get isUsed(): boolean {
    return this.#uses > 0;
  }

  /** Begins a use; returns what ends it, once. */
  use(): () => void {
    clearTimeout(this.#timer);
    this.#uses++;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      if (--this.#uses > 0 || this.#isClosed) return;
      this.#timer = setTimeout(this.#idle, this.#idleMs);
    };
  }

  /** Waits no more. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }
}
