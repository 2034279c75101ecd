/**
 * Slots for connections: sessions of an address, sockets in all and of an address, and the descriptors
 * of the process, of which enough are left for everything else.
 *
 * @module
 */
import process from "node:process";
import { ErrorCode, ProtocolError } from "../../protocol/mod.ts";
import type { Limiter } from "./limiter.ts";
import { addressGroup } from "./limits.ts";
import { type Refusal, refusal } from "../shared/http.ts";
import type { WireConnection } from "../wire/mod.ts";

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
 * The slots that each address has for its sessions (protocol §10).
 *
 * The request that opens a session reserves a slot before Engine.IO sees it, so that no burst of
 * requests exceeds the limit; the slot is released when the session ends, or when the request ends
 * without one.
 */
export class ConnectionSlots {
  readonly #count: AddressCount;
  readonly #pending = new WeakMap<object, () => void>();

  /** @param perAddress open sessions; `Infinity` for any number */
  constructor(perAddress: number) {
    this.#count = new AddressCount(perAddress);
  }

  /** Reserves a slot for the session that a request opens; returns whether one was free. */
  reserve(request: object, carrier: Carrier, address: string): boolean {
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
  transfer(connection: WireConnection): void {
    const release = this.#pending.get(connection.request);
    if (release === undefined) return;
    this.#pending.delete(connection.request);
    connection.on("close", () => connection.whenGone(release));
  }
}

/** Seconds after which a refused client may try again. */
const RETRY_AFTER_SECONDS = 5;

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

  /**
   * @param limiter provides the limits, and records refusals
   * @param proxies number of trusted proxies; with any, connections are not counted by address
   * @param descriptors limits the connections by the descriptors of the process
   */
  constructor(
    { limiter, proxies }: {
      readonly limiter: Limiter;
      readonly proxies: number;
    },
    descriptors: DescriptorBudget = new DescriptorBudget(),
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
      const problem =
        "The server cannot accept another connection: try again later";
      return refused(503, new ProtocolError(ErrorCode.INTERNAL_ERROR, problem));
    }
    const release = this.#perAddress.take(addressGroup(address));
    if (release === undefined) {
      const error = this.#limiter.refuse("socketsPerAddress", { address });
      return refused(429, error);
    }
    this.#open++;
    return () => {
      this.#open--;
      release();
    };
  }
}

function refused(status: 429 | 503, error: ProtocolError): Refusal {
  const answer = refusal(status, error.toPayload());
  const retry = { "Retry-After": String(RETRY_AFTER_SECONDS) };
  return { ...answer, headers: { ...answer.headers, ...retry } };
}

/** The minimum number of descriptors to try at once where the limit is unknown. */
const DESCRIPTOR_STEP = 256;

/** Parses the soft limit of open files from `/proc/self/limits`; `undefined` if it is missing. */
export function readOpenFiles(limits: string): number | undefined {
  const [, soft] = /^Max open files\s+(\d+|unlimited)\s/m.exec(limits) ?? [];
  if (soft === undefined) return undefined;
  return soft === "unlimited" ? Infinity : Number(soft);
}

/**
 * Returns how many of a number of descriptors may be sockets: a quarter, within bounds, is reserved for
 * everything else. Deno accepts up to 128 connections in one turn, and closes refused ones only after it.
 */
export const socketsWithin = (descriptors: number): number => {
  const quarter = Math.ceil(descriptors / 4);
  const reserved = Math.max(128 + 64, Math.min(quarter, 1024));
  return Math.max(1, descriptors - reserved);
};

/** Provides the number of descriptors of the process. */
export interface DescriptorSource {
  /** Returns the limit; `undefined` where it is unknown. */
  limit(): number | undefined;
  /** Returns how many of `count` more can be opened right now; `undefined` where that is unknown. */
  openable(count: number): number | undefined;
}

/**
 * Limits the number of sockets so that enough descriptors are left for everything else.
 *
 * Where the limit is unknown, it is explored as the number of sockets grows: each trial opens as many
 * descriptors as there are sockets, so that all trials together cost about as much as the sockets.
 */
export class DescriptorBudget {
  readonly #source: DescriptorSource;
  /** The number of sockets known to fit. */
  #sockets = 0;
  /** Whether that is the limit, and needs no more trials. */
  #isFinal = false;

  constructor(source: DescriptorSource = system) {
    this.#source = source;
    const limit = source.limit();
    if (limit === undefined) return;
    this.#sockets = socketsWithin(limit);
    this.#isFinal = true;
  }

  /** Returns whether another socket fits in addition to `open` ones. */
  allows(open: number): boolean {
    if (open >= this.#sockets && !this.#isFinal) {
      const wanted = Math.max(DESCRIPTOR_STEP, open);
      const found = this.#source.openable(wanted) ?? Infinity;
      this.#sockets = socketsWithin(open + found);
      this.#isFinal = found === Infinity || found < wanted;
    }
    return open < this.#sockets;
  }
}

/** Not imported: it is missing where nothing has descriptors. */
const files = () => process.getBuiltinModule("node:fs");

const system: DescriptorSource = {
  limit() {
    const file = "/proc/self/limits";
    try {
      return mayRead(file)
        ? readOpenFiles(files().readFileSync(file, "utf8"))
        : undefined;
    } catch {
      return undefined; // another system, or Deno without all permissions
    }
  },
  openable(count) {
    const { devNull } = process.getBuiltinModule("node:os");
    if (!mayRead(devNull)) return undefined;
    const { closeSync, openSync } = files();
    const opened: number[] = [];
    try {
      while (opened.length < count) opened.push(openSync(devNull, "r"));
      return count;
    } catch (error) {
      return isExhausted(error) ? opened.length : undefined;
    } finally {
      for (const descriptor of opened) closeSync(descriptor);
    }
  },
};

const isExhausted = (error: unknown): boolean =>
  error instanceof Error && "code" in error &&
  (error.code === "EMFILE" || error.code === "ENFILE");

/** Returns whether a file can be read without a permission prompt. */
function mayRead(path: string): boolean {
  const { permissions } = Object(Reflect.get(globalThis, "Deno"));
  return permissions === undefined ||
    permissions.querySync({ name: "read", path }).state === "granted";
}
