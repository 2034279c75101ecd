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
 * The places that an address has for its sessions (spec §10).
 *
 * A place is taken by the request that opens a session, before Engine.IO sees it, so that no burst
 * of requests gets past the limit; it is given back when the session ends, or when the request ends
 * without one.
 */
export class ConnectionSlots {
  readonly #count: AddressCount;
  readonly #pending = new WeakMap<IncomingMessage, () => void>();

  /** @param perAddress sessions at once; `Infinity` for any number */
  constructor(perAddress: number) {
    this.#count = new AddressCount(perAddress);
  }

  /** Takes a place for the session that a request opens; tells whether there was one. */
  take(request: IncomingMessage, carrier: Carrier, address: string): boolean {
    const giveBack = this.#count.take(addressGroup(address));
    if (giveBack === undefined) return false;
    this.#pending.set(request, giveBack);
    carrier.on("close", () => {
      if (this.#pending.delete(request)) giveBack();
    });
    return true;
  }

  /** The request has opened this session: its place is the session's from now on. */
  opened(connection: Connection): void {
    const giveBack = this.#pending.get(connection.request);
    if (giveBack === undefined) return;
    this.#pending.delete(connection.request);
    connection.on("close", giveBack);
  }
}
