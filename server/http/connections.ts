import type { Server as Engine, Socket as Connection } from "engine.io";
import { Server as SocketServer } from "socket.io";
import { Arrivals } from "../limits/arrivals.ts";
import type { Limiter } from "../limits/limiter.ts";
import { PacketGuards } from "../limits/packet_guards.ts";
import type { ConnectionSlots } from "../limits/connection_slots.ts";
import type { Metrics } from "../observe/metrics.ts";
import { guardConnection } from "./guard_connection.ts";
import { connectionsOf } from "../wire/mod.ts";
import { endWhenAsked, flushed } from "./closing.ts";
import type { ServedEngine } from "./served_engine.ts";
import { type EngineOptions, newEngine } from "./new_engine.ts";

/** How long a shutdown waits for clients that do not read. */
const FLUSH_TIMEOUT_MS = 1000;

/** Options for {@linkcode Connections}. */
export interface ConnectionsOptions extends EngineOptions {
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
  /** Counts refusals. */
  readonly metrics: Metrics | undefined;
  /** Number of trusted proxies in front of the server. */
  readonly proxies: number;
}

/** The Engine.IO and Socket.IO servers, and the limits of their connections. */
export class Connections implements ServedEngine {
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
    const { limiter, metrics, proxies, slots, handshakeTimeoutMs } = options;
    this.guards = new PacketGuards(options);
    this.engine = newEngine(options);
    this.io = new SocketServer({
      parser: this.guards.parser,
      serveClient: false,
      // A refused socket keeps its connection for this long.
      connectTimeout: handshakeTimeoutMs,
      cleanupEmptyChildNamespaces: true,
    });
    this.arrivals = new Arrivals({
      connectMs: options.connectTimeoutMs,
      handshakeMs: handshakeTimeoutMs,
    });
    const { arrivals, guards } = this;
    const watched = { slots, arrivals, guards, limiter, metrics, proxies };
    this.engine.on("connection", (connection: Connection) => {
      connection.on("packet", endWhenAsked);
      guardConnection(connection, watched);
    });
    this.io.bind(this.engine);
  }

  /** Disconnects all clients once their queued packets are sent, or after a second. */
  async close(): Promise<void> {
    await flushed(connectionsOf(this.engine), FLUSH_TIMEOUT_MS);
    await this.io.close();
    this.arrivals.close();
  }
}
