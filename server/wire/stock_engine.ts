/**
 * Stock Engine.IO and Socket.IO, on `node:http`, with a WebSocket server of our own below them. Only the
 * entry that listens loads this file.
 *
 * It reads fields of `socket.io` and `engine.io` that their types declare private, by their names in
 * brackets or by `Reflect`, and one whose name has an underscore. The versions of both are pinned because
 * of them, and `tests/unit/server/wire/private_fields_test.ts` has a test for each.
 *
 * @module
 */
import { Server as Engine, type Socket as RawConnection } from "engine.io";
import type { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Socket as TcpSocket } from "node:net";
import type { Duplex } from "node:stream";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { Server, type Socket } from "socket.io";
import { SMCP_NAMESPACE } from "../../protocol/mod.ts";
import {
  type Exchange,
  type RequestHead,
  sessionOf,
  splitTarget,
  type WsEngine,
} from "../shared/http.ts";
import { log } from "../shared/log.ts";
import {
  asksForWebSocket,
  type Carried,
  type ClientEngine,
  type ClientSocket,
  type ConnectionGuard,
  type CutOff,
  type EngineOptions,
  firstProtocol,
  type PacketData,
  type Reception,
  TapSocket,
  type WireConnection,
} from "./wire_connection.ts";
import { guardedParser, PacketDecoder } from "./packet_decoder.ts";
import { createHash } from "node:crypto";
import { type ServerOptions, type WebSocket, WebSocketServer } from "ws";
import { endSocket } from "../shared/end_socket.ts";
import { FrameSocket, type UploadLimits, UploadWatch } from "./frame_socket.ts";

// @ts-types="npm:@types/ws@^8.18.2"

type EngineRequest = Parameters<Engine["handleRequest"]>[0];

/** The stock Engine.IO and Socket.IO servers. */
export class StockEngine implements ClientEngine {
  readonly #engine: Engine;
  readonly #io: Server;
  readonly #known = new WeakMap<object, StockConnection>();
  #latest: ConnectionGuard | undefined;

  /**
   * @param options `handshakeTimeoutMs`: milliseconds from a connection to its admission
   * @param ws the WebSocket implementation
   */
  constructor(
    options: EngineOptions & { readonly handshakeTimeoutMs: number },
    ws: WsOption,
  ) {
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

  get connections(): WireConnection[] {
    const open = Object.values(this.#engine["clients"]);
    return open.map((raw: RawConnection) => this.#connection(raw));
  }

  serve(reception: Reception): void {
    this.#engine.on("connection", (raw: RawConnection) => {
      raw.on("packet", endWhenAsked);
      raw.on("close", endTransport);
      const connection = this.#connection(raw);
      this.#latest = connection.guard = reception.opened(connection);
    });
    this.#engine.on(
      "connection_error",
      ({ req, code, message }: {
        readonly req: RequestHead;
        readonly code: number;
        readonly message: string;
      }) => reception.refused(req, code, message),
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
    refuseNamespaces(this.#io, ({ conn }) => {
      return reception.elsewhere(this.#connection(conn));
    });
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
    const sid = sessionOf(splitTarget(request.url ?? "").query) ?? "";
    const raw = request.method === "POST" && connectionOf(this.#engine, sid);
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
    for (const raw of Object.values(this.#engine["clients"])) endClosing(raw);
  }

  #connection(raw: RawConnection): StockConnection {
    const known = this.#known.get(raw) ?? new StockConnection(raw);
    this.#known.set(raw, known);
    return known;
  }
}

/** Maximum number of unknown namespaces, which exist while they are refused; beyond it Socket.IO refuses them itself. */
const MAX_NAMESPACES = 100;

/**
 * Refuses sockets on namespaces that `io` does not have (protocol §2).
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
  // Those that clients made up count, too.
  io.of((_name, _auth, next) => next(null, io._nsps.size < MAX_NAMESPACES))
    .use(use);
}

/** Returns the open connection with an id, which is the `sid` of its requests. */
export const connectionOf = (
  engine: Engine,
  sid: string,
): RawConnection | undefined =>
  Object.hasOwn(engine["clients"], sid) ? engine["clients"][sid] : undefined;

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

/**
 * Ends a connection over polling that was closing before: its close packet waits for the next poll, with
 * its timers, for up to 30 seconds, and closing it again changes nothing.
 */
export function endClosing({ transport }: RawConnection): void {
  const end: unknown = Reflect.get(transport, "shouldClose");
  if (typeof end !== "function") return;
  Reflect.set(transport, "shouldClose", null);
  end();
}

/** Ends the transport of a connection that has ended: no poll finds it any more, and it waits for one. */
function endTransport(this: RawConnection): void {
  endClosing(this);
}

/** Also called for a client's own event "error", so its argument is not logged. */
function connectionFailed(this: Socket): void {
  log.debug("A connection failed", { socket: this.id });
}

/** A connection of Engine.IO. */
export class StockConnection implements WireConnection {
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
    return this.#raw["writeBuffer"].length > 0;
  }

  get isPongDue(): boolean {
    return this.#raw["pingTimeoutTimer"] !== null;
  }

  get isKnownAlive(): boolean {
    const raw = this.#raw;
    return raw.readyState === "open" &&
      (raw["pingTimeoutTimer"] === null || raw["hasRefreshedPingTimeout"]);
  }

  write(data: PacketData): void {
    this.#raw.write(data);
  }

  close(discard?: boolean): void {
    this.#raw.close(discard);
  }

  /** The WebSocket below its transport, ours or that of `ws`; polling has none. */
  get #webSocket(): unknown {
    return Reflect.get(this.#raw.transport, "socket");
  }

  admit(): TapSocket | undefined {
    const socket = this.#webSocket;
    if (socket instanceof TapSocket) {
      socket.admit();
      return socket;
    }
    if (socket instanceof Object) admissions.get(socket)?.();
    return undefined;
  }

  limitQueue(maxBytes: number, cutOff: CutOff): boolean {
    const socket = this.#webSocket;
    if (!(socket instanceof TapSocket)) return false;
    socket.limitQueue(maxBytes, cutOff);
    return true;
  }

  hold(held: boolean): void {
    const socket = this.#webSocket;
    if (!isPausable(socket)) return;
    if (held) socket.pause();
    else socket.resume();
  }

  /** Calls back immediately: a connection is sure to end. */
  whenGone(gone: () => void): void {
    gone();
  }

  /** The runtime counts it at no other cost. */
  carried(): Carried | undefined {
    const socket = this.#webSocket;
    const carrier: unknown = socket instanceof Object
      ? Reflect.get(socket, "_socket")
      : undefined;
    if (!(carrier instanceof TcpSocket)) return undefined;
    const { bytesRead, bytesWritten, writableLength } = carrier;
    return { received: bytesRead, sent: bytesWritten, queued: writableLength };
  }

  on(...listening: Parameters<WireConnection["on"]>): void {
    this.#raw.on(...listening);
  }

  off(...listening: Parameters<WireConnection["off"]>): void {
    this.#raw.off(...listening);
  }
}

/** Bun has its own `ws`, whose sockets are of no class that it shows. */
const isPausable = (
  socket: unknown,
): socket is { pause(): void; resume(): void } =>
  socket instanceof Object && "pause" in socket && "resume" in socket;

/** A socket of Socket.IO. */
export class StockSocket implements ClientSocket {
  readonly conn: WireConnection;
  readonly #raw: Socket;

  constructor(raw: Socket, conn: WireConnection) {
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
    const decoder: unknown = this.#raw.client["decoder"];
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

/** The option of Engine.IO that selects the WebSocket implementation. */
interface WsOption {
  /** Created by each engine. */
  readonly wsEngine: new (options: { maxPayload: number }) => object;
}

/**
 * Returns the option of Engine.IO that selects the WebSocket implementation; all engines that get the
 * same one share the limits.
 *
 * @param limits limits of unfinished messages; used by the fast engine only
 * @param earlyPayload maximum bytes of a message without a session; with the stock engine, of about all
 * messages together
 * @throws {TypeError} when the engine is unknown, or the rate is invalid
 */
export function wsEngineOption(
  name: WsEngine,
  limits: UploadLimits,
  earlyPayload: number,
): WsOption {
  if (name === "stock") return { wsEngine: stockWebSockets(2 * earlyPayload) };
  if (name !== "fast") {
    throw new TypeError(
      `Cannot use wsEngine ${JSON.stringify(name)}: expected "fast" or "stock"`,
    );
  }
  if (!(limits.bytesPerSecond > 0)) {
    throw new TypeError(
      `Cannot use minUploadRate ${limits.bytesPerSecond}: expected a number above 0`,
    );
  }
  return { wsEngine: frameWebSockets(new UploadWatch(limits), earlyPayload) };
}

/** The string that RFC 6455 §4.2.2 appends to the key. */
const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/** Accepts WebSocket upgrades for Engine.IO, in place of the server of the package `ws`. */
const frameWebSockets = (
  uploads: UploadWatch,
  earlyPayload: number,
): WsOption["wsEngine"] =>
  class {
    readonly #maxPayload: number;

    /** @param options `maxPayload`: maximum size of a message in bytes */
    constructor({ maxPayload }: { maxPayload: number }) {
      this.#maxPayload = maxPayload;
    }

    /** Answers an upgrade request; refuses an invalid one with 400 (RFC 6455 §4.2). */
    handleUpgrade(
      { method, headers }: IncomingMessage,
      socket: Duplex,
      head: Buffer,
      upgraded: (socket: FrameSocket) => void,
    ): void {
      if (!asksForWebSocket(method, headers)) {
        return endSocket(
          socket,
          "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n" +
            "Sec-WebSocket-Version: 13\r\nContent-Type: text/plain\r\n" +
            "Content-Length: 11\r\n\r\nBad Request",
        );
      }
      if (!socket.readable || !socket.writable) return void socket.destroy();
      const accept = createHash("sha1").update(
        headers["sec-websocket-key"] + GUID,
      ).digest("base64");
      const protocol = firstProtocol(headers["sec-websocket-protocol"]);
      socket.write(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n" +
          `Connection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n` +
          `${protocol ? `Sec-WebSocket-Protocol: ${protocol}\r\n` : ""}\r\n`,
      );
      if (socket instanceof TcpSocket) socket.setTimeout(0).setNoDelay();
      // Bytes that came with the request are read together with later ones, once there is a listener.
      if (head.length > 0) socket.unshift(head);
      const maxPayload = this.#maxPayload;
      upgraded(new FrameSocket(socket, maxPayload, uploads, earlyPayload));
    }

    /** Stops watching unfinished messages. */
    close(): void {
      uploads.checks.clear();
    }
  };

/** The functions that end the early limit of a WebSocket of `ws`. */
const admissions = new WeakMap<object, () => void>();

/**
 * The server of the package `ws`, with a limit on what a peer may send before it has a session.
 *
 * `ws` has one size limit for all peers, and collects a whole message before it can be refused. So the
 * bytes are counted below it, and a peer that sends too many is disconnected.
 */
const stockWebSockets = (
  earlyBytes: number,
): new (options: ServerOptions) => WebSocketServer =>
  class extends WebSocketServer {
    /** Answers an upgrade request, and counts the bytes that follow. */
    override handleUpgrade(
      request: IncomingMessage,
      socket: Duplex,
      head: Buffer,
      upgraded: (client: WebSocket, request: IncomingMessage) => void,
    ): void {
      super.handleUpgrade(request, socket, head, (client: WebSocket) => {
        let left = earlyBytes;
        const count = (chunk: Uint8Array) => {
          left -= chunk.length;
          if (left < 0) client.terminate();
        };
        socket.on("data", count);
        admissions.set(client, () => socket.off("data", count));
        upgraded(client, request);
      });
    }
  };
