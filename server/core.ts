import { ConnectionSlots } from "./limits/connection_slots.ts";
import { Limiter } from "./limits/limiter.ts";
import {
  createLogicalServers,
  type LogicalServer,
  statsByProtocol,
  totalStats,
} from "./logical_server.ts";
import { Journal, type Window } from "./shared/journal.ts";
import type { MetricsSource } from "./observe/metrics.ts";
import type { SmcpServerStats } from "./observe/stats.ts";
import type { ClusterMember } from "./offices/cluster.ts";
import type { ResolvedOptions } from "./options.ts";
import type { WsOption } from "./wire/mod.ts";
import type { Connections } from "./http/connections.ts";

/** A server without the way on which requests reach it: sessions, offices and limits. */
export class ServerCore {
  /** The limits. */
  readonly limiter: Limiter;
  /** The sessions of each address. */
  readonly slots: ConnectionSlots;
  /** What serves each protocol version, oldest first. */
  readonly logical: readonly LogicalServer[];
  /** Handle the requests that pass the gate, oldest version first. */
  readonly served: readonly Connections[];
  readonly #cluster: ClusterMember | undefined;
  /** Notes what belongs to no version. */
  readonly journal: Journal;
  /** Where onlookers of all versions look in. */
  readonly window: Window = { onlooker: undefined };
  #isDraining = false;

  /** @param ws the WebSocket implementation */
  constructor(all: ResolvedOptions, ws: WsOption) {
    const { metrics } = all;
    const journal = this.journal = new Journal(this.window);
    this.limiter = new Limiter(
      all.limits,
      (limit) => metrics?.limitHit(limit),
      journal,
    );
    this.slots = new ConnectionSlots(all.limits.connectionsPerAddress);
    this.logical = createLogicalServers(all, {
      limiter: this.limiter,
      slots: this.slots,
      ws,
      window: this.window,
    });
    this.served = this.logical.map(({ connections }) => connections);
    this.#cluster = all.cluster;
    this.#cluster?.start({
      protocols: all.profiles.map(({ protocol }) => protocol),
      membersPerOffice: all.limits.membersPerOffice,
      maxMessageBytes: all.maxMessageBytes,
      pingIntervalMs: all.heartbeat.intervalMs,
      pingTimeoutMs: all.heartbeat.timeoutMs,
    });
  }

  /** Whether the server is shutting down. */
  readonly draining = (): boolean => this.#isDraining;

  /** Returns current counts. */
  readonly stats = (): SmcpServerStats => totalStats(this.logical);

  /** Returns the counts of each version; `undefined` where there is one alone. */
  readonly protocols = ():
    | Readonly<Record<string, SmcpServerStats>>
    | undefined => statsByProtocol(this.logical);

  /** The counts for the metrics. */
  get counts(): Pick<MetricsSource, "stats" | "statsByProtocol" | "cluster"> {
    return {
      stats: this.stats,
      ...(this.#cluster && { cluster: this.#cluster }),
      ...(this.logical.length > 1 &&
        { statsByProtocol: () => this.protocols() ?? {} }),
    };
  }

  /**
   * Resolves when clients can join offices: in a cluster once this node has joined it.
   *
   * @throws {Error} that says why not, when that takes too long
   */
  async ready(): Promise<void> {
    await this.#cluster?.joined();
  }

  /** Checks the credentials of all open sessions again. */
  async recheck(): Promise<void> {
    await Promise.all(this.logical.map(({ sessions }) => sessions.recheck()));
  }

  /** Refuses new sessions, joins and calls, and waits for pending calls. */
  async drain(graceMs: number): Promise<void> {
    this.#isDraining = true;
    await Promise.all(
      this.logical.map(({ sessions }) => sessions.drain(graceMs)),
    );
  }

  /** Disconnects all clients once their queued packets are sent, and leaves the cluster. */
  async disconnect(): Promise<void> {
    await Promise.all(this.served.map((each) => each.close()));
    await this.#cluster?.leave();
  }
}
