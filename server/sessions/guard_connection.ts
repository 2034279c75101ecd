import type { Socket as Connection } from "engine.io";
import { ErrorCode } from "../../protocol/mod.ts";
import { partyOf } from "../shared/audit.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { Arrivals } from "../limits/arrivals.ts";
import { clientAddress } from "../limits/client_address.ts";
import type { Limiter } from "../limits/limiter.ts";
import type { PacketGuards } from "../limits/packet_guards.ts";
import { guardQueue } from "../limits/queue_guard.ts";
import type { ConnectionSlots } from "../limits/connection_slots.ts";

/** What watches over connections. */
export interface ConnectionGuards {
  /** The sessions of each address. */
  readonly places: ConnectionSlots;
  /** Those without a session. */
  readonly arrivals: Arrivals;
  /** What they send. */
  readonly guards: PacketGuards;
  /** What the server allows. */
  readonly limiter: Limiter;
  /** Told of refusals. */
  readonly metrics: Metrics | undefined;
  /** How many proxies of the operator's own stand in front of the server. */
  readonly proxies: number;
}

/** Bounds what a connection that is just open takes of the server, in both directions. */
export function guardConnection(
  connection: Connection,
  watched: ConnectionGuards,
): void {
  const { guards, limiter, metrics, proxies } = watched;
  watched.places.opened(connection);
  watched.arrivals.opened(connection);
  const address = clientAddress(
    connection.remoteAddress,
    connection.request.headers["x-forwarded-for"],
    proxies,
  );
  guardQueue(
    connection,
    limiter.limits.queuedBytes,
    (limit) => limiter.hit(limit, { address }),
  );
  guards.add(connection, (reason, session) => {
    if (session) return limiter.refusedPacket({ reason, ...partyOf(session) });
    const code = ErrorCode.BAD_REQUEST;
    metrics?.handshakeRefused("namespace", code);
    limiter.refusedHandshake({ code, reason, address });
  });
}
