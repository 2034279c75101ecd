import type { Server as HttpServer } from "node:http";
import type { Server as HttpsServer } from "node:https";
import type { Socket } from "node:net";
import { ErrorCode, ProtocolError } from "../../protocol/mod.ts";
import { endSocket } from "../shared/end_socket.ts";
import { type Refusal, refusal, toHttpText } from "../shared/refusal.ts";
import { AddressCount } from "./address_count.ts";
import { addressGroup, clientAddress } from "./client_address.ts";
import { DescriptorRoom } from "./descriptors.ts";
import type { Limiter } from "./limiter.ts";

/** So many refused sockets at once stay open until their answer is read; the others are closed at once. */
const MAX_PENDING_REFUSALS = 16;

/** Seconds after which somebody who found no room may try again. */
const RETRY_AFTER_SECONDS = 5;

/** What counts TCP connections. */
export interface SocketPlacesParts {
  /** How many there may be, and who is told of more. */
  readonly limiter: Limiter;
  /** How many proxies of the operator's own stand in front of the server: theirs are all clients' connections. */
  readonly proxies: number;
  /** How many the process has descriptors for. */
  readonly room?: DescriptorRoom;
}

/**
 * Places of TCP connections, with a session or without: in all fewer than the process has
 * descriptors, since one that has none left can neither accept nor open anything any more.
 */
export class SocketPlaces {
  readonly #limiter: Limiter;
  readonly #room: DescriptorRoom;
  readonly #perAddress: AddressCount;
  #open = 0;
  #answering = 0;

  constructor(
    { limiter, proxies, room = new DescriptorRoom() }: SocketPlacesParts,
  ) {
    this.#limiter = limiter;
    this.#room = room;
    const { socketsPerAddress } = limiter.limits;
    this.#perAddress = new AddressCount(
      proxies > 0 ? Infinity : socketsPerAddress,
    );
  }

  /** Stands between a server that does not listen yet and its connections, before anything is read of them. */
  guard(server: HttpServer | HttpsServer): void {
    const isSecure = "setSecureContext" in server;
    const listeners = server.listeners("connection");
    server.removeAllListeners("connection");
    server.on("connection", (socket: Socket) => {
      if (!this.#admits(socket, isSecure)) return;
      for (const each of listeners) Reflect.apply(each, server, [socket]);
    });
  }

  #admits(socket: Socket, isSecure: boolean): boolean {
    const address = clientAddress(socket.remoteAddress ?? "", undefined, 0);
    const { sockets } = this.#limiter.limits;
    if (this.#open >= sockets || !this.#room.allows(this.#open)) {
      this.#limiter.hit("sockets", { address });
      this.#refuse(socket, isSecure, noRoom());
      return false;
    }
    const giveBack = this.#perAddress.take(addressGroup(address));
    if (giveBack === undefined) {
      const error = this.#limiter.refuse("socketsPerAddress", { address });
      this.#refuse(socket, isSecure, refusal(429, error.toPayload()));
      return false;
    }
    this.#open++;
    socket.on("close", () => {
      this.#open--;
      giveBack();
    });
    return true;
  }

  #refuse(socket: Socket, isSecure: boolean, answer: Refusal): void {
    // Nobody could read an answer before a TLS handshake, which would cost more than all else.
    if (isSecure || this.#answering >= MAX_PENDING_REFUSALS) {
      socket.on("error", () => {});
      socket.destroy();
      return;
    }
    this.#answering++;
    socket.on("close", () => this.#answering--);
    const { headers } = answer;
    endSocket(
      socket,
      toHttpText({
        ...answer,
        headers: { ...headers, "Retry-After": String(RETRY_AFTER_SECONDS) },
      }),
    );
  }
}

const noRoom = (): Refusal =>
  refusal(
    503,
    new ProtocolError(
      ErrorCode.INTERNAL_ERROR,
      "The server has no room for another connection: try again later",
    ).toPayload(),
  );
