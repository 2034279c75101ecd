import type { Link } from "./link.ts";
import type { Watch } from "./watch.ts";

/** Another node, as {@linkcode RedisLinks} knows it. */
export class Peer {
  /** Its id. */
  readonly node: string;
  /** What passes between it and this node. */
  readonly link: Link;
  /** Whether it lives. */
  readonly watch: Watch;
  /** A frame arrived since the last look; a flag, since a clock costs more. */
  isHeard = false;
  /** It is no peer any more. */
  isDropped = false;
  /** It is to be flushed at the end of this turn. */
  isScheduled = false;
  /** Settles when the last frame was handed over by Redis. */
  published: Promise<void> = Promise.resolve();
  readonly #waiters: (() => void)[] = [];

  constructor(node: string, link: Link, watch: Watch) {
    this.node = node;
    this.link = link;
    this.watch = watch;
  }

  /** Calls back once, when it has answered or will not. */
  onSettled(callback: () => void): void {
    this.#waiters.push(callback);
  }

  /** It has answered, or will not. */
  settle(): void {
    for (const callback of this.#waiters.splice(0)) callback();
  }
}
