import type { Socket as Connection } from "engine.io";
import { whenGone } from "../wire/mod.ts";
import { AddressCount } from "./address_count.ts";
import { addressGroup } from "./client_address.ts";

/** The response to a request, or the socket of an upgrade; it closes with the request. */
export interface Carrier {
  /** Adds a listener; it is called once. */
  on(event: "close", listener: () => void): unknown;
}

/**
 * The slots that each address has for its sessions (spec §10).
 *
 * The request that opens a session reserves a slot before Engine.IO sees it, so that no burst of
 * requests exceeds the limit; the slot is released when the session ends, or when the request ends
 * without one.
 */
export class ConnectionSlots {
  readonly #count: AddressCount;
  readonly #pending = new WeakMap<object, () => void>();

  /** @param perAddress sessions at once; `Infinity` for any number */
  constructor(perAddress: number) {
    this.#count = new AddressCount(perAddress);
  }

  /** Reserves a slot for the session that a request opens; returns whether one was free. */
  reserve(
    request: object,
    carrier: Carrier,
    address: string,
  ): boolean {
    const release = this.#count.take(addressGroup(address));
    if (release === undefined) return false;
    this.#pending.set(request, release);
    carrier.on("close", () => {
      if (this.#pending.delete(request)) release();
    });
    return true;
  }

  /**
   * Transfers the slot of a request to the session that it has opened. Where a WebSocket cannot be cut
   * off, its client keeps the slot until it is gone.
   */
  transfer(connection: Connection): void {
    const release = this.#pending.get(connection.request);
    if (release === undefined) return;
    this.#pending.delete(connection.request);
    connection.on("close", () => whenGone(connection.transport, release));
  }
}
