/**
 * A Server that lies: it drops, edits, repeats, swaps and reorders what passes between devices and their
 * Computer, by dice that fall the same for the same seed.
 *
 * @module
 */
import type { Bytes } from "../../../shared/approvals/bytes.ts";
import type { Send } from "../../../shared/approvals/device.ts";

/** What a relay does with a message. */
export type Deed =
  | "pass"
  | "drop request"
  | "drop answer"
  | "edit request"
  | "edit answer"
  | "repeat"
  | "swap request"
  | "swap answer"
  | "hold";

/** How often it does what, of a hundred messages; all others pass. */
export type Dice = Readonly<Partial<Record<Exclude<Deed, "pass">, number>>>;

/** Dice that do everything. */
export const ALL_DICE: Dice = {
  "drop request": 8,
  "drop answer": 8,
  "edit request": 8,
  "edit answer": 8,
  "repeat": 10,
  "swap request": 5,
  "swap answer": 5,
  "hold": 8,
};

/** The most messages that it keeps, to use them again. */
const MOST_KEPT = 60;

/** A relay between phones and one Computer. */
export class LyingRelay {
  readonly #handle: (message: Bytes) => Promise<Bytes>;
  readonly #dice: Dice;
  #seed: number;
  readonly #requests: Bytes[] = [];
  readonly #answers: Bytes[] = [];
  /** Requests whose sender was told that they were lost. */
  readonly #held: Bytes[] = [];
  /** How often it did what. */
  readonly done: Partial<Record<Deed, number>> = {};

  constructor(
    handle: (message: Bytes) => Promise<Bytes>,
    dice: Dice = ALL_DICE,
    seed = 1,
  ) {
    this.#handle = handle;
    this.#dice = dice;
    this.#seed = seed;
  }

  /** Sends a message of a device, or does something else. */
  readonly send: Send = async (_token, message) => {
    const deed = this.#deed();
    this.done[deed] = (this.done[deed] ?? 0) + 1;
    this.#keep(this.#requests, message);
    this.#deliverHeld();
    switch (deed) {
      case "drop request":
        throw new Error("lost");
      case "hold":
        this.#held.push(message);
        throw new Error("lost");
      case "edit request":
        return await this.#handle(this.#edited(message));
      case "swap request":
        return await this.#handle(this.#anyOf(this.#requests));
      case "repeat":
        // Also both at the same time.
        void this.#handle(this.#anyOf(this.#requests));
        void this.#handle(message);
        return await this.#pass(message);
    }
    const answer = await this.#pass(message);
    switch (deed) {
      case "drop answer":
        throw new Error("lost");
      case "edit answer":
        return this.#edited(answer);
      case "swap answer":
        return this.#anyOf(this.#answers);
      default:
        return answer;
    }
  };

  async #pass(message: Bytes): Promise<Bytes> {
    const answer = await this.#handle(message);
    this.#keep(this.#answers, answer);
    return answer;
  }

  /** Delivers what was held, after what was sent later. */
  #deliverHeld(): void {
    if (this.#held.length < 3) return;
    for (const message of this.#held.splice(0).toReversed()) {
      void this.#handle(message);
    }
  }

  #deed(): Deed {
    let left = this.#random() * 100;
    for (const [deed, share] of Object.entries(this.#dice)) {
      left -= share;
      if (left < 0) return deed as Deed;
    }
    return "pass";
  }

  #edited(message: Bytes): Bytes {
    const edited = message.slice();
    const at = Math.floor(this.#random() * edited.length);
    edited[at] = (edited[at] ?? 0) ^ 1 << Math.floor(this.#random() * 8);
    return edited;
  }

  #anyOf(kept: readonly Bytes[]): Bytes {
    const at = Math.floor(this.#random() * kept.length);
    return kept[at] ?? new Uint8Array(2);
  }

  #keep(kept: Bytes[], message: Bytes): void {
    kept.push(message);
    if (kept.length > MOST_KEPT) kept.shift();
  }

  /** Returns the next number below 1 (mulberry32). */
  #random(): number {
    this.#seed = this.#seed + 0x6d2b79f5 | 0;
    let t = Math.imul(this.#seed ^ this.#seed >>> 15, 1 | this.#seed);
    t = t + Math.imul(t ^ t >>> 7, 61 | t) ^ t;
    return ((t ^ t >>> 14) >>> 0) / 2 ** 32;
  }
}
