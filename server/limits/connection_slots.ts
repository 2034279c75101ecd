import type { IncomingMessage } from "node:http";
import type { Socket as Connection } from "engine.io";
import { AddressCount } from "./address_count.ts";
import { addressGroup } from "./client_address.ts";

/** What carries a request, and closes with it: the response, or the socket of an upgrade. */
export interface Carrier {
  /** Tells when it is closed, which it is once. */
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
  readonly #pending = new WeakMap<IncomingMessage, () => void>();

  /** @param perAddress sessions at once; `Infinity` for any number */
  constructor(perAddress: number) {
    this.#count = new AddressCount(perAddress);
  }

  /** Reserves a slot for the session that a request opens; returns whether one was free. */
  take(request: IncomingMessage, carrier: Carrier, address: string): boolean {
    const giveBack = this.#count.take(addressGroup(address));
    if (giveBack === undefined) return false;
    this.#pending.set(request, giveBack);
    carrier.on("close", () => {
      if (this.#pending.delete(request)) giveBack();
    });
    return true;
  }

  /** Transfers the slot of a request to the session that it has opened. */
  opened(connection: Connection): void {
    const giveBack = this.#pending.get(connection.request);
    if (giveBack === undefined) return;
    this.#pending.delete(connection.request);
    connection.on("close", giveBack);
  }
}
