/**
 * The paired devices.
 *
 * @module
 */

/** A paired device, for people. */
export interface PairedDevice {
  /** 16 bytes in base64url. */
  readonly id: string;
  /** What it calls itself, unique here. */
  readonly label: string;
  /** When it was paired, as an ISO date. */
  readonly paired: string;
  /** When it asked or answered last since this Computer started, as an ISO date. */
  readonly seen?: string;
  /** Whether it can be woken. */
  readonly isWoken: boolean;
}
