import type { Socket as Connection } from "engine.io";
import { ErrorCode } from "../../protocol/mod.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { Arrivals } from "../limits/arrivals.ts";
import { clientAddress } from "../limits/client_address.ts";
import type { Limiter } from "../limits/limiter.ts";
import type { PacketGuards } from "../limits/packet_guards.ts";
import { guardQueue } from "../limits/queue_guard.ts";
import type { ConnectionSlots } from "../limits/connection_slots.ts";

/** The limits of connections. */
export interface ConnectionGuards {
  /** Limits the sessions of each address. */
  readonly slots: ConnectionSlots;
  /** Closes connections that do not open a session in time. */
  readonly arrivals: Arrivals;
  /** Check the packets of connections. */
  readonly guards: PacketGuards;
  /** Provides the limits, and records refusals. */
  readonly limiter: Limiter;
  /** Counts refusals. */
  readonly metrics: Metrics | undefined;
  /** Number of trusted proxies in front of the server. */
  readonly proxies: number;
}

/** Applies all limits to a new connection, in both directions. */
export function guardConnection(
  connection: Connection,
  watched: ConnectionGuards,
): void {
  const { guards, limiter, metrics, proxies } = watched;
  watched.slots.transfer(connection);
  watched.arrivals.opened(connection);
  const address = clientAddress(
    connection.remoteAddress,
    connection.request.headers["x-forwarded-for"],
    proxies,
  );
  guardQueue(
    connection,
    limiter.limits.queuedBytes,
    (limit) => limiter.recordHit(limit, { address }),
  );
  guards.add(connection, (reason, party) => {
    if (party) return limiter.recordRefusedPacket({ reason, ...party });
    const code = ErrorCode.BAD_REQUEST;
    metrics?.handshakeRefused("namespace", code);
    limiter.recordRefusedHandshake({ code, reason, address });
  });
}
