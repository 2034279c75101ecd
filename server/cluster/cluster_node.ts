/**
 * A server as a node of a cluster. It joins, serves for a term under one id, and joins again under
 * another when its lease has ended; to its server it is one object all the time, which is the home of
 * nothing between two terms.
 *
 * @module
 */
import type { NodeTunnel, TunnelNode } from "./cluster_offices.ts";
import {
  type Clock,
  type Directory,
  type Home,
  RegistryUnavailableError,
} from "./directory.ts";
import type { LinkEvents, Sent } from "./link.ts";
import { type About, aboutOf, causeOf, NodeLog } from "./node_log.ts";
import { type Connect, type FenceReason, Term } from "./term.ts";
import type { LocalOffices } from "../office/office.ts";
import type { Offices } from "../office/peer.ts";
import type { SignInStore } from "../sign_in/grant.ts";
import {
  type AgreedSettings,
  type ClaimOutcome,
  ClusterCounts,
  type ClusterFigures,
  type ClusterHindrance,
  type ClusterMember,
  type ClusterStatus,
  type OtherNodes,
} from "../shared/cluster.ts";

/** How long it takes at least from one try to join to the next. */
const RETRY_MS = 1000;

/** How long a server waits until it has joined. */
const JOIN_TIMEOUT_MS = 10_000;

/** What {@linkcode ClusterNode} works with. */
interface ClusterNodeParts {
  /** Connects it, each time under a new id. */
  readonly connect: Connect;
  /** Closes what was connected before the first {@linkcode ClusterNodeParts.connect}. */
  readonly close: () => Promise<void>;
  /** The address of Redis, without a password. */
  readonly place: string;
  /** What the ids of its sessions begin with. */
  readonly name: string;
  readonly leaseMs: number;
  readonly clock: Clock;
  /** Creates what carries events between offices. */
  readonly newTunnel: (node: TunnelNode) => NodeTunnel;
  /** Makes what keeps the sign-ins of all nodes. */
  readonly signInStore: () => Promise<SignInStore>;
}

/** A server as a node of a cluster: one term after the other, each under an id of its own. */
export class ClusterNode implements ClusterMember, TunnelNode {
  readonly name: string;
  readonly signInStore: ClusterNodeParts["signInStore"];
  readonly #parts: ClusterNodeParts;
  readonly #log: NodeLog;
  readonly #tally = new ClusterCounts();
  readonly #listeners: ((outcome: ClaimOutcome, ms: number) => void)[] = [];
  readonly #tunnel: NodeTunnel;
  #joined = newPromise();
  #term: Term | undefined;
  #hindrance: ClusterHindrance = "registry unavailable";
  #running: Promise<void> | undefined;
  #isLeaving = false;
  #whyNotJoined: string | undefined;
  #wake = () => {};

  constructor(parts: ClusterNodeParts) {
    this.#parts = parts;
    this.name = parts.name;
    this.signInStore = parts.signInStore;
    this.#log = new NodeLog(parts.place);
    this.#tunnel = parts.newTunnel(this);
  }

  get node(): string {
    return this.#term?.connected.directory.node ?? "";
  }

  get homes(): Directory["homes"] {
    return this.#term?.connected.directory.homes ?? NONE;
  }

  get peers(): ReadonlySet<string> {
    return this.#term?.connected.links.peers ?? NONE;
  }

  get maxMessageBytes(): number {
    return this.#term?.connected.links.maxMessageBytes ?? 0;
  }

  get others(): OtherNodes {
    return this.#tunnel;
  }

  isServing(): boolean {
    return this.#term?.isServing() ?? false;
  }

  get hindrance(): ClusterHindrance | undefined {
    if (this.#term === undefined) return this.#hindrance;
    const { isReached } = this.#term;
    return this.isServing() && isReached ? undefined : "registry unavailable";
  }

  status(): ClusterStatus {
    const term = this.#term;
    return {
      node: this.node,
      leaseMs: Math.round(term?.leaseMs ?? 0),
      redis: term?.isReached ? "connected" : "away",
      nodes: term ? this.peers.size + 1 : 0,
    };
  }

  figures(): ClusterFigures {
    const { directory, links } = this.#term?.connected ?? {};
    return {
      ...this.#tally,
      ...this.#tunnel.counts,
      queuedBytes: links?.queuedBytes ?? 0,
      homes: directory?.homes.size ?? 0,
    };
  }

  onClaim(listener: (outcome: ClaimOutcome, durationMs: number) => void): void {
    this.#listeners.push(listener);
  }

  start(settings: AgreedSettings, local: LocalOffices): Offices {
    if (this.#running !== undefined) {
      throw new TypeError(
        "Cannot use a cluster twice: it belongs to another server, each needs a joinCluster() of its own",
      );
    }
    const offices = this.#tunnel.start(local);
    this.#running = this.#run(settings);
    return offices;
  }

  async joined(): Promise<void> {
    const { promise, reject } = Promise.withResolvers<never>();
    const reason = `it took longer than ${JOIN_TIMEOUT_MS / 1000} s`;
    const late = () => reject(this.#cannotJoin(reason));
    const cancel = this.#parts.clock.after(JOIN_TIMEOUT_MS, late);
    await Promise.race([this.#joined.promise, promise]).finally(cancel);
  }

  unknownSession(sid: string): void {
    const name = sid.slice(0, Math.max(0, sid.lastIndexOf(".")));
    if (name === this.name || name === "") return;
    const isOf = (other: { readonly name: string }) => other.name === name;
    if (!this.#term?.neighbours.values().some(isOf)) return;
    this.#tally.misrouted++;
    this.#log.misrouted(name, this.#parts.clock.now().steady);
  }

  async leave(): Promise<void> {
    this.#isLeaving = true;
    this.#wake();
    this.#joined.resolve();
    if (this.#running === undefined) await this.#parts.close();
    await this.#running;
    this.#tunnel.close();
  }

  send(to: string, stream: string, message: readonly Uint8Array[]): Sent {
    const { links } = this.#term?.connected ?? {};
    const sent = links?.send(to, stream, message) ?? "away";
    this.#tally[COUNTED[sent]]++;
    if (sent !== "sent") return sent;
    for (const part of message) this.#tally.bytesOut += part.byteLength;
    return sent;
  }

  async claim(office: string): Promise<Home> {
    const term = this.#term;
    if (term === undefined) throw new RegistryUnavailableError();
    const { directory } = term.connected;
    const began = performance.now();
    let outcome: ClaimOutcome = "failed";
    try {
      const home = await directory.claim(office);
      // An answer that came too late: other nodes may have the office by now.
      if (!term.isServing()) throw new RegistryUnavailableError();
      outcome = home.node === directory.node ? "here" : "elsewhere";
      return home;
    } finally {
      const duration = performance.now() - began;
      for (const listener of this.#listeners) listener(outcome, duration);
    }
  }

  /** Without a term its homes have ended with its lease. */
  async release(office: string): Promise<void> {
    await this.#term?.connected.directory.release(office);
  }

  /** Joins, again and again, until it leaves. */
  async #run(settings: AgreedSettings): Promise<void> {
    const { clock, leaseMs } = this.#parts;
    const about = aboutOf(this.name, { ...settings, leaseMs });
    while (!this.#isLeaving) {
      const over = Promise.withResolvers<void>();
      const term = await this.#join(about, settings, over.resolve);
      // The end of the term; or, where it has not joined, the time of the next try.
      const wait = term ? over : Promise.withResolvers<void>();
      const cancel = term ? () => {} : clock.after(RETRY_MS, wait.resolve);
      this.#wake = wait.resolve;
      if (!this.#isLeaving) await wait.promise;
      cancel();
      this.#term = undefined;
      await term?.leave();
    }
  }

  /** @returns `undefined` when that has failed */
  async #join(
    about: About,
    { maxMessageBytes }: AgreedSettings,
    over: () => void,
  ): Promise<Term | undefined> {
    let term: Term | undefined;
    // Without a term no other node lists this one, so what arrives is dropped.
    const events: LinkEvents = {
      received: (...args) => term?.events.received(...args),
      failed: (...args) => term?.events.failed(...args),
      connected: (...args) => term?.events.connected(...args),
    };
    try {
      const connected = await this.#parts.connect(events, { maxMessageBytes });
      const tunnel = this.#tunnel;
      const log = this.#log;
      const tally = this.#tally;
      const parts = { ...this.#parts, tunnel, about, log, tally };
      term = new Term(connected, parts, (reason) => {
        this.#fence(reason);
        over();
      });
      this.#term = term;
      await term.begin();
    } catch (error) {
      this.#term = undefined;
      const reason = causeOf(error);
      this.#joined.reject(this.#cannotJoin(reason));
      this.#joined = newPromise();
      const isKnown = reason === this.#whyNotJoined;
      this.#whyNotJoined = reason;
      if (!this.#isLeaving && !isKnown) {
        this.#log.write("cannotJoin", { reason });
      }
      await term?.leave();
      return undefined;
    }
    this.#whyNotJoined = undefined;
    const { node } = term.connected.directory;
    const { size: others } = term.neighbours;
    this.#log.write("joined", { node, name: this.name, others });
    this.#joined.resolve();
    return term;
  }

  /** Disconnects all clients, synchronously: other nodes may have their offices. */
  #fence(reason: FenceReason): void {
    const homes = this.#term?.connected.directory.homes.size ?? 0;
    this.#tally.fences++;
    this.#hindrance = "fenced";
    this.#term = undefined;
    this.#log.write(reason, { homes });
    this.#tunnel.fence(FENCED[reason]);
  }

  #cannotJoin(reason: string): Error {
    return new Error(
      `Cannot join the cluster at ${this.#parts.place}: ${reason}`,
    );
  }
}

/** Why the connections of clients are closed. */
const FENCED: Readonly<Record<FenceReason, string>> = {
  reaped: "its server was taken for dead",
  leaseOver: "its server has lost Redis",
};

const NONE: ReadonlySet<string> = new Set();

/** The figures of what became of messages. */
const COUNTED = {
  sent: "messagesOut",
  full: "messagesFull",
  away: "messagesAway",
} as const;

/** Its rejection may stay unhandled. */
function newPromise() {
  const promise = Promise.withResolvers<void>();
  promise.promise.catch(() => {});
  return promise;
}
