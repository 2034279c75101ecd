import type { Server as Engine, Socket as Connection } from "engine.io";
import { Server as SocketServer } from "socket.io";
import { Arrivals } from "../limits/arrivals.ts";
import type { Limiter } from "../limits/limiter.ts";
import { PacketGuards } from "../limits/packet_guards.ts";
import { ConnectionSlots } from "../limits/connection_slots.ts";
import type { Metrics } from "../observe/metrics.ts";
import { guardConnection } from "../sessions/guard_connection.ts";
import { connectionsOf } from "../wire/mod.ts";
import { endWhenAsked, flushed } from "./closing.ts";
import { type EngineOptions, newEngine } from "./new_engine.ts";

/** Milliseconds that a shutdown waits for clients that do not read. */
const FLUSH_TIMEOUT_MS = 1000;

/** Options for {@linkcode Connections}. */
export interface ConnectionsOptions
  extends Omit<EngineOptions, "unfinishedBytes"> {
  /** Milliseconds from a connection to its request for a session. */
  readonly connectTimeoutMs: number;
  /** Seconds from a connection to its admission. */
  readonly handshakeTimeout: number;
  /** What the server allows. */
  readonly limiter: Limiter;
  /** Told of refusals. */
  readonly metrics: Metrics | undefined;
  /** How many proxies of the operator's own stand in front of the server. */
  readonly proxies: number;
}

/** The connections of a server, from the HTTP request that opens one, and what each may take. */
export class Connections {
  /** Gets the requests and upgrades that passed the gate. */
  readonly engine: Engine;
  /** Speaks Socket.IO over them. */
  readonly io: SocketServer;
  /** The sessions of each address. */
  readonly places: ConnectionSlots;
  /** Those that have no session yet. */
  readonly arrivals: Arrivals;
  /** What they send. */
  readonly guards: PacketGuards;

  /** @throws {TypeError} when an option cannot be used */
  constructor(options: ConnectionsOptions) {
    const { limiter, metrics, proxies, handshakeTimeout } = options;
    const { connectionsPerAddress, unfinishedBytes } = limiter.limits;
    this.places = new ConnectionSlots(connectionsPerAddress);
    this.guards = new PacketGuards(options);
    this.engine = newEngine({ ...options, unfinishedBytes });
    this.io = new SocketServer({
      parser: this.guards.parser,
      serveClient: false,
      // A socket that was refused keeps its connection until then.
      connectTimeout: handshakeTimeout * 1000,
      cleanupEmptyChildNamespaces: true,
    });
    this.arrivals = new Arrivals({
      connectMs: options.connectTimeoutMs,
      handshakeMs: handshakeTimeout * 1000,
    });
    const { places, arrivals, guards } = this;
    const watched = { places, arrivals, guards, limiter, metrics, proxies };
    this.engine.on("connection", (connection: Connection) => {
      connection.on("packet", endWhenAsked);
      guardConnection(connection, watched);
    });
    this.io.bind(this.engine);
  }

  /** Disconnects everybody once they have read what was written to them, or after a second. */
  async close(): Promise<void> {
    await flushed(connectionsOf(this.engine), FLUSH_TIMEOUT_MS);
    await this.io.close();
    this.arrivals.close();
  }
}
