import type { Namespace } from "socket.io";
import type { Profile } from "../../protocol/mod.ts";
import type { Authenticator } from "../auth/authenticator.ts";
import type { GatewayPass } from "../auth/gateway_pass.ts";
import type { Arrivals } from "../limits/arrivals.ts";
import type { Limiter } from "../limits/limiter.ts";
import type { PacketGuards } from "../limits/packet_guards.ts";
import type { CallObserver } from "../observe/call_observer.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { SmcpServerStats } from "../observe/stats.ts";
import { Bars } from "../offices/bars.ts";
import { Membership, type SeatSharer } from "../offices/membership.ts";
import type { OfficeVersions } from "../offices/office_versions.ts";
import type { Desk, Exchange } from "../offices/exchange.ts";
import type { OfficeRegistry } from "../offices/registry.ts";
import { OfficeNews } from "../offices/office_news.ts";
import { Rosters } from "../offices/rosters.ts";
import type { AuditSeat } from "../shared/audit.ts";
import type { Journal } from "../shared/journal.ts";
import type { Member, Seat } from "../shared/member.ts";
import type { PendingCall, Session } from "../shared/session.ts";
import { Dispatcher } from "../relay/dispatcher.ts";
import type { LinkedSession } from "../relay/linked_session.ts";
import { Relay } from "../relay/relay.ts";
import { acceptSessions } from "./accept.ts";
import { type Answered, askComputer, type Question } from "./ask.ts";
import {
  cancelCall,
  type Hold,
  kick,
  type Order,
  toldWhenKicked,
} from "./operate.ts";

/** Options for {@linkcode Sessions}. */
export interface SessionsOptions {
  /** The protocol version of the server. */
  readonly profile: Profile;
  /** Stores the members of every office. */
  readonly registry: OfficeRegistry;
  /** Makes the other nodes known, in a cluster. */
  readonly exchange: ((desk: Desk) => Exchange) | undefined;
  /** Milliseconds to wait for requests without a timeout of their own. */
  readonly requestTimeoutMs: number;
  /** Whether parameters and results are in the audit log. */
  readonly auditPayloads: boolean;
  /** Called for each relayed request. */
  readonly observer: CallObserver;
  /** Decides who may connect; without it, everybody may. */
  readonly authenticator: Authenticator | undefined;
  /** Known by the gateway's own Agents. */
  readonly pass: GatewayPass | undefined;
  /** Lets others use the seats of its Agents. */
  readonly sharer: SeatSharer | undefined;
  /** Provides the limits, and records refusals. */
  readonly limiter: Limiter;
  /** Closes connections that do not open a session in time. */
  readonly arrivals: Arrivals;
  /** Check the packets of connections. */
  readonly guards: PacketGuards;
  /** Number of trusted proxies in front of the server. */
  readonly proxies: number;
  /** Counts events and refusals. */
  readonly metrics: Metrics | undefined;
  /** Knows the members of all versions, where the server serves several. */
  readonly versions: OfficeVersions | undefined;
  /** Notes what happens. */
  readonly journal: Journal;
}

/** The sessions of a server, their offices, and the calls between them. */
export class Sessions {
  readonly #open = new Map<string, LinkedSession>();
  readonly #relay: Relay;
  readonly #membership: Membership;
  readonly #recheck: () => Promise<void>;
  readonly #bars = new Bars();
  readonly #news: OfficeNews;
  readonly #journal: Journal;
  readonly #exchange: Exchange | undefined;
  readonly #ask: (question: Question) => Promise<Answered>;

  /** Accepts the connections of `nsp`. */
  constructor(nsp: Namespace, options: SessionsOptions) {
    const { profile, limiter, metrics, journal } = options;
    const rosters = new Rosters();
    const exchange: Exchange | undefined = options.exchange?.({
      serve: (call, events) => relay.serve(call, events),
      notify: (notice) => news.notifyHere(notice),
      entered: (seat) => news.entered(seat),
      left: (seat) => news.left(seat),
      lost: (seat, reason) => membership.lost(seat, reason),
      evict: (seat) => membership.evict(seat),
      members: () => membership.members(),
      reload: (): Promise<void> => news.reload(registry),
      refresh: (node) => news.refresh(node),
      fence: (reason) => membership.fence(reason),
    });
    const relay: Relay = new Relay(
      rosters,
      exchange,
      exchange && ((office): Promise<void> => news.look(registry, office)),
      this.#open,
      profile,
      options.requestTimeoutMs,
      options,
      limiter,
    );
    const registry: OfficeRegistry = exchange?.registry ?? options.registry;
    const news: OfficeNews = new OfficeNews(nsp, profile, rosters, exchange);
    const membership: Membership = new Membership(
      registry,
      rosters,
      news,
      exchange,
      this.#open,
      profile,
      relay,
      limiter,
      options.versions,
      journal,
      this.#bars,
      options.sharer,
    );
    this.#exchange = exchange;
    this.#news = news;
    this.#journal = journal;
    this.#recheck = acceptSessions(nsp, this.#open, {
      ...options,
      dispatcher: new Dispatcher(
        profile,
        relay,
        membership,
        news,
        limiter,
        metrics,
        journal,
        exchange,
      ),
      relay,
      membership,
    });
    this.#relay = relay;
    this.#membership = membership;
    const { requestTimeoutMs, auditPayloads } = options;
    const parts = { registry, exchange, relay, news, journal };
    this.#ask = (question) =>
      askComputer(question, { ...parts, requestTimeoutMs, auditPayloads });
  }

  /** Current counts. */
  get stats(): SmcpServerStats {
    const members = [...this.#open.values()].flatMap((s) => s.member ?? []);
    return {
      connections: this.#open.size,
      offices: new Set(members.map((m) => m.office)).size,
      members: members.length,
    };
  }

  /** Returns whether a Computer is in an office. */
  async hasComputers(office: string): Promise<boolean> {
    const members = await this.#membership.list(office);
    return members.some(({ role }) => role === "computer");
  }

  /** Finds the name of the Agent that sits in an office. */
  async agentOf(office: string): Promise<string | undefined> {
    const members = await this.#membership.list(office);
    return members.find(({ role }) => role === "agent")?.name;
  }

  /** This node, in a cluster; another one each time that it joins it. */
  get node(): string | undefined {
    return this.#exchange?.node;
  }

  /** The calls that were sent so far. */
  get calls(): number {
    return this.#relay.sent;
  }

  /** Returns the open sessions of this node. */
  open(): Iterable<Session> {
    return this.#open.values();
  }

  /** Lists the members of an office, on all nodes. */
  list(office: string): Promise<readonly Member[]> {
    return this.#membership.list(office);
  }

  /** Kicks a member; see {@linkcode kick}. */
  kick(session: Session, member: Seat, order: Order & Hold): Promise<void> {
    return kick(session, member, order, {
      journal: this.#journal,
      bars: this.#bars,
      membership: this.#membership,
    });
  }

  /** Keeps a seat closed whose holder another node kicks. */
  bar(seat: AuditSeat, { reason, holdMs }: Pick<Order, "reason"> & Hold): void {
    const now = Date.now();
    this.#bars.add(seat, toldWhenKicked(reason), now + holdMs, now);
  }

  /** Cancels a call; see {@linkcode cancelCall}. */
  cancel(session: Session, call: PendingCall, order: Order): void {
    cancelCall(session, call, order, {
      journal: this.#journal,
      news: this.#news,
    });
  }

  /** Asks a Computer for an operator; see {@linkcode askComputer}. */
  ask(question: Question): Promise<Answered> {
    return this.#ask(question);
  }

  /** Rechecks the credentials of all sessions. */
  recheck(): Promise<void> {
    return this.#recheck();
  }

  /**
   * Refuses joins and calls, waits for pending calls, and notifies the offices that their members leave.
   *
   * @param graceMs maximum time to wait for calls
   */
  async drain(graceMs: number): Promise<void> {
    this.#membership.close();
    await this.#relay.drain(graceMs);
    await Promise.all(
      [...this.#open.values()].map((session) =>
        session.enqueue(() => this.#membership.depart(session))
      ),
    );
  }
}
