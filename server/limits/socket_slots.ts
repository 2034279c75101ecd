import type { Server as HttpServer } from "node:http";
import type { Server as HttpsServer } from "node:https";
import type { Socket } from "node:net";
import { ErrorCode, ProtocolError } from "../../protocol/mod.ts";
import { endSocket } from "../shared/end_socket.ts";
import { type Refusal, refusal, toHttpText } from "../shared/refusal.ts";
import { AddressCount } from "./address_count.ts";
import { addressGroup, clientAddress } from "./client_address.ts";
import { DescriptorBudget } from "./descriptors.ts";
import type { Limiter } from "./limiter.ts";

/** Maximum number of refused sockets that wait for their answer to be read; others are closed immediately. */
const MAX_PENDING_REFUSALS = 16;

/** Seconds after which a refused client may try again. */
const RETRY_AFTER_SECONDS = 5;

/** Options for {@linkcode SocketSlots}. */
export interface SocketSlotsOptions {
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
  #answering = 0;

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

  /** Refuses excess connections of a server before anything is read from them; call it before the server listens. */
  guard(server: HttpServer | HttpsServer): void {
    const isSecure = "setSecureContext" in server;
    const listeners = server.listeners("connection");
    server.removeAllListeners("connection");
    server.on("connection", (socket: Socket) => {
      if (!this.#admits(socket, isSecure)) return;
      for (const each of listeners) Reflect.apply(each, server, [socket]);
    });
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

  #admits(socket: Socket, isSecure: boolean): boolean {
    const address = clientAddress(socket.remoteAddress ?? "", undefined, 0);
    const taken = this.take(address);
    if (typeof taken === "function") {
      socket.on("close", taken);
      return true;
    }
    this.#refuse(socket, isSecure, taken);
    return false;
  }

  #refuse(socket: Socket, isSecure: boolean, answer: Refusal): void {
    // An answer would need a TLS handshake first, which is expensive.
    if (isSecure || this.#answering >= MAX_PENDING_REFUSALS) {
      socket.on("error", () => {});
      socket.destroy();
      return;
    }
    this.#answering++;
    socket.on("close", () => this.#answering--);
    endSocket(socket, toHttpText(answer));
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
