/**
 * The offices of a cluster, as the server of one node sees them: a join finds the home of its office by
 * a claim, and takes a seat there, in this process or by the tunnel, which has a route to each other node.
 * It does not depend on Redis, so that other platforms use it too.
 *
 * @module
 */
import type { Buffer } from "node:buffer";
import { nameOfProfile } from "../../protocol/profiles.ts";
import type { Directory, Home } from "./directory.ts";
import type { Failure, Messenger, Sent } from "./link.ts";
import {
  decodeFrame,
  type HeldSeat,
  Kind,
  type Opening,
  unreachable,
} from "./tunnel_frames.ts";
import { Carried, type Hosted, type Opened } from "./streams.ts";
import { Route } from "./tunnel.ts";
import type { LocalOffices } from "../office/office.ts";
import {
  DEVICE_PROTOCOL,
  type Offices,
  type Peer,
  type Refusal,
  refusalOf,
  type Seat,
  type WantedSeat,
} from "../office/peer.ts";
import type { OtherNodes } from "../shared/cluster.ts";
import { failure, log } from "../shared/log.ts";
import { errorAnswer, notServing, shuttingDown } from "../shared/payload.ts";
import type { ProtocolError } from "../../protocol/mod.ts";
import { sleep } from "../../shared/async.ts";

// For nodes that are not connected by Redis.
export type { Home, Messenger, Sent };
export { unreachable };

/** How much longer than the lease of a home that has ended a join waits. */
const JOIN_MARGIN_MS = 2000;

/** How often the home of an office is claimed while another node does not answer. */
const RETRY_MS = 250;

/** How soon it is claimed again when the other node answers that it is no longer the home. */
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
export class ClusterOffices implements Offices, OtherNodes {
  readonly node: TunnelNode;
  /** The number of the youngest stream that this node has opened. */
  stream = 0;
  /** Requests to Computers of other nodes, and of other nodes to Computers here. */
  callsOut = 0;
  callsIn = 0;
  readonly #leaseMs: number;
  readonly #routes = new Map<string, Route>();
  readonly #claims = new Map<string, Promise<Home>>();
  readonly #closing = new AbortController();
  #local: LocalOffices | undefined;
  #idle: (() => void) | undefined;
  #answer: ((question: unknown) => unknown) | undefined;

  /** @param leaseMs of all nodes */
  constructor(node: TunnelNode, leaseMs: number) {
    this.node = node;
    this.#leaseMs = leaseMs;
  }

  /** What it has counted since the start. */
  get counts() {
    const { callsOut, callsIn } = this;
    const hosted = this.#routes.values().flatMap(({ hosted }) =>
      hosted.values()
    );
    const callsOpen = hosted.reduce((open, { asked }) => open + asked, 0);
    return { callsOut, callsIn, callsOpen };
  }

  get isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  /** Returns the offices of all nodes, of which `local` has those whose home is here. */
  start(local: LocalOffices): Offices {
    this.#local = local;
    local.follower = {
      emptied: (office) => this.#release(office),
      held: ({ role, name, office }, { reason, holdMs }) => {
        const text = JSON.stringify({ role, name, office, reason, holdMs });
        for (const node of this.nodes) {
          this.#routeTo(node).send({ office }, { kind: Kind.hold, text });
        }
      },
    };
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
    return this.node.homes.has(office) && this.node.isServing();
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
    return whileServing(seat, this.node);
  }

  async #joinSomewhere(
    peer: Peer,
    wanted: WantedSeat,
    former: Seat | undefined,
  ): Promise<Seat | Refusal> {
    const end = performance.now() + this.#leaseMs + JOIN_MARGIN_MS;
    const { office } = wanted;
    for (let delay = FIRST_RETRY_MS;; delay = Math.min(2 * delay, RETRY_MS)) {
      const home = this.#isHome(office)
        ? undefined
        : await (this.#claims.get(office) ?? this.#claim(office));
      if (this.isClosed) return refusalOf(shuttingDown());
      if (this.#isHome(office)) {
        if (!isElsewhere(former)) return this.#joinHere(peer, wanted, former);
        const refusal = this.#local?.judge(peer, wanted);
        if (refusal) return refusal;
        await former.leave();
        continue;
      }
      const left = end - performance.now();
      if (left <= 0) return refusalOf(unreachable());
      // Where this node was the home, it may be it still.
      if (home && home.node !== this.node.node) {
        const waitMs = Math.min(left, Math.max(RETRY_MS, home.leaseLeftMs));
        const ask = (isQuestion: boolean) =>
          this.#routeTo(home.node)
            .open(peer, openingOf(peer, wanted, isQuestion), waitMs);
        const opened = await joinAt(ask, former);
        if (typeof opened === "object") return opened;
        if (opened === "lost") delay = RETRY_MS;
      }
      await sleep(Math.min(delay, left), this.#closing.signal).catch(() => {});
    }
  }

  // ---------------------------------------------------------------- homes

  /** One for all joins that wait for it. */
  #claim(office: string): Promise<Home> {
    const claim = this.node.claim(office).finally(() => {
      if (this.#claims.get(office) === claim) this.#claims.delete(office);
    });
    this.#claims.set(office, claim);
    return claim;
  }

  /** An office that is empty needs no home. */
  #release(office: string): void {
    if (!this.node.homes.has(office)) return;
    this.node.release(office).catch(() => {}); // its lease ends it
  }

  // ---------------------------------------------------------------- joins of clients of other nodes

  /** Gives a client of another node a seat, if this one is the home of the office. */
  async host(opening: Opening, hosted: Hosted): Promise<void> {
    const { office } = opening;
    // The answer to the claim of this node may be in flight.
    await this.#claims.get(office)?.catch(() => {});
    const local = this.#local;
    if (local === undefined || this.isClosed || !this.#isHome(office)) {
      // Without effect, unless a claim of this node had effect and no answer in time.
      if (!this.node.homes.has(office)) void this.node.release(office);
      return hosted.settle("elsewhere");
    }
    hosted.settle(
      opening.isQuestion
        ? local.judge(hosted, opening) ?? "free"
        : this.#joinHere(hosted, opening, undefined),
    );
  }

  /** Holds a seat free after a kick at another node. */
  hold(seat: HeldSeat): void {
    this.#local?.hold(seat, seat);
  }

  // ---------------------------------------------------------------- questions of operators

  get nodes(): ReadonlySet<string> {
    return this.node.peers;
  }

  ask(node: string, question: unknown, timeoutMs: number): Promise<unknown> {
    return this.#routeTo(node).ask(question, timeoutMs);
  }

  answerWith(answer: (question: unknown) => unknown): void {
    this.#answer = answer;
  }

  hasRetired(node: string): boolean {
    return this.node.hasRetired?.(node) === true;
  }

  /** Answers a question of another node. */
  async answerTo(node: string, question: unknown): Promise<unknown> {
    try {
      return await this.#answer?.(question);
    } catch (error) {
      const about = { node, ...failure(error) };
      log.error("Cannot answer a question of the node {node}", about);
    }
  }

  // ---------------------------------------------------------------- what happens to nodes

  #routeTo(node: string): Route {
    const known = this.#routes.get(node);
    if (known) return known;
    const route = new Route(node, this);
    this.#routes.set(node, route);
    return route;
  }

  /** Takes a message of another node. */
  received(node: string, message: Buffer): void {
    const route = this.#routeTo(node);
    try {
      route.take(decodeFrame(message));
    } catch (error) {
      log.error("Cannot read a frame of the node {node}, its streams end", {
        node,
        ...failure(error),
      });
      route.lose(unreachable(), "its server could not be understood");
    }
  }

  /** Ends all streams between this node and another. */
  failed(node: string, failure: Failure): void {
    this.#routes.get(node)?.lose(unreachable(), REASONS[failure]);
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
    this.#dropAll(notServing(), reason);
    for (const office of [...this.#local ?? []]) office.disband(reason);
  }

  async drain(graceMs: number): Promise<void> {
    this.#closing.abort();
    await Promise.all([this.#local?.drain(graceMs), this.#rest(graceMs)]);
    for (const { carried, hosted } of this.#routes.values()) {
      for (const seat of [...carried.values()]) seat.leave();
      for (const peer of [...hosted.values()]) peer.end(SHUTDOWN, false);
    }
    await this.#rest(DEPART_MS);
  }

  /** Resolves when no client here waits for an answer, or owes one, at the latest after some milliseconds. */
  async #rest(milliseconds: number): Promise<void> {
    const isBusy = () =>
      this.#routes.values().some(({ carried }) =>
        carried.values().some(({ isBusy }) => isBusy)
      );
    if (!isBusy() || milliseconds <= 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, milliseconds);
    this.#idle = () => {
      if (!isBusy()) resolve();
    };
    await promise;
    clearTimeout(timer);
  }

  /** Notes that a client may have got its last answer. */
  rested(): void {
    this.#idle?.();
  }

  /** Ends what waits; the node has left its cluster. */
  close(): void {
    this.#closing.abort();
    this.#dropAll(shuttingDown(), SHUTDOWN);
  }

  /** Ends all streams, as this node is no part of its cluster any more. */
  #dropAll(error: ProtocolError, reason: string): void {
    const routes = [...this.#routes.values()];
    this.#routes.clear();
    for (const route of routes) route.end(error, reason);
  }
}

const SHUTDOWN = "its server is shutting down";

/** Why the connections of clients are closed when the node of their office has failed. */
const REASONS = {
  lost: "messages were lost",
  silent: "the server of its office is silent",
  gone: "the server of its office has ended",
} as const satisfies Record<Failure, string>;

/** Not for the seat of an Agent, which a gateway may wrap: an Agent has no former one. */
const isElsewhere = (seat: Seat | undefined): seat is Seat =>
  seat instanceof Carried && seat.isHeld;

/** The client leaves its former office when it is known that it gets the new seat, and before it does. */
async function joinAt(
  ask: (isQuestion: boolean) => Promise<Opened>,
  former: Seat | undefined,
): Promise<Opened> {
  if (former?.isHeld) {
    const judged = await ask(true);
    if (judged !== "free") return judged;
    await former.leave();
  }
  return await ask(false);
}

/** A seat in an office here, as long as this node may serve: timers may be late. */
const whileServing = (seat: Seat, node: TunnelNode): Seat => ({
  get isHeld() {
    return seat.isHeld;
  },
  receive(event, payload, ack) {
    if (node.isServing()) return seat.receive(event, payload, ack);
    ack?.(errorAnswer(notServing()));
  },
  leave: () => seat.leave(),
  gone: () => seat.gone(),
});

const openingOf = (
  { id, profile, version, instance, identity, address }: Peer,
  { role, name, office, devices }: WantedSeat,
  isQuestion: boolean,
): Opening => ({
  role,
  name,
  office,
  version,
  instance,
  identity,
  address,
  isQuestion,
  ...(devices && { devices }),
  client: id,
  protocol: role === "device" ? DEVICE_PROTOCOL : nameOfProfile(profile),
});

/**
 * A node, as its tunnel uses it; the same object for all its terms. While it is not in its cluster it is
 * the home of nothing, each claim fails, and all nodes are away.
 */
export interface TunnelNode extends Directory, Messenger {
  /** Returns whether this node may serve now; to be called at each event, since timers may be late. */
  isServing(): boolean;
  /** Returns whether a node that is not there any more had nothing left to do. */
  hasRetired?(node: string): boolean;
}

/** What carries events between the offices of a cluster, as its node drives it. No method throws. */
export type NodeTunnel = Pick<
  ClusterOffices,
  | keyof OtherNodes
  | (
    | "counts"
    | "start"
    | "received"
    | "failed"
    | "homeLost"
    | "fence"
    | "close"
  )
>;
