import type { LinkSettings } from "./links.ts";

/** What tells a frozen node, and one whose process has ended, from one that lives. */
export type WatchLimits = Pick<LinkSettings, "silentMs" | "goneMs">;

/** Watches a node, without a clock of its own. */
export class Watch {
  readonly #limits: WatchLimits;
  #heardAt: number;
  #isSilent = false;
  #emptyAt: number | undefined;
  #wasThere = false;

  constructor(limits: WatchLimits, now: number) {
    this.#limits = limits;
    this.#heardAt = now;
  }

  /** A frame of the node arrived. */
  heard(now: number): void {
    this.#heardAt = now;
    this.#isSilent = false;
  }

  /** Nothing could be heard for a while, since this process itself did not run. */
  excuse(ms: number): void {
    this.#heardAt += ms;
  }

  /** Returns whether the node has become silent since it was asked last. */
  becameSilent(now: number): boolean {
    if (this.#isSilent || now - this.#heardAt < this.#limits.silentMs) {
      return false;
    }
    return this.#isSilent = true;
  }

  /**
   * Somebody looked how many receive what is sent to the node.
   *
   * Only who was there can have ended: a node that is cut off from a Redis which has just taken over
   * lives, and serves until its lease ends.
   *
   * @returns whether its process is proved to have ended
   */
  looked(receivers: number, now: number): boolean {
    if (receivers > 0) this.present();
    if (receivers > 0 || !this.#wasThere) return false;
    this.#emptyAt ??= now;
    return now - this.#emptyAt >= this.#limits.goneMs;
  }

  /** The node receives what is sent to it. */
  present(): void {
    this.#emptyAt = undefined;
    this.#wasThere = true;
  }

  /** Another Redis is asked, or one that has forgotten: what was seen says nothing any more. */
  forgetLooks(): void {
    this.#emptyAt = undefined;
    this.#wasThere = false;
  }
}
