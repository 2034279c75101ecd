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
   * What applies to each connection.
   *
   * @throws {TypeError} when a CONNECT can have no bytes
   */
  constructor(limits: PacketLimits) {
    if (!(limits.maxConnectBytes > 0)) {
      throw new TypeError(
        `Cannot use maxConnectBytes ${limits.maxConnectBytes}: expected a number above 0`,
      );
    }
    this.#limits = limits;
  }

  /** The `parser` of the Socket.IO server; that server gets its connections right after this. */
  readonly parser: ReturnType<typeof guardedParser> = guardedParser(() => {
    if (this.#latest) return this.#latest;
    throw new Error("Cannot decode: no connection was added");
  });

  /** Guards a connection that is just open, for as long as it is. */
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

  /** The guard of a connection, if it is open. */
  of(connection: Connection): ConnectionGuard | undefined {
    return this.#guards.get(idOf(connection));
  }

  /** Looks at the body of a request to Engine.IO. */
  watch(request: IncomingMessage, sid: string | undefined): void {
    if (request.method !== "POST" || sid === undefined) return;
    this.#guards.get(sid)?.watch(request);
  }
}
