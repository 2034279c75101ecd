import { type ProtocolName, SMCP_NAMESPACE } from "../protocol/mod.ts";
import { Connections } from "./http/connections.ts";
import type { ConnectionSlots } from "./limits/connection_slots.ts";
import type { Limiter } from "./limits/limiter.ts";
import { labelled } from "./observe/metrics.ts";
import { watchCalls } from "./observe/watch_calls.ts";
import { Journal, type Window } from "./shared/journal.ts";
import { MemoryRegistry } from "./offices/memory.ts";
import { OfficeVersions } from "./offices/office_versions.ts";
import type { ResolvedOptions } from "./options.ts";
import type { SmcpServerStats } from "./observe/stats.ts";
import { Sessions } from "./sessions/sessions.ts";
import type { WsOption } from "./wire/mod.ts";

/**
 * What serves one protocol version: an engine, and sessions with their offices. Members of an office
 * always have one version, since an office belongs to one logical server (0.4 §18).
 */
export interface LogicalServer {
  /** The version. */
  readonly protocol: ProtocolName;
  /** Its engine. */
  readonly connections: Connections;
  /** Its sessions and offices. */
  readonly sessions: Sessions;
}

/** What all versions share. */
export interface SharedParts {
  /** The limits. */
  readonly limiter: Limiter;
  /** The sessions of each address, of whatever version. */
  readonly slots: ConnectionSlots;
  /** The WebSocket implementation. */
  readonly ws: WsOption;
  /** Where onlookers of all versions look in. */
  readonly window: Window;
}

/** Creates what serves each version, in the order of `all.profiles`. */
export function createLogicalServers(
  all: ResolvedOptions,
  shared: SharedParts,
): LogicalServer[] {
  const several = all.profiles.length > 1;
  const versions = several ? new OfficeVersions() : undefined;
  return all.profiles.map(({ protocol, profile }) => {
    const metrics = several ? labelled(all.metrics, protocol) : all.metrics;
    const parts = { ...all, ...shared, profile, metrics, versions };
    const { cluster } = all;
    const connections = new Connections({
      ...parts,
      sessionPrefix: cluster && `${cluster.name}.`,
    });
    const { io, arrivals, guards } = connections;
    const journal = new Journal(shared.window, protocol);
    const observer = watchCalls(all.observer, journal, all.auditPayloads);
    const registry = all.registry ?? new MemoryRegistry();
    const sessions = new Sessions(io.of(SMCP_NAMESPACE), {
      ...parts,
      journal,
      observer,
      arrivals,
      guards,
      registry,
      exchange: cluster && ((desk) => cluster.exchange(protocol, desk)),
    });
    return { protocol, connections, sessions };
  });
}

/** Adds up the counts of all versions. */
export function totalStats(
  servers: readonly LogicalServer[],
): SmcpServerStats {
  const total = { connections: 0, offices: 0, members: 0 };
  for (const { sessions: { stats } } of servers) {
    total.connections += stats.connections;
    total.offices += stats.offices;
    total.members += stats.members;
  }
  return total;
}

/** Returns the counts of each version, where there are several. */
export const statsByProtocol = (
  servers: readonly LogicalServer[],
): Readonly<Record<string, SmcpServerStats>> | undefined =>
  servers.length < 2 ? undefined : Object.fromEntries(
    servers.map(({ protocol, sessions }) => [protocol, sessions.stats]),
  );
