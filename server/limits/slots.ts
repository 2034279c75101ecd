import type { Connection } from "../wire/mod.ts";
import { DescriptorBudget } from "./descriptors.ts";
import { addressGroup } from "./limits.ts";
import { ErrorCode, ProtocolError } from "../../protocol/mod.ts";
import { type Refusal, refusal } from "../shared/refusal.ts";
import type { Limiter } from "./limiter.ts";

/** Counts open connections per address. */
export class AddressCount {
  readonly #max: number;
  readonly #open = new Map<string, number>();

  /** @param max how many may be open from one address; `Infinity` counts nothing */
  constructor(max: number) {
    this.#max = max;
  }

  /**
   * Reserves a slot if one is free.
   *
   * @returns an idempotent function that releases the slot; `undefined` when none is free
   */
  take(address: string): (() => void) | undefined {
    if (this.#max === Infinity) return () => {};
    const open = this.#open.get(address) ?? 0;
    if (open >= this.#max) return undefined;
    this.#open.set(address, open + 1);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      const left = (this.#open.get(address) ?? 0) - 1;
      // Without this, a scan from many addresses would leave millions of entries.
      if (left > 0) this.#open.set(address, left);
      else this.#open.delete(address);
    };
  }

  /** The number of addresses with open connections. */
  get size(): number {
    return this.#open.size;
  }
}

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
    connection.on("close", () => connection.whenGone(release));
  }
}

/** Seconds after which a refused client may try again. */
const RETRY_AFTER_SECONDS = 5;

/** Options for {@linkcode SocketSlots}. */
interface SocketSlotsOptions {
  /** Provides the limits, and records refusals. */
  readonly limiter: Limiter;
  /** Number of trusted proxies; with any, connections are not counted by address. */
  readonly proxies: number;
  /** Limits the connections by the descriptors of the process. */
  readonly descriptors?: DescriptorBudget;
}

/**
 * Limits TCP connections, with or without a session, in total and per address.
 *
 * There are always fewer than the process has descriptors: without one it can neither accept nor
 * open anything.
 */
export class SocketSlots {
  readonly #limiter: Limiter;
  readonly #descriptors: DescriptorBudget;
  readonly #perAddress: AddressCount;
  #open = 0;

  constructor(
    { limiter, proxies, descriptors = new DescriptorBudget() }:
      SocketSlotsOptions,
  ) {
    this.#limiter = limiter;
    this.#descriptors = descriptors;
    const { socketsPerAddress } = limiter.limits;
    this.#perAddress = new AddressCount(
      proxies > 0 ? Infinity : socketsPerAddress,
    );
  }

  /**
   * Reserves a slot, and records a refusal.
   *
   * @param address of the other end, which may be a proxy
   * @returns a function that releases the slot, to be called once; the refusal when none is free
   */
  take(address: string): (() => void) | Refusal {
    const { sockets } = this.#limiter.limits;
    if (this.#open >= sockets || !this.#descriptors.allows(this.#open)) {
      this.#limiter.recordHit("sockets", { address });
      return withRetry(outOfSockets());
    }
    const release = this.#perAddress.take(addressGroup(address));
    if (release === undefined) {
      const error = this.#limiter.refuse("socketsPerAddress", { address });
      return withRetry(refusal(429, error.toPayload()));
    }
    this.#open++;
    return () => {
      this.#open--;
      release();
    };
  }
}

const withRetry = (answer: Refusal): Refusal => ({
  ...answer,
  headers: { ...answer.headers, "Retry-After": String(RETRY_AFTER_SECONDS) },
});

const outOfSockets = (): Refusal =>
  refusal(
    503,
    new ProtocolError(
      ErrorCode.INTERNAL_ERROR,
      "The server cannot accept another connection: try again later",
    ).toPayload(),
  );
