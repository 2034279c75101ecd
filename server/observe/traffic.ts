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
 * Bytes on the wire, of all connections that HTTP servers took.
 *
 * The system counts them anyway: they are added up when somebody asks, and cost nothing before.
 */
export class Traffic {
  readonly #open = new Set<Socket>();
  #received = 0;
  #sent = 0;

  /**
   * Counts a server's connections from now on.
   *
   * @returns stops that; connections that are open still count
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

  /** All bytes so far. */
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
