import { Server as Engine, type Socket as Connection } from "engine.io";
import { Server as SocketServer } from "socket.io";
import { Arrivals, guardQueue, PacketGuards } from "../limits/guards.ts";
import { addressOf } from "../limits/limits.ts";
import { connectionsOf, type WsOption } from "../wire/mod.ts";
import type { Limiter } from "../limits/limiter.ts";
import type { ConnectionSlots } from "../limits/slots.ts";
import { endWhenAsked, flushed } from "./closing.ts";
import { ErrorCode } from "../../protocol/mod.ts";

/** Pings of the server; both values are sent to clients, which detect a lost server with them. */
export interface Heartbeat {
  /** Milliseconds between two pings. */
  readonly intervalMs: number;
  /** Milliseconds that a client has to answer one. */
  readonly timeoutMs: number;
}

/** Creates the Engine.IO server. */
function newEngine(
  { maxMessageBytes, ws, heartbeat, sessionPrefix }: ConnectionsOptions,
): Engine {
  const engine = new Engine({
    maxHttpBufferSize: maxMessageBytes,
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
  return engine;
}

/** How long a shutdown waits for clients that do not read. */
const FLUSH_TIMEOUT_MS = 1000;

/** Options for {@linkcode Connections}. */
export interface ConnectionsOptions {
  /** Maximum size of a client's message. */
  readonly maxMessageBytes: number;
  /** The WebSocket implementation. */
  readonly ws: WsOption;
  /** Pings of the server. */
  readonly heartbeat: Heartbeat;
  /** What the ids of sessions begin with, so that they name their node. */
  readonly sessionPrefix?: string | undefined;
  /** Maximum size of a packet that requests a session. */
  readonly maxConnectBytes: number;
  /** Limits the sessions of each address. */
  readonly slots: ConnectionSlots;
  /** Milliseconds for a new connection to request a session. */
  readonly connectTimeoutMs: number;
  /** Milliseconds from a connection to its admission. */
  readonly handshakeTimeoutMs: number;
  /** Provides the limits, and records refusals. */
  readonly limiter: Limiter;
  /** Number of trusted proxies in front of the server. */
  readonly proxies: number;
}

/** The Engine.IO and Socket.IO servers, and the limits of their connections. */
export class Connections {
  /** Handles the requests and upgrades that passed the gate. */
  readonly engine: Engine;
  /** The Socket.IO server on top of it. */
  readonly io: SocketServer;
  /** Closes connections that do not open a session in time. */
  readonly arrivals: Arrivals;
  /** Check the packets of connections. */
  readonly guards: PacketGuards;

  /** @throws {TypeError} when an option is invalid */
  constructor(options: ConnectionsOptions) {
    this.guards = new PacketGuards(options);
    this.engine = newEngine(options);
    this.io = new SocketServer({
      parser: this.guards.parser,
      serveClient: false,
      // A refused socket keeps its connection for this long.
      connectTimeout: options.handshakeTimeoutMs,
      cleanupEmptyChildNamespaces: true,
    });
    this.arrivals = new Arrivals(options);
    this.engine.on("connection", (connection: Connection) => {
      connection.on("packet", endWhenAsked);
      this.#guard(connection, options);
    });
    this.io.bind(this.engine);
  }

  /** Disconnects all clients once their queued packets are sent, or after a second. */
  async close(): Promise<void> {
    await flushed(connectionsOf(this.engine), FLUSH_TIMEOUT_MS);
    await this.io.close();
    this.arrivals.close();
  }

  /** Applies all limits to a new connection, in both directions. */
  #guard(
    connection: Connection,
    { slots, limiter, proxies }: ConnectionsOptions,
  ): void {
    slots.transfer(connection);
    this.arrivals.opened(connection);
    const address = addressOf(connection.request, { proxies });
    guardQueue(
      connection,
      limiter.limits.queuedBytes,
      (limit) => limiter.recordHit(limit, { address }),
    );
    this.guards.add(connection, (reason, party) => {
      if (party) return limiter.recordRefusedPacket({ reason, ...party });
      const code = ErrorCode.BAD_REQUEST;
      limiter.recordRefusedHandshake("namespace", { code, reason, address });
    });
  }
}
