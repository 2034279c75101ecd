import { ProtocolVersionError } from "../protocol/connect_error.ts";
import { protocolOf } from "../protocol/version.ts";

/** The versions that a client can speak: those with a handshake. */
export type ClientProtocol = "0.2" | "0.3" | "0.4";

/** The versions that a client can speak, the one that it tries first at the front. */
export const CLIENT_PROTOCOLS: readonly ClientProtocol[] = [
  "0.2",
  "0.3",
  "0.4",
];

/**
 * Chooses the version of each attempt to connect.
 *
 * The protocol does not negotiate: a Server refuses every version but its own, and names that one.
 * A client that was left the choice starts again with it, once in an attempt.
 */
export class VersionChoice {
  readonly #isFree: boolean;
  #current: ClientProtocol;
  #hasSwitched = false;

  /**
   * @param wanted the only version, or `auto`
   * @throws {TypeError} for a version that clients cannot speak
   */
  constructor(wanted: ClientProtocol | "auto" = "auto") {
    if (wanted !== "auto" && !CLIENT_PROTOCOLS.includes(wanted)) {
      throw new TypeError(
        `Cannot use the protocol ${JSON.stringify(wanted)}: expected "auto", ${
          CLIENT_PROTOCOLS.map((name) => `"${name}"`).join(", ")
        }`,
      );
    }
    this.#isFree = wanted === "auto";
    this.#current = wanted === "auto" ? CLIENT_PROTOCOLS[0]! : wanted;
  }

  /** The version of the next attempt, and of the connection once there is one. */
  get current(): ClientProtocol {
    return this.#current;
  }

  /** Notes that another attempt begins, or that the Server has accepted the version. */
  restart(): void {
    this.#hasSwitched = false;
  }

  /**
   * Changes to the version of a Server that refused the current one.
   *
   * @returns whether another attempt can help
   */
  refused(error: unknown): boolean {
    if (!(error instanceof ProtocolVersionError)) return false;
    const other = CLIENT_PROTOCOLS.find((name) =>
      name === protocolOf(error.serverVersion)
    );
    if (!this.#isFree || this.#hasSwitched || other === undefined) return false;
    if (other === this.#current) return false;
    this.#current = other;
    return this.#hasSwitched = true;
  }
}
