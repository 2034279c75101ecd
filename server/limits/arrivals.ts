import type { Socket as Connection } from "engine.io";
import { type Deadline, Deadlines } from "../shared/pending.ts";

/** Time limits of a connection, in milliseconds from its opening. */
export interface ArrivalTimes {
  /** To ask for a session. */
  readonly connectMs: number;
  /** To get one. */
  readonly handshakeMs: number;
}

/** A connection that has no session yet. */
interface Arrival extends Deadline {
  readonly opened: number;
}

/**
 * Closes connections that do not open a session in time, so that their slots become free.
 *
 * Engine.IO would wait half a minute for the next request of a polling client.
 */
export class Arrivals {
  readonly #times: ArrivalTimes;
  readonly #deadlines = new Deadlines<Arrival>();
  readonly #waiting = new WeakMap<Connection, Arrival>();

  constructor(times: ArrivalTimes) {
    this.#times = times;
  }

  /** Watches a connection from now on. */
  opened(connection: Connection): void {
    const { connectMs, handshakeMs } = this.#times;
    const opened = performance.now();
    this.#watch(connection, opened, Math.min(connectMs, handshakeMs));
    connection.on("close", () => this.ended(connection));
  }

  /** Notes that a connection has asked for a session, for the first time or again. */
  asked(connection: Connection): void {
    const arrival = this.#waiting.get(connection);
    if (arrival === undefined) return;
    this.ended(connection);
    this.#watch(connection, arrival.opened, this.#times.handshakeMs);
  }

  /** Stops watching a connection that has a session or is closed. */
  ended(connection: Connection): void {
    const arrival = this.#waiting.get(connection);
    if (arrival === undefined) return;
    this.#waiting.delete(connection);
    this.#deadlines.remove(arrival);
  }

  /** Stops watching all connections. */
  close(): void {
    this.#deadlines.clear();
  }

  #watch(connection: Connection, opened: number, milliseconds: number): void {
    const arrival: Arrival = {
      opened,
      due: opened + milliseconds,
      expire: () => connection.close(true),
    };
    this.#waiting.set(connection, arrival);
    this.#deadlines.add(arrival, performance.now());
  }
}
