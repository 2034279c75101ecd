import type { Server as HttpServer } from "node:http";
import type { Server as HttpsServer } from "node:https";
import type { Socket } from "node:net";

/** Bytes in both directions. */
export interface Bytes {
  /** From clients. */
  readonly received: number;
  /** To clients. */
  readonly sent: number;
}

/**
 * Counts the bytes on the wire of all connections of HTTP servers.
 *
 * The runtime counts them per socket: they are added up only when read, at no other cost.
 */
export class Traffic {
  readonly #open = new Set<Socket>();
  #received = 0;
  #sent = 0;

  /**
   * Counts a server's connections from now on.
   *
   * @returns a function that stops it; open connections still count
   */
  watch(server: HttpServer | HttpsServer): () => void {
    const opened = (socket: Socket) => {
      this.#open.add(socket);
      socket.on("close", () => {
        this.#open.delete(socket);
        this.#received += socket.bytesRead;
        this.#sent += socket.bytesWritten;
      });
    };
    server.on("connection", opened);
    return () => server.off("connection", opened);
  }

  /** Returns all bytes so far. */
  read(): Bytes {
    let received = this.#received;
    let sent = this.#sent;
    for (const socket of this.#open) {
      received += socket.bytesRead;
      sent += socket.bytesWritten;
    }
    return { received, sent };
  }
}
