/**
 * A server without a listener: what all ways to it share. It connects limits, offices, connections, the
 * gateway and the operator API, and shuts them down in order; `server.ts` and `fetch/` add how requests
 * arrive.
 *
 * @module
 */
import { nameOfProfile } from "../protocol/profiles.ts";
import type { InProcessConnection } from "../shared/in_process.ts";
import {
  CONNECT_NAMES,
  type ConnectOptions,
  InProcessDoor,
  type OfferOptions,
} from "./doors/in_process.ts";
import { Sessions } from "./doors/session.ts";
import { GatewaySeats } from "./doors/gateway_seats.ts";
import { addressGroup } from "./limits/limits.ts";
import { ConnectionSlots } from "./limits/slots.ts";
import { Limiter, LogThrottle } from "./limits/limiter.ts";
import {
  LoopLag,
  type MetricsSource,
  type SmcpServerStats,
} from "./observe/metrics.ts";
import { AskingCalls } from "./observe/asking_calls.ts";
import {
  measureEvents,
  watchCalls,
  watchWaits,
} from "./observe/watch_calls.ts";
import type { OfficeClientParts, OwnSeat } from "./office/office_client.ts";
import { LocalOffices } from "./office/office.ts";
import type { Clock, Offices, Peer } from "./office/peer.ts";
import type { CloseOptions, ResolvedOptions } from "./options.ts";
import { checkNames } from "../shared/checks.ts";
import type { Hono } from "hono";
import type { DeviceRoutes } from "./doors/approvals.ts";
import { PACKAGE_VERSION } from "../cli/version.ts";
import { GatewayRoutes } from "./doors/gateway_routes.ts";
import { Issuer } from "./doors/issuer.ts";
import type { QuickDoor } from "./doors/quick_door.ts";
import { httpApp, type SmcpEnv } from "./http/http_app.ts";
import type { RequestParts } from "./http/gate.ts";
import { refuseOperators } from "./operator/nodes.ts";
import { OperatorRoutes } from "./operator/operator_routes.ts";
import { Deadlines } from "../shared/deadlines.ts";
import { Journal } from "./shared/audit.ts";
import type { AgreedSettings } from "./shared/cluster.ts";
import { log, short } from "./shared/log.ts";
import type { ClientEngine } from "./wire/mod.ts";

/** The URL of a connection within the process, for people. */
const IN_PROCESS = "in process";

/** The clocks of this process. */
const CLOCK: Clock = {
  now: performance.now.bind(performance),
  date: Date.now,
};

/** What the ids of sessions begin with in a cluster, so that they name their node. */
export const sessionPrefixOf = (
  { cluster }: Pick<ResolvedOptions, "cluster">,
): string | undefined => cluster && `${cluster.name}.`;

/** A server without a listener of its own: connections, offices, limits, and one app with all routes. */
export class ServerCore {
  /** Answers all requests but upgrades. */
  readonly app: Hono<SmcpEnv>;
  /** Decide about requests. */
  readonly parts: ResolvedOptions & RequestParts;
  /** The URL of the sign-in, where there is one. */
  readonly issuer: Issuer;
  readonly #sessions: Sessions;
  readonly #door: InProcessDoor;
  readonly #offices: Offices;
  /** The calls that ask their Agents. */
  readonly #calls: AskingCalls;
  readonly #gateway: GatewayRoutes | undefined;
  readonly #operator: OperatorRoutes | undefined;
  readonly #devices: DeviceRoutes | undefined;
  readonly #deadlines = new Deadlines();
  readonly #memberBytes: () => number[];
  #lag: LoopLag | undefined;
  #isDraining = false;
  #closing: Promise<void> | undefined;

  /**
   * @param engine provides the connections of clients
   * @param webSocketOnly whether polling is refused
   */
  constructor(
    all: ResolvedOptions,
    engine: ClientEngine,
    webSocketOnly: boolean,
  ) {
    const { cluster, gateway, operator, metrics, auditPayloads } = all;
    const { draining, stats, protocols } = this;
    this.issuer = new Issuer(all);
    const journal = new Journal();
    const limiter = new Limiter(all.limits, metrics, journal);
    const slots = new ConnectionSlots(all.limits.connectionsPerAddress);
    const parts = { ...all, engine, limiter, slots, draining, webSocketOnly };
    this.parts = parts;
    const calls = this.#calls = new AskingCalls(
      watchCalls(all.observer, journal, auditPayloads),
    );
    const seen = { calls, limiter, journal };
    const local = newLocalOffices(all, this.#deadlines, seen);
    this.#memberBytes = () => local.memberBytes();
    const everywhere = cluster?.start(agreedSettings(all), local) ?? local;
    const seats = gateway && new GatewaySeats(everywhere, gateway.agents);
    const offices = this.#offices = seats ?? everywhere;
    const connections = newConnections(offices, journal, metrics);
    this.#door = new InProcessDoor(connections);
    const sessions = new Sessions({ ...parts, journal, connections });
    this.#sessions = sessions;
    engine.serve(sessions);
    this.#gateway = gateway && new GatewayRoutes(gateway, {
      ...parts,
      issuer: this.issuer,
      offices: everywhere,
      seats,
      audit: journal.write,
      connect: (identity, callerOf) => this.#offer({ identity, callerOf }),
    });
    this.#operator = operator && new OperatorRoutes({
      ...parts,
      local,
      sessions,
      stats,
      journal,
      questions: { ...connections, auditPayloads },
      token: operator.token,
      version: PACKAGE_VERSION,
      since: Date.now(),
      signIns: this.#gateway?.signIn,
      recheck: () => this.recheck(),
    });
    if (cluster && !operator) refuseOperators(cluster.others);
    this.#devices = all.approvals?.routes({ ...parts, offices: everywhere });
    this.app = httpApp({
      ...parts,
      stats,
      protocols,
      gateway: this.#gateway,
      operator: this.#operator,
      devices: this.#devices,
    });
  }

  /**
   * Makes what a client of this process takes in place of a URL.
   *
   * @param url the server's, for people
   */
  connect(options: ConnectOptions = {}, url?: string): InProcessConnection {
    checkNames(options, CONNECT_NAMES, "connect()");
    return this.#offer(options, url);
  }

  #offer(options: OfferOptions, url = IN_PROCESS): InProcessConnection {
    const maxPayload = this.parts.maxMessageBytes;
    return this.#door.offer(options, { url, maxPayload });
  }

  /** Makes a listener that answers usual requests of a gateway's clients before the app. */
  get before(): QuickDoor["before"] | undefined {
    return this.#gateway?.quick.before;
  }

  /** Whether the server is shutting down. */
  readonly draining = (): boolean => this.#isDraining;

  /** Returns current counts. */
  readonly stats = (): SmcpServerStats => countsOf(this.#clients());

  /** Returns the counts of each version; `undefined` where there is one alone. */
  readonly protocols = ():
    | Readonly<Record<string, SmcpServerStats>>
    | undefined => {
    const { protocols } = this.parts;
    if (protocols.length === 1) return undefined;
    const groups = Map.groupBy(
      this.#clients(),
      ({ profile }) => nameOfProfile(profile),
    );
    return Object.fromEntries(
      protocols.map((name) => [name, countsOf(groups.get(name) ?? [])]),
    );
  };

  #clients(): Client[] {
    return [...this.#sessions.open.values(), ...this.#door.open];
  }

  /**
   * Has the metrics show this server, if there are any.
   *
   * @param bytes returns the bytes on the wire so far
   */
  observe(bytes: MetricsSource["bytes"]): void {
    const { metrics, cluster } = this.parts;
    if (metrics === undefined) return;
    const lag = this.#lag = new LoopLag();
    metrics.observe({
      stats: this.stats,
      memberBytes: this.#memberBytes,
      ...(cluster && { cluster }),
      bytes,
      loopLagMs: () => lag.read(),
    });
  }

  /**
   * Resolves when clients can join offices: in a cluster once this node has joined it.
   *
   * @throws {Error} with the reason, when that takes too long
   */
  async ready(): Promise<void> {
    await this.parts.cluster?.joined();
  }

  /** Checks all credentials again. */
  async recheck(): Promise<void> {
    await Promise.all([
      this.#sessions.recheck(),
      this.#gateway?.recheck(),
      this.#operator?.recheck(),
    ]);
  }

  /**
   * Refuses new sessions, joins and calls, waits for pending calls, and disconnects all clients once their
   * queued packets are sent; leaves the cluster.
   *
   * @param end closes what listens, afterwards; called once
   */
  close(
    { graceMs = 10_000 }: CloseOptions = {},
    end: () => Promise<void>,
  ): Promise<void> {
    return this.#closing ??= this.#shutDown(graceMs, end);
  }

  async #shutDown(graceMs: number, end: () => Promise<void>): Promise<void> {
    this.#isDraining = true;
    this.#devices?.close();
    await this.#offices.drain(graceMs);
    this.#deadlines.clear();
    this.#operator?.close();
    await this.#gateway?.close();
    this.#door.close("the server is shutting down");
    await this.#sessions.close();
    await this.parts.cluster?.leave();
    await end();
    this.#lag?.stop();
    this.#calls.close();
    this.parts.limiter.flush();
  }
}

/** Makes the offices whose home is this process. */
const newLocalOffices = (
  all: ResolvedOptions,
  deadlines: Deadlines,
  { calls, limiter, journal }: {
    readonly calls: AskingCalls;
    readonly limiter: Limiter;
    readonly journal: Journal;
  },
): LocalOffices => {
  const shared = { clock: CLOCK, deadlines, audit: journal.write };
  return new LocalOffices({
    ...shared,
    limiter,
    devicesOf: all.approvals?.devicesOf(shared),
    observe: calls.observe,
    waits: watchWaits(journal),
    maxMessageBytes: all.maxMessageBytes,
    requestTimeoutMs: all.requestTimeoutMs,
  });
};

/** Makes what every connection to an office works with. */
const newConnections = (
  offices: Offices,
  { write }: Journal,
  metrics: ResolvedOptions["metrics"],
): OfficeClientParts => ({
  offices,
  audit: write,
  clock: CLOCK,
  unknownEvent: unknownEvents(),
  measure: metrics && measureEvents(metrics),
});

const agreedSettings = (
  { protocols, limits, maxMessageBytes, heartbeat }: ResolvedOptions,
): AgreedSettings => ({
  protocols,
  membersPerOffice: limits.membersPerOffice,
  maxMessageBytes,
  pingIntervalMs: heartbeat.intervalMs,
  pingTimeoutMs: heartbeat.timeoutMs,
});

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
function unknownEvents(): OfficeClientParts["unknownEvent"] {
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
