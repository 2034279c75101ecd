import type { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { Server as Engine } from "engine.io";
import type { ProtocolName } from "../../protocol/mod.ts";
import type { ServedEngine } from "../http/served_engine.ts";
import { sessionOf, splitTarget } from "../shared/request_target.ts";
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
/** The path of Socket.IO. */
const PATH = "/smcp/";

/** The parts of a server that {@linkcode InsideListener} needs. */
export interface InsideParts {
  /** Carries the sessions. */
  readonly connections: ServedEngine;
  /** The versions that the server lets in, oldest first. */
  readonly protocols: readonly ProtocolName[];
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
  #url: Promise<string> | undefined;

  /** Listens when it is first asked for its address. */
  constructor(parts: InsideParts) {
    this.#parts = parts;
    const { headerTimeoutMs } = parts;
    this.#server = newServer(
      (request, response) => this.#answer(request, response),
      { headerTimeoutMs },
    );
    this.#server.on(
      "upgrade",
      (request: IncomingMessage, socket: Duplex, head: Buffer) =>
        this.#upgrade(request, socket, head),
    );
    parts.sockets.guard(this.#server);
  }

  /** Returns where to connect to, in the newest version. */
  async connect(): Promise<GatewayAddress> {
    const protocol = this.#parts.protocols.at(-1);
    this.#url ??= this.#listen().catch((error) => {
      this.#url = undefined;
      throw error;
    });
    return {
      url: await this.#url,
      path: PATH,
      headers: this.#parts.pass.headers,
      ...(protocol && protocol !== "0.1" && { protocol }),
    };
  }

  /** Closes all connections. */
  async close(): Promise<void> {
    await closed(this.#upgraded, CLOSE_TIMEOUT_MS);
    if (this.#url) await closeServer(this.#server);
  }

  async #listen(): Promise<string> {
    const { draining } = this.#parts;
    return (await listenUnless(draining, this.#server, {})).url;
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const served = this.#servedFor(request);
    if (served === undefined) return endSocket(socket, toHttpText(notFound()));
    this.#upgraded.add(socket);
    served.engine.handleUpgrade(minimalRequest(request), socket, head);
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const served = this.#servedFor(request);
    if (served === undefined) {
      request.resume();
      response.writeHead(404).end();
      return;
    }
    const { query } = splitTarget(request.url ?? "");
    served.guards.watch(request, sessionOf(query));
    served.engine.handleRequest(
      request as Parameters<Engine["handleRequest"]>[0],
      response,
    );
  }

  /** @returns `undefined` for who may not connect, or not now */
  #servedFor({ headers, url = "" }: IncomingMessage): ServedEngine | undefined {
    const { connections, pass, draining } = this.#parts;
    const { path, query } = splitTarget(url);
    if (!pass.matches(headers)) return undefined;
    if (draining() && sessionOf(query) === undefined) return undefined;
    return path === PATH ? connections : undefined;
  }
}
