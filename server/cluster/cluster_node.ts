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
import { type About, aboutOf, causeOf, newTally, NodeLog } from "./node_log.ts";
import {
  type Connect,
  type Connected,
  type FenceReason,
  Term,
} from "./term.ts";
import type { LocalOffices } from "../office/office.ts";
import type { Offices } from "../office/peer.ts";
import type {
  AgreedSettings,
  ClaimOutcome,
  ClusterFigures,
  ClusterHindrance,
  ClusterMember,
  ClusterStatus,
  OtherNodes,
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
}

/** A server as a node of a cluster: one term after the other, each under an id of its own. */
export class ClusterNode implements ClusterMember, TunnelNode {
  readonly name: string;
  readonly #parts: ClusterNodeParts;
  readonly #log: NodeLog;
  readonly #tally = newTally();
  readonly #listeners: ((outcome: ClaimOutcome, ms: number) => void)[] = [];
  readonly #tunnel: NodeTunnel;
  #joined = newPromise();
  #about: About | undefined;
  #term: Term | undefined;
  #hindrance: ClusterHindrance = "registry unavailable";
  #running: Promise<void> | undefined;
  #isLeaving = false;
  #whyNotJoined: string | undefined;
  #wake = () => {};

  constructor(parts: ClusterNodeParts) {
    this.#parts = parts;
    this.name = parts.name;
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
    return this.#tunnel.others;
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
    if (this.#about !== undefined) {
      throw new TypeError(
        "Cannot use a cluster twice: it belongs to another server, each needs a joinCluster() of its own",
      );
    }
    const { leaseMs } = this.#parts;
    this.#about = aboutOf(this.name, { ...settings, leaseMs });
    const offices = this.#tunnel.start(local);
    this.#running = this.#run(this.#about, settings);
    return offices;
  }

  async joined(): Promise<void> {
    const late = Promise.withResolvers<never>();
    const cancel = this.#parts.clock.after(
      JOIN_TIMEOUT_MS,
      () =>
        late.reject(
          this.#cannotJoin(
            `it took longer than ${JOIN_TIMEOUT_MS / 1000} s`,
          ),
        ),
    );
    try {
      await Promise.race([this.#joined.promise, late.promise]);
    } finally {
      cancel();
    }
  }

  unknownSession(sid: string): void {
    const name = sid.slice(0, Math.max(0, sid.lastIndexOf(".")));
    if (name === this.name || name === "") return;
    if (!this.#term?.neighbours.hasName(name)) return;
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
  async #run(about: About, settings: AgreedSettings): Promise<void> {
    while (!this.#isLeaving) {
      const over = Promise.withResolvers<void>();
      const term = await this.#join(about, settings, over.resolve);
      if (term === undefined) {
        await this.#pause();
        continue;
      }
      this.#wake = over.resolve;
      if (!this.#isLeaving) await over.promise;
      this.#term = undefined;
      await term.leave();
    }
  }

  /** @returns `undefined` when that has failed */
  async #join(
    about: About,
    settings: AgreedSettings,
    over: () => void,
  ): Promise<Term | undefined> {
    let term: Term | undefined;
    try {
      const connected = await this.#connect(settings, () => term);
      term = new Term(connected, {
        ...this.#parts,
        tunnel: this.#tunnel,
        about,
        log: this.#log,
        tally: this.#tally,
      }, (reason) => {
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
        this.#log.tell("cannotJoin", { reason });
      }
      await term?.leave();
      return undefined;
    }
    this.#whyNotJoined = undefined;
    const { node } = term.connected.directory;
    const { size: others } = term.neighbours;
    this.#log.tell("joined", { node, name: this.name, others });
    this.#joined.resolve();
    return term;
  }

  /** What arrives before there is a term is for nobody: no other node knows this one yet. */
  #connect(
    { maxMessageBytes }: AgreedSettings,
    term: () => Term | undefined,
  ): Promise<Connected> {
    const events: LinkEvents = {
      received: (...told) => term()?.events.received(...told),
      failed: (...told) => term()?.events.failed(...told),
      connected: (...told) => term()?.events.connected(...told),
    };
    return this.#parts.connect(events, { maxMessageBytes });
  }

  /** Disconnects all clients, synchronously: other nodes may have their offices. */
  #fence(reason: FenceReason): void {
    const homes = this.#term?.connected.directory.homes.size ?? 0;
    this.#tally.fences++;
    this.#hindrance = "fenced";
    this.#term = undefined;
    const isReaped = reason === "reaped";
    this.#log.tell(isReaped ? "reaped" : "leaseOver", { homes });
    this.#tunnel.fence(
      isReaped ? "its server was taken for dead" : "its server has lost Redis",
    );
  }

  #cannotJoin(reason: string): Error {
    return new Error(
      `Cannot join the cluster at ${this.#parts.place}: ${reason}`,
    );
  }

  async #pause(): Promise<void> {
    if (this.#isLeaving) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#parts.clock.after(RETRY_MS, resolve);
    this.#wake = resolve;
    await promise;
    cancel();
  }
}

const NONE: ReadonlySet<string> = new Set();

/** The figures of what became of messages. */
const COUNTED = {
  sent: "messagesOut",
  full: "messagesFull",
  away: "messagesAway",
} as const;

/** Nobody has to wait for it. */
function newPromise() {
  const promise = Promise.withResolvers<void>();
  promise.promise.catch(() => {});
  return promise;
}
