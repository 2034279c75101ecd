import { ErrorCode } from "../../protocol/mod.ts";
import { Arrivals, guardQueue, PacketGuards } from "../limits/guards.ts";
import type { Limiter } from "../limits/limiter.ts";
import { addressOf } from "../limits/limits.ts";
import type { ConnectionSlots } from "../limits/slots.ts";
import { limitTime } from "../shared/pending.ts";
import type { ClientEngine, Connection, ConnectionGuard } from "../wire/mod.ts";

/** Pings of the server; both values are sent to clients, which detect a lost server with them. */
export interface Heartbeat {
  /** Milliseconds between two pings. */
  readonly intervalMs: number;
  /** Milliseconds that a client has to answer one. */
  readonly timeoutMs: number;
}

/** How long a shutdown waits for clients that do not read. */
const FLUSH_TIMEOUT_MS = 1000;

/** Options for {@linkcode Connections}. */
export interface ConnectionsOptions {
  /** Provides the connections. */
  readonly engine: ClientEngine;
  /** Maximum size of a client's message. */
  readonly maxMessageBytes: number;
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

/** The connections of clients, and their limits. */
export class Connections {
  /** Closes connections that do not open a session in time. */
  readonly arrivals: Arrivals;
  /** Check the packets of connections. */
  readonly guards: PacketGuards;
  readonly #options: ConnectionsOptions;

  /** @throws {TypeError} when an option is invalid */
  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.guards = new PacketGuards(options);
    this.arrivals = new Arrivals(options);
  }

  /** Applies all limits to a new connection, in both directions. */
  opened(connection: Connection): ConnectionGuard {
    const { slots, limiter, proxies } = this.#options;
    slots.transfer(connection);
    this.arrivals.opened(connection);
    const address = addressOf(connection.request, { proxies });
    guardQueue(
      connection,
      limiter.limits.queuedBytes,
      (limit) => limiter.recordHit(limit, { address }),
    );
    return this.guards.add(connection, (reason, party) => {
      if (party) return limiter.recordRefusedPacket({ reason, ...party });
      const code = ErrorCode.BAD_REQUEST;
      limiter.recordRefusedHandshake("namespace", { code, reason, address });
    });
  }

  /** Disconnects all clients once their queued packets are sent, or after a second. */
  async close(): Promise<void> {
    const { engine } = this.#options;
    await flushed(engine.connections, FLUSH_TIMEOUT_MS);
    await engine.close();
    this.arrivals.close();
  }
}

/** Resolves when every connection has passed its queued packets to its transport, or at the deadline. */
export const flushed = (
  connections: Iterable<Connection>,
  milliseconds: number,
): Promise<void> =>
  all(connections, milliseconds, (connection, done) => {
    if (!connection.hasQueued) return done();
    connection.on("drain", done);
    connection.on("close", done);
  });

/** A socket, or the response to a request. */
export interface Closing {
  readonly closed: boolean;
  destroy(): unknown;
  on(event: "close", listener: () => void): unknown;
  once(event: "close", listener: () => void): unknown;
}

/** Tracks open sockets, so that a shutdown can wait for them. */
export class OpenSockets {
  readonly #open = new Set<Closing>();

  /** Tracks `socket` until it closes. */
  add(socket: Closing): void {
    this.#open.add(socket);
    // It closes once anyway, and `once` would keep more objects until then.
    socket.on("close", () => this.#open.delete(socket));
  }

  [Symbol.iterator](): Iterator<Closing> {
    return this.#open.values();
  }
}

/** Resolves when all are closed; destroys those that are open at the deadline. */
export async function closed(
  sockets: Iterable<Closing>,
  milliseconds: number,
): Promise<void> {
  await all(sockets, milliseconds, (socket, done) => {
    if (socket.closed) done();
    else socket.once("close", done);
  });
  for (const socket of sockets) socket.destroy();
}

function all<T>(
  items: Iterable<T>,
  milliseconds: number,
  wait: (item: T, done: () => void) => void,
): Promise<void> {
  const each = [...items].map((item) =>
    new Promise<void>((resolve) => wait(item, resolve))
  );
  return new Promise((resolve) => {
    const stop = limitTime(milliseconds, resolve);
    Promise.all(each).then(() => {
      stop();
      resolve();
    });
  });
}
