/**
 * Approvals from a person's devices: the Computer's side, and the only place where an answer counts.
 *
 * A device is paired with a link and six digits; then it asks for what is open, and answers. Each of its
 * messages comes through the Server, which can hold back and repeat them, but neither read nor change one.
 * The state is in three classes: the devices of the file of keys, the pairing that is open, and the
 * questions.
 *
 * @module
 */
import type { Bytes } from "../../shared/approvals/bytes.ts";
import type { Confirm } from "../tools/confirmations.ts";
import type { OpenPairing, PairTarget } from "./pairings.ts";
import type { PairedDevice } from "./devices.ts";

/** What {@linkcode Approvals} need of their Computer. */
export interface ApprovalsOptions {
  /** Returns the Computer's name, which devices show. */
  readonly name: () => string;
}

/** What the Server lets a device in by: the SHA-256 of its token, in base64url. */
export interface DeviceVerifier {
  readonly id: string;
  readonly verifier: string;
}

/** The devices that may answer questions of one Computer. */
export class Approvals {
  /**
   * Reads the file of keys, and locks it until `close()`; a file that does not exist is made by the first pairing.
   *
   * @throws {Error} when the file cannot be used: it names the field, the problem and the fix
   */
  static open(_file: string, _options: ApprovalsOptions): Promise<Approvals> {
    throw new Error("Not built yet");
  }

  /** Asks the devices, for `firstAnswer()`; without an answer it waits until the signal withdraws the question. */
  readonly confirm: Confirm = () => "no";

  /** Answers one request of a device; whatever is wrong with it has the same answer. */
  handle(_message: Bytes): Promise<Bytes> {
    throw new Error("Not built yet");
  }

  /** What the Server lets devices in by, the open pairing too. */
  get verifiers(): readonly DeviceVerifier[] {
    return [];
  }

  /** Calls back when the verifiers have changed; returns what stops that. */
  onVerifiers(_changed: () => void): () => void {
    return () => {};
  }

  /**
   * Opens a pairing in place of the one that is open.
   *
   * @throws {TypeError} when no device could use the link: a page or Server without https, but on this machine
   * @throws {Error} when there are eight devices already
   */
  pair(_target: PairTarget): Promise<OpenPairing> {
    throw new Error("Not built yet");
  }

  /** The paired devices, in the order in which they were paired. */
  devices(): readonly PairedDevice[] {
    return [];
  }

  /**
   * Removes a device; from now on it counts no more.
   *
   * @param device its id, or its label
   * @returns the removed device; undefined where there is none
   */
  remove(_device: string): Promise<PairedDevice | undefined> {
    throw new Error("Not built yet");
  }

  /** Ends the open pairing and all polls, and unlocks the file. */
  close(): Promise<void> {
    throw new Error("Not built yet");
  }
}
