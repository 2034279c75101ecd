import { SMCP_NAMESPACE } from "../protocol/mod.ts";
import { nameOfProfile } from "../protocol/profiles.ts";
import type { InProcessConnection } from "../shared/in_process.ts";
import { type ConnectOptions, InProcessDoor } from "./doors/in_process.ts";
import { Sessions } from "./doors/sessions.ts";
import { GatewaySeats } from "./gateway/gateway_seats.ts";
import { Connections } from "./http/connections.ts";
import { addressGroup } from "./limits/limits.ts";
import { ConnectionSlots } from "./limits/slots.ts";
import { Limiter, LogThrottle } from "./limits/limiter.ts";
import type { MetricsSource, SmcpServerStats } from "./observe/metrics.ts";
import {
  measureEvents,
  watchCalls,
  watchWaits,
} from "./observe/watch_calls.ts";
import type { ConnectionParts, OwnSeat } from "./office/connection.ts";
import { LocalOffices } from "./office/offices.ts";
import type { Offices, Peer } from "./office/peer.ts";
import type { ResolvedOptions } from "./options.ts";
import { CLOCK, type Deadline, Deadlines } from "./shared/pending.ts";
import { Journal } from "./shared/audit.ts";
import { log, short } from "./shared/log.ts";
import type { WsOption } from "./wire/mod.ts";

/** A server without the way on which requests reach it: connections, offices and limits. */
export class ServerCore {
  /** The limits. */
  readonly limiter: Limiter;
  /** The sessions of each address. */
  readonly slots: ConnectionSlots;
  /** Handle the requests that pass the gate. */
  readonly connections: Connections;
  /** The Socket.IO sessions. */
  readonly sessions: Sessions;
  /** Where clients of this process connect. */
  readonly door: InProcessDoor;
  /** The offices of all nodes. */
  readonly offices: Offices;
  /** Those whose home is here. */
  readonly local: LocalOffices;
  /** The same offices, as a gateway shares their seats. */
  readonly seats: GatewaySeats | undefined;
  /** What the connections of all doors work with. */
  readonly parts: ConnectionParts;
  /** Notes what happens. */
  readonly journal = new Journal();
  readonly #all: ResolvedOptions;
  readonly #deadlines = new Deadlines<Deadline>();
  #isDraining = false;

  /** @param ws the WebSocket implementation */
  constructor(all: ResolvedOptions, ws: WsOption) {
    const { metrics, cluster, gateway, limits } = all;
    this.#all = all;
    const { journal } = this;
    const limiter = this.limiter = new Limiter(
      limits,
      (limit) => metrics?.limitHit(limit),
      journal,
    );
    this.slots = new ConnectionSlots(limits.connectionsPerAddress);
    const local = this.local = new LocalOffices({
      clock: CLOCK,
      deadlines: this.#deadlines,
      limiter,
      audit: journal.write,
      observe: watchCalls(all.observer, journal, all.auditPayloads),
      waits: watchWaits(journal),
      requestTimeoutMs: all.requestTimeoutMs,
    });
    const offices: Offices = cluster?.start({
      protocols: all.protocols,
      membersPerOffice: limits.membersPerOffice,
      maxMessageBytes: all.maxMessageBytes,
      pingIntervalMs: all.heartbeat.intervalMs,
      pingTimeoutMs: all.heartbeat.timeoutMs,
    }, local) ?? local;
    this.seats = gateway &&
      new GatewaySeats(offices, gateway.agents);
    this.offices = this.seats ?? offices;
    this.parts = {
      offices: this.offices,
      audit: journal.write,
      clock: CLOCK,
      unknownEvent: unknownEvents(),
      measure: metrics && measureEvents(metrics),
    };
    this.door = new InProcessDoor(this.parts);
    const shared = { ...all, limiter, slots: this.slots };
    this.connections = new Connections({
      ...shared,
      ws,
      sessionPrefix: cluster && `${cluster.name}.`,
    });
    const { io, arrivals, guards } = this.connections;
    this.sessions = new Sessions(io.of(SMCP_NAMESPACE), {
      ...shared,
      connections: this.parts,
      arrivals,
      guards,
      journal,
    });
  }

  /**
   * Makes what a client of this process takes in place of a URL.
   *
   * @param url the server's, for people
   */
  connect(
    options: ConnectOptions = {},
    url = "in process",
  ): InProcessConnection {
    const maxPayload = this.#all.maxMessageBytes;
    return this.door.offer(options, { url, maxPayload });
  }

  /** Whether the server is shutting down. */
  readonly draining = (): boolean => this.#isDraining;

  /** Returns current counts. */
  readonly stats = (): SmcpServerStats =>
    countsOf([...this.sessions.open.values(), ...this.door.open]);

  /** Returns the counts of each version; `undefined` where there is one alone. */
  readonly protocols = ():
    | Readonly<Record<string, SmcpServerStats>>
    | undefined => {
    const { protocols } = this.#all;
    if (protocols.length === 1) return undefined;
    const all = [...this.sessions.open.values(), ...this.door.open];
    const groups = Map.groupBy(all, ({ profile }) => nameOfProfile(profile));
    return Object.fromEntries(
      protocols.map((name) => [name, countsOf(groups.get(name) ?? [])]),
    );
  };

  /** Finds the name of an office's Agent: here, or as another node has named it. */
  readonly agentOf = (office: string): string | undefined =>
    this.seats?.holderOf(office) ??
      this.local.find(office)?.members.find(({ role }) => role === "agent")
        ?.name;

  /** The counts for the metrics. */
  get counts(): Pick<MetricsSource, "stats" | "cluster"> {
    const { cluster } = this.#all;
    return { stats: this.stats, ...(cluster && { cluster }) };
  }

  /**
   * Resolves when clients can join offices: in a cluster once this node has joined it.
   *
   * @throws {Error} that says why not, when that takes too long
   */
  async ready(): Promise<void> {
    await this.#all.cluster?.joined();
  }

  /** Checks the credentials of all open sessions again. */
  recheck(): Promise<void> {
    return this.sessions.recheck();
  }

  /** Refuses new sessions, joins and calls, and waits for pending calls. */
  async drain(graceMs: number): Promise<void> {
    this.#isDraining = true;
    await this.offices.drain(graceMs);
    this.#deadlines.clear();
  }

  /** Disconnects all clients once their queued packets are sent, and leaves the cluster. */
  async disconnect(): Promise<void> {
    this.door.close("the server is shutting down");
    await this.connections.close();
    await this.#all.cluster?.leave();
  }
}

/** A connection of any door. */
interface Client extends Pick<Peer, "profile"> {
  readonly connection: { readonly held: OwnSeat | undefined };
}

function countsOf(clients: readonly Client[]): SmcpServerStats {
  const seats = clients.flatMap(({ connection }) => connection.held ?? []);
  return {
    connections: clients.length,
    offices: new Set(seats.map(({ office }) => office)).size,
    members: seats.length,
  };
}

/** Logs events that clients make up, unless there are many. */
function unknownEvents(): ConnectionParts["unknownEvent"] {
  const lines = new LogThrottle<{ name: string; socket: string }>(
    (line, omitted) =>
      log.warn("Unknown event {name}", {
        ...line,
        ...(omitted > 0 && { omitted }),
      }),
  );
  return ({ id, address }, name) => {
    const line = { name: short(name), socket: id };
    const kind = `${addressGroup(address)} ${line.name}`;
    lines.take(kind, line, performance.now());
  };
}
