import type { Server as HttpServer } from "node:http";
import type { Server as HttpsServer } from "node:https";
import type { Socket } from "node:net";
import { clientAddress } from "../limits/limits.ts";
import type { SocketSlots } from "../limits/slots.ts";
import { endSocket, toHttpText } from "../shared/end_socket.ts";
import type { Refusal } from "../shared/http.ts";

/** Maximum number of refused sockets that wait for their answer to be read; others are closed immediately. */
const MAX_PENDING_REFUSALS = 16;

/** Limits the TCP connections of servers, before anything is read from them. */
export class SocketGate {
  readonly #slots: SocketSlots;
  #answering = 0;

  constructor(slots: SocketSlots) {
    this.#slots = slots;
  }

  /** Refuses excess connections of a server; call it before the server listens. */
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
    const taken = this.#slots.take(address);
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
