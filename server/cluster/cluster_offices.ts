/**
 * The offices of a cluster, as the server of one node sees them: a join finds the home of its office by
 * a claim, and takes a seat there, in this process or by the tunnel. It knows nothing of Redis, so that
 * other platforms use it too.
 *
 * @module
 */
import type { Buffer } from "node:buffer";
import { nameOfProfile } from "../../protocol/profiles.ts";
import type { Directory, Home } from "./directory.ts";
import type { Failure, Messenger, Sent } from "./link.ts";
import { type Opening, unreachable } from "./tunnel_frames.ts";
import type { Hosted, Opened } from "./streams.ts";
import { Tunnel } from "./tunnel.ts";
import type { LocalOffices } from "../office/office.ts";
import {
  type Ack,
  type MemberEvent,
  type Offices,
  type Peer,
  type Refusal,
  refusalOf,
  type Seat,
  type WantedSeat,
} from "../office/peer.ts";
import type { OtherNodes } from "../shared/cluster.ts";
import {
  errorAnswer,
  notServing,
  type Payload,
  shuttingDown,
} from "../shared/payload.ts";
import { sleep } from "../../shared/async.ts";

// For nodes that are not connected by Redis.
export type { Home, Messenger, Sent };
export { unreachable };

/** A join waits so long beyond the lease of a home that has ended. */
const PATIENCE_MS = 2000;

/** How often the home of an office is claimed while another node does not answer. */
const RETRY_MS = 250;

/** How soon it is claimed again when the other node says that it is not the home any more. */
const FIRST_RETRY_MS = 10;

/** How long at most those who leave wait for their last answers. */
const DEPART_MS = 1000;

/**
 * The offices of a cluster. Each has one home: the node that claimed it first, and has its members, their
 * seats and their calls in its {@linkcode LocalOffices}. Clients of other nodes are carried there by the
 * tunnel. An office without members has no home.
 *
 * Joins to an office whose home does not answer are held, and not refused: until the lease of that node
 * has ended, and a little longer.
 */
export class ClusterOffices implements Offices {
  readonly #node: TunnelNode;
  readonly #leaseMs: number;
  readonly #tunnel: Tunnel;
  readonly #claims = new Map<string, Promise<Home>>();
  readonly #closing = new AbortController();
  #local: LocalOffices | undefined;

  /** @param leaseMs of all nodes */
  constructor(node: TunnelNode, leaseMs: number) {
    this.#node = node;
    this.#leaseMs = leaseMs;
    this.#tunnel = new Tunnel({
      messenger: node,
      isClosed: () => this.isClosed,
      host: (opening, hosted) => void this.#host(opening, hosted),
      hold: (seat) => this.#local?.hold(seat, seat),
    });
  }

  get isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  /** The other nodes, for those who operate this one. */
  get others(): OtherNodes {
    return this.#tunnel;
  }

  /** What it has counted since the start. */
  get counts() {
    const { callsOut, callsIn, callsOpen } = this.#tunnel;
    return { callsOut, callsIn, callsOpen };
  }

  /** Returns the offices of all nodes, of which `local` has those whose home is here. */
  start(local: LocalOffices): Offices {
    this.#local = local;
    local.follow({
      emptied: (office) => this.#release(office),
      held: (seat, { reason, holdMs }) => {
        const { role, name, office } = seat;
        this.#tunnel.hold({ role, name, office, reason, holdMs });
      },
    });
    return this;
  }

  // ---------------------------------------------------------------- joins of clients of this node

  join(
    peer: Peer,
    wanted: WantedSeat,
    former?: Seat,
  ): Seat | Refusal | Promise<Seat | Refusal> {
    if (this.isClosed) return refusalOf(shuttingDown());
    return this.#isHome(wanted.office) && !isElsewhere(former)
      ? this.#joinHere(peer, wanted, former)
      : this.#joinSomewhere(peer, wanted, former);
  }

  /** Whether an office may be served here, now. */
  #isHome(office: string): boolean {
    return this.#node.homes.has(office) && this.#node.isServing();
  }

  #joinHere(
    peer: Peer,
    wanted: WantedSeat,
    former: Seat | undefined,
  ): Seat | Refusal {
    const seat = this.#local?.join(peer, wanted, former) ??
      refusalOf(notServing());
    if ("refused" in seat) {
      if (!this.#local?.find(wanted.office)) this.#release(wanted.office);
      return seat;
    }
    return new LocalSeat(seat, this.#node);
  }

  async #joinSomewhere(
    peer: Peer,
    wanted: WantedSeat,
    former: Seat | undefined,
  ): Promise<Seat | Refusal> {
    const end = performance.now() + this.#leaseMs + PATIENCE_MS;
    for (let delay = FIRST_RETRY_MS;; delay = Math.min(2 * delay, RETRY_MS)) {
      const home = await this.#homeOf(wanted.office);
      if (this.isClosed) return refusalOf(shuttingDown());
      if (this.#isHome(wanted.office)) {
        if (!isElsewhere(former)) return this.#joinHere(peer, wanted, former);
        const refusal = this.#local?.judge(peer, wanted);
        if (refusal) return refusal;
        await former.leave();
        continue;
      }
      const left = end - performance.now();
      if (left <= 0) return refusalOf(unreachable());
      if (home) {
        const waitMs = Math.min(left, Math.max(RETRY_MS, home.leaseLeftMs));
        const at = { node: home.node, waitMs };
        const opened = await this.#joinAt(at, peer, wanted, former);
        if (typeof opened === "object") return opened;
        if (opened === "lost") delay = RETRY_MS;
      }
      await sleep(Math.min(delay, left), this.#closing.signal).catch(() => {});
    }
  }

  /** The client leaves its former office when it is known that it gets the new seat, and before it does. */
  async #joinAt(
    { node, waitMs }: { readonly node: string; readonly waitMs: number },
    peer: Peer,
    wanted: WantedSeat,
    former: Seat | undefined,
  ): Promise<Opened> {
    const ask = (isQuestion: boolean) => {
      const opening = { ...openingOf(peer, wanted), isQuestion };
      return this.#tunnel.open(node, peer, opening, waitMs);
    };
    if (former?.isHeld) {
      const judged = await ask(true);
      if (judged !== "free") return judged;
      await former.leave();
    }
    return await ask(false);
  }

  // ---------------------------------------------------------------- homes

  /** @returns `undefined` where this node was the home, and may be it still */
  async #homeOf(office: string): Promise<Home | undefined> {
    if (this.#isHome(office)) return undefined;
    const home = await (this.#claims.get(office) ?? this.#claim(office));
    return home.node === this.#node.node ? undefined : home;
  }

  /** One for all joins that wait for it. */
  #claim(office: string): Promise<Home> {
    const claim = this.#node.claim(office).finally(() => {
      if (this.#claims.get(office) === claim) this.#claims.delete(office);
    });
    this.#claims.set(office, claim);
    return claim;
  }

  /** An office that is empty needs no home. */
  #release(office: string): void {
    if (!this.#node.homes.has(office)) return;
    this.#node.release(office).catch(() => {}); // its lease ends it
  }

  // ---------------------------------------------------------------- joins of clients of other nodes

  async #host(opening: Opening, hosted: Hosted): Promise<void> {
    const { office } = opening;
    // The answer to the claim of this node may be on its way.
    await this.#claims.get(office)?.catch(() => {});
    const local = this.#local;
    if (local === undefined || this.isClosed || !this.#isHome(office)) {
      // Without effect, unless a claim of this node had effect and no answer in time.
      if (!this.#node.homes.has(office)) void this.#node.release(office);
      return hosted.refuse();
    }
    const wanted = opening;
    if (opening.isQuestion) {
      const refusal = local.judge(hosted, wanted);
      return refusal ? hosted.refuse(refusal) : hosted.agree();
    }
    const seat = this.#joinHere(hosted, wanted, undefined);
    if ("refused" in seat) hosted.refuse(seat);
    else hosted.seated(seat);
  }

  // ---------------------------------------------------------------- what happens to nodes

  /** Takes a message of another node. */
  received(node: string, message: Buffer): void {
    this.#tunnel.received(node, message);
  }

  /** Ends what passes between this node and another. */
  failed(node: string, failure: Failure): void {
    this.#tunnel.lose(node, unreachable(), REASONS[failure]);
  }

  /** Ends a home: another node has the office, since Redis has lost data. */
  homeLost(office: string): void {
    this.#local?.find(office)?.disband("another server has its office");
  }

  /**
   * Ends all homes and streams before it returns, and closes the connections of all clients: other nodes
   * may get these homes.
   *
   * @param reason for the clients
   */
  fence(reason: string): void {
    this.#claims.clear();
    this.#tunnel.dropAll(notServing(), reason);
    for (const office of [...this.#local ?? []]) office.disband(reason);
  }

  async drain(graceMs: number): Promise<void> {
    this.#closing.abort();
    await Promise.all([
      this.#local?.drain(graceMs),
      this.#tunnel.idle(graceMs),
    ]);
    this.#tunnel.depart("its server is shutting down");
    await this.#tunnel.idle(DEPART_MS);
  }

  /** Ends what waits; the node has left its cluster. */
  close(): void {
    this.#closing.abort();
    this.#tunnel.dropAll(shuttingDown(), "its server is shutting down");
  }
}

/** Why the connections of clients are closed when the node of their office has failed. */
const REASONS = {
  lost: "messages were lost",
  silent: "the server of its office is silent",
  gone: "the server of its office has ended",
} as const satisfies Record<Failure, string>;

const isElsewhere = (seat: Seat | undefined): seat is Seat =>
  seat !== undefined && seat.isHeld && !(seat instanceof LocalSeat);

/** A seat in an office here, as long as this node may serve: timers may be late. */
class LocalSeat implements Seat {
  readonly #seat: Seat;
  readonly #node: TunnelNode;

  constructor(seat: Seat, node: TunnelNode) {
    this.#seat = seat;
    this.#node = node;
  }

  get isHeld(): boolean {
    return this.#seat.isHeld;
  }

  receive(event: MemberEvent, payload: Payload, ack?: Ack): void {
    if (this.#node.isServing()) return this.#seat.receive(event, payload, ack);
    ack?.(errorAnswer(notServing()));
  }

  leave(): Promise<void> | undefined {
    return this.#seat.leave();
  }

  gone(): void {
    this.#seat.gone();
  }
}

const openingOf = (
  { id, profile, version, instance, identity, address }: Peer,
  { role, name, office }: WantedSeat,
): Omit<Opening, "isQuestion"> => ({
  ...{ role, name, office, version, address },
  client: id,
  protocol: nameOfProfile(profile),
  ...(instance !== undefined && { instance }),
  ...(identity && { identity }),
});

/**
 * A node, as its tunnel uses it; the same object for all its terms. While it is not in its cluster it is
 * the home of nothing, each claim fails, and all nodes are away.
 */
export interface TunnelNode extends Directory, Messenger {
  /** Returns whether this node may serve now; to be asked at each event, since timers may be late. */
  isServing(): boolean;
}

/** What carries events between the offices of a cluster, as its node drives it. No method throws. */
export type NodeTunnel = Pick<
  ClusterOffices,
  | ("others" | "counts" | "start" | "received" | "failed")
  | ("homeLost" | "fence" | "close")
>;
