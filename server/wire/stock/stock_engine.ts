import { Server as Engine, type Socket as RawConnection } from "engine.io";
import type { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Socket as TcpSocket } from "node:net";
import type { Duplex } from "node:stream";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { Server, type Socket } from "socket.io";
import { SMCP_NAMESPACE } from "../../../protocol/mod.ts";
import {
  type Exchange,
  type RequestHead,
  sessionOf,
  splitTarget,
} from "../../shared/http.ts";
import { log } from "../../shared/log.ts";
import type {
  Carried,
  ClientEngine,
  ClientSocket,
  Connection,
  ConnectionEvents,
  ConnectionGuard,
  PacketData,
  Reception,
} from "../connection.ts";
import { guardedParser, PacketDecoder } from "../packet/packet_decoder.ts";
import type { CutOff } from "../websocket/send_queue.ts";
import { TapSocket } from "../websocket/tap_socket.ts";
import type { WsOption } from "./frame_engine.ts";
import {
  admitStock,
  carrierOf,
  connectionOf,
  connectionsOf,
  decoderOf,
  hasQueuedPackets,
  isKnownAlive,
  isPongDue,
  namespaceCount,
  webSocketOf,
} from "./private_fields.ts";

type EngineRequest = Parameters<Engine["handleRequest"]>[0];

/** Options for {@linkcode StockEngine}. */
interface StockEngineOptions {
  /** Maximum size of a client's message. */
  readonly maxMessageBytes: number;
  /** Pings of the server. */
  readonly heartbeat: {
    readonly intervalMs: number;
    readonly timeoutMs: number;
  };
  /** Milliseconds from a connection to its admission. */
  readonly handshakeTimeoutMs: number;
  /** What the ids of sessions begin with, so that they name their node. */
  readonly sessionPrefix: string | undefined;
}

/** The stock Engine.IO and Socket.IO servers. */
export class StockEngine implements ClientEngine {
  readonly #engine: Engine;
  readonly #io: Server;
  readonly #known = new WeakMap<object, StockConnection>();
  #latest: ConnectionGuard | undefined;

  /** @param ws the WebSocket implementation */
  constructor(options: StockEngineOptions, ws: WsOption) {
    const { heartbeat, sessionPrefix } = options;
    const engine = this.#engine = new Engine({
      maxHttpBufferSize: options.maxMessageBytes,
      perMessageDeflate: false,
      httpCompression: false,
      transports: ["polling", "websocket"],
      ...ws,
      pingInterval: heartbeat.intervalMs,
      pingTimeout: heartbeat.timeoutMs,
    });
    if (sessionPrefix !== undefined) {
      const random = engine.generateId.bind(engine);
      engine.generateId = (request) => sessionPrefix + random(request);
    }
    this.#io = new Server({
      // A decoder is created right after its connection.
      parser: guardedParser(() => {
        if (this.#latest) return this.#latest;
        throw new Error("Cannot decode: no connection was opened");
      }),
      serveClient: false,
      // A refused socket keeps its connection for this long.
      connectTimeout: options.handshakeTimeoutMs,
      cleanupEmptyChildNamespaces: true,
    });
  }

  get connections(): Connection[] {
    return connectionsOf(this.#engine).map((raw) => this.#connection(raw));
  }

  serve(reception: Reception): void {
    this.#engine.on("connection", (raw: RawConnection) => {
      raw.on("packet", endWhenAsked);
      const connection = this.#connection(raw);
      this.#latest = connection.guard = reception.opened(connection);
    });
    this.#engine.on(
      "connection_error",
      (refusal: EngineRefusal) =>
        reception.refused(refusal.req, refusal.code, refusal.message),
    );
    this.#io.bind(this.#engine);
    const nsp = this.#io.of(SMCP_NAMESPACE);
    nsp.use(async (socket, next) => {
      const { handshake } = socket;
      const client = new StockSocket(socket, this.#connection(socket.conn));
      const verdict = await reception.admit(client, handshake.auth);
      // Credentials must not stay in memory; the session has all that is needed.
      handshake.auth = {};
      if (verdict instanceof Error) return next(verdict);
      socket.data = verdict;
      next();
    });
    // Synchronous: an event that arrives before its listener is lost.
    nsp.on("connection", (socket) => {
      socket.on("error", connectionFailed);
      const begin: () => void = socket.data;
      socket.data = undefined; // it holds the whole admission
      begin();
    });
    refuseNamespaces(
      this.#io,
      ({ conn }) => reception.elsewhere(this.#connection(conn)),
    );
  }

  answer(
    { incoming, outgoing }: Exchange,
    headers: Readonly<Record<string, string>>,
  ): Response {
    const request = incoming as EngineRequest;
    const response = outgoing as ServerResponse;
    for (const [name, value] of Object.entries(headers)) {
      response.setHeader(name, value);
    }
    const sid = sessionOf(splitTarget(request.url ?? "").query);
    const raw = request.method === "POST" && sid
      ? connectionOf(this.#engine, sid)
      : undefined;
    const watch = raw && this.#connection(raw).guard?.watch();
    if (watch) request.on("data", watch);
    this.#engine.handleRequest(request, response);
    return RESPONSE_ALREADY_SENT;
  }

  /** Handles an upgrade that may pass. */
  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#engine.handleUpgrade(request as EngineRequest, socket, head);
  }

  async close(): Promise<void> {
    await this.#io.close();
  }

  #connection(raw: RawConnection): StockConnection {
    const known = this.#known.get(raw) ?? new StockConnection(raw);
    this.#known.set(raw, known);
    return known;
  }
}

/** A request that Engine.IO refused. */
interface EngineRefusal {
  readonly req: RequestHead;
  readonly code: number;
  readonly message: string;
}

/** Maximum number of unknown namespaces, which exist while they are refused; beyond it Socket.IO refuses them itself. */
const MAX_NAMESPACES = 100;

/**
 * Refuses sockets on namespaces that `io` does not have (spec §2).
 *
 * @param refuse returns the error for a client
 */
export function refuseNamespaces(
  io: Server,
  refuse: (socket: Socket) => Error,
): void {
  const use = (socket: Socket, next: (error: Error) => void) =>
    next(refuse(socket));
  io.of("/").use(use);
  io.of((_name, _auth, next) => next(null, namespaceCount(io) < MAX_NAMESPACES))
    .use(use);
}

/**
 * Closes a connection when its client sends a close packet; a listener of Engine.IO's event `packet`.
 *
 * Over a WebSocket, Engine.IO would ignore it and wait for the ping timeout.
 */
function endWhenAsked(
  this: RawConnection,
  { type }: { readonly type: string },
): void {
  if (type === "close") this.close(true);
}

/** Also called for a client's own event "error", so its argument is not logged. */
function connectionFailed(this: Socket): void {
  log.debug("A connection failed", { socket: this.id });
}

/** A connection of Engine.IO. */
export class StockConnection implements Connection {
  /** Checks what it sends. */
  guard: ConnectionGuard | undefined;
  readonly #raw: RawConnection;

  constructor(raw: RawConnection) {
    this.#raw = raw;
  }

  get request(): RequestHead {
    return this.#raw.request;
  }

  get remoteAddress(): string {
    return this.#raw.remoteAddress;
  }

  get isOpen(): boolean {
    return this.#raw.readyState === "open";
  }

  get isWritable(): boolean {
    return this.#raw.transport.writable;
  }

  get hasQueued(): boolean {
    return hasQueuedPackets(this.#raw);
  }

  get isPongDue(): boolean {
    return isPongDue(this.#raw);
  }

  get isKnownAlive(): boolean {
    return isKnownAlive(this.#raw);
  }

  write(data: PacketData): void {
    this.#raw.write(data);
  }

  close(discard?: boolean): void {
    this.#raw.close(discard);
  }

  admit(): TapSocket | undefined {
    const socket = webSocketOf(this.#raw.transport);
    admitStock(socket);
    if (!(socket instanceof TapSocket)) return undefined;
    socket.admit();
    return socket;
  }

  limitQueue(maxBytes: number, cutOff: CutOff): boolean {
    const socket = webSocketOf(this.#raw.transport);
    if (!(socket instanceof TapSocket)) return false;
    socket.limitQueue(maxBytes, cutOff);
    return true;
  }

  hold(held: boolean): void {
    const socket = webSocketOf(this.#raw.transport);
    if (!isPausable(socket)) return;
    if (held) socket.pause();
    else socket.resume();
  }

  /** Calls back at once: a connection is sure to end. */
  whenGone(gone: () => void): void {
    gone();
  }

  /** The runtime counts it at no other cost. */
  carried(): Carried | undefined {
    const carrier = carrierOf(webSocketOf(this.#raw.transport));
    return carrier instanceof TcpSocket
      ? {
        received: carrier.bytesRead,
        sent: carrier.bytesWritten,
        queued: carrier.writableLength,
      }
      : undefined;
  }

  on<E extends keyof ConnectionEvents>(
    event: E,
    listener: ConnectionEvents[E],
  ): void {
    this.#raw.on(event, listener);
  }

  off<E extends keyof ConnectionEvents>(
    event: E,
    listener: ConnectionEvents[E],
  ): void {
    this.#raw.off(event, listener);
  }
}

const isPausable = (
  socket: unknown,
): socket is { pause(): void; resume(): void } =>
  socket instanceof Object && "pause" in socket && "resume" in socket;

/** A socket of Socket.IO. */
export class StockSocket implements ClientSocket {
  readonly conn: Connection;
  readonly #raw: Socket;

  constructor(raw: Socket, conn: Connection) {
    this.#raw = raw;
    this.conn = conn;
  }

  get id(): string {
    return this.#raw.id;
  }

  get connected(): boolean {
    return this.#raw.connected;
  }

  get decoder(): PacketDecoder | undefined {
    const decoder = decoderOf(this.#raw);
    return decoder instanceof PacketDecoder ? decoder : undefined;
  }

  disconnect(): void {
    this.#raw.disconnect(true);
  }

  /** Socket.IO emits it once, and `once` would keep three more objects until then. */
  once(event: "disconnect", left: () => void): void {
    this.#raw.on(event, left);
  }
}
