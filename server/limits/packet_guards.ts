import type { IncomingMessage } from "node:http";
import type { Socket as Connection } from "engine.io";
import { guardedParser, idOf, type PacketGuard } from "../wire/mod.ts";
import { ConnectionGuard, type PacketLimits } from "./packet_guard.ts";

/** The guards of all connections of a server. */
export class PacketGuards {
  readonly #limits: PacketLimits;
  readonly #guards = new Map<string, ConnectionGuard>();
  #latest: PacketGuard | undefined;

  /**
   * Applies `limits` to each connection.
   *
   * @throws {TypeError} when `maxConnectBytes` is not above 0
   */
  constructor(limits: PacketLimits) {
    if (!(limits.maxConnectBytes > 0)) {
      throw new TypeError(
        `Cannot use maxConnectBytes ${limits.maxConnectBytes}: expected a number above 0`,
      );
    }
    this.#limits = limits;
  }

  /** The `parser` of the Socket.IO server, which creates a decoder right after {@linkcode PacketGuards.add}. */
  readonly parser: ReturnType<typeof guardedParser> = guardedParser(() => {
    if (this.#latest) return this.#latest;
    throw new Error("Cannot decode: no connection was added");
  });

  /** Guards a new connection until it closes. */
  add(
    connection: Connection,
    refused: ConstructorParameters<typeof ConnectionGuard>[2],
  ): void {
    const guard = new ConnectionGuard(connection, this.#limits, refused);
    this.#latest = guard;
    const id = idOf(connection);
    this.#guards.set(id, guard);
    connection.on("close", () => this.#guards.delete(id));
  }

  /** Returns the guard of a connection, if it is open. */
  of(connection: Connection): ConnectionGuard | undefined {
    return this.#guards.get(idOf(connection));
  }

  /** Checks the body of a request to Engine.IO. */
  watch(request: IncomingMessage, sid: string | undefined): void {
    if (request.method !== "POST" || sid === undefined) return;
    this.#guards.get(sid)?.watch(request);
  }
}
