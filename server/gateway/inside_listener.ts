import type { Buffer } from "node:buffer";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Server as Engine } from "engine.io";
import type { GatewayPass } from "../auth/gateway_pass.ts";
import type { SocketSlots } from "../limits/socket_slots.ts";
import { endSocket } from "../shared/end_socket.ts";
import { notFound, toHttpText } from "../shared/refusal.ts";
import { closed, OpenSockets } from "../http/closing.ts";
import type { GatewayAddress } from "./gateway.ts";
import { closeServer, listenUnless, newServer } from "../http/listen.ts";
import { minimalRequest } from "../http/upgrade.ts";

/** How long a shutdown waits for WebSockets to close. */
const CLOSE_TIMEOUT_MS = 1000;
/** Any path would do: there is nothing else. */
const PATH = "/smcp/";

/** The parts of a server that {@linkcode InsideListener} needs. */
export interface InsideParts {
  /** Carries the sessions. */
  readonly engine: Engine;
  /** Known by those who may connect. */
  readonly pass: GatewayPass;
  /** Limits TCP connections. */
  readonly sockets: SocketSlots;
  /** Milliseconds for the headers of a request. */
  readonly headerTimeoutMs: number;
  /** Whether the server is shutting down. */
  draining(): boolean;
}

/**
 * The address where the Agents of a gateway connect to their own Server: on this machine, and for
 * who knows the secret of this process. The addresses of clients would ask them for certificates, for
 * credentials, or for another version of the protocol.
 */
export class InsideListener {
  readonly #parts: InsideParts;
  readonly #upgraded = new OpenSockets();
  readonly #server: ReturnType<typeof newServer>;
  #address: Promise<GatewayAddress> | undefined;

  /** Listens when it is first asked for its address. */
  constructor(parts: InsideParts) {
    this.#parts = parts;
    const { headerTimeoutMs } = parts;
    this.#server = newServer((request, response) => {
      request.resume();
      response.writeHead(404).end();
    }, { headerTimeoutMs });
    this.#server.on(
      "upgrade",
      (request: IncomingMessage, socket: Duplex, head: Buffer) =>
        this.#upgrade(request, socket, head),
    );
    parts.sockets.guard(this.#server);
  }

  /** Returns where to connect to, and with what. */
  connect(): Promise<GatewayAddress> {
    return this.#address ??= this.#listen().catch((error) => {
      this.#address = undefined;
      throw error;
    });
  }

  /** Closes all connections. */
  async close(): Promise<void> {
    await closed(this.#upgraded, CLOSE_TIMEOUT_MS);
    if (this.#address) await closeServer(this.#server);
  }

  async #listen(): Promise<GatewayAddress> {
    const { draining, pass: { headers } } = this.#parts;
    const { url } = await listenUnless(draining, this.#server, {});
    return { url, path: PATH, headers };
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { engine, pass, draining } = this.#parts;
    if (draining() || !pass.matches(request.headers)) {
      return endSocket(socket, toHttpText(notFound()));
    }
    this.#upgraded.add(socket);
    engine.handleUpgrade(minimalRequest(request), socket, head);
  }
}
