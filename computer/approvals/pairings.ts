/**
 * The pairing that is open: a link with a secret, the keys of the device that opened it first, and six
 * digits that the person types.
 *
 * @module
 */

/** Where the link leads, and where this Computer is. */
export interface PairTarget {
  /** The address of the page. */
  readonly page: string;
  /** The address of the Server. */
  readonly url: string;
  readonly office: string;
  /** The Computer's name there. */
  readonly computer: string;
}

/** How a pairing ended. */
export type PairingEnd =
  | "paired"
  | "expired"
  | "wrong digits"
  | "replaced"
  | "cancelled"
  | "closed";

/** A pairing that waits for a device, and then for its digits. */
export interface OpenPairing {
  /** The link, which is for one device. */
  readonly link: string;
  /** When it ends, in milliseconds since 1970. */
  readonly untilMs: number;
  /** Resolves when a device has opened the link, and shows its digits; never, where none does. */
  readonly opened: Promise<{ readonly label: string }>;
  /** Resolves when it has ended. */
  readonly ended: Promise<PairingEnd>;
  /**
   * Takes the digits that the person typed; `triesLeft` of 0 has ended it.
   *
   * @throws {Error} when no device has opened the link, the pairing has ended, or the file cannot be written
   */
  type(
    digits: string,
  ): Promise<"paired" | { readonly triesLeft: number }>;
  /** Ends it. */
  cancel(): void;
}
