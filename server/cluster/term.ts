/**
 * One term of a node: it renews the lease, follows the other nodes that beats and links report, and ends
 * when it leaves or its lease is over.
 *
 * @module
 */
import type { Buffer } from "node:buffer";
import {
  type Beat,
  type Clock,
  type Instant,
  Lease,
  type LeasedDirectory,
} from "./directory.ts";
import type { LinkEvents } from "./link.ts";
import type { Links } from "./redis_links.ts";
import type { NodeTunnel } from "./cluster_offices.ts";
import {
  type About,
  causeOf,
  differences,
  type NodeLog,
  readAbout,
} from "./node_log.ts";
import type { ClusterCounts } from "../shared/cluster.ts";

/** What a node has under one id. */
export interface Connected {
  /** The homes of offices. */
  readonly directory: LeasedDirectory;
  /** Messages to other nodes. */
  readonly links: Links;
  /** Closes both, and the connections to Redis. */
  close(): Promise<void>;
}

/** Connects a node under a new id. */
export type Connect = (
  events: LinkEvents,
  settings: { readonly maxMessageBytes: number },
) => Promise<Connected>;

/** Why a node is fenced: its lease has ended without an answer of Redis, or by its answer. */
export type FenceReason = "leaseOver" | "reaped";

/** What all terms of a node share. */
interface TermParts {
  readonly tunnel: Pick<NodeTunnel, "received" | "failed" | "homeLost">;
  readonly clock: Clock;
  readonly leaseMs: number;
  readonly about: About;
  readonly log: NodeLog;
  readonly tally: ClusterCounts;
}

/**
 * One time of a node in a cluster, under one id: from its first beat until it leaves, or its lease ends.
 *
 * It renews the lease in time, one beat after the other, and keeps what the directory and the links
 * report of other nodes.
 */
export class Term {
  /** What it has. */
  readonly connected: Connected;
  /** The other nodes, and how many beats in a row have not found them. */
  readonly neighbours: Map<string, { name: string; missing: number }> =
    new Map();
  readonly #parts: TermParts;
  readonly #fenced: (reason: FenceReason) => void;
  readonly #lease: Lease;
  #isReady = false;
  #isOver = false;
  #isReaped = false;
  #isConnected = true;
  /** Whether the last beat was answered. */
  #isAnswered = true;
  #isBeating = false;
  /** Whether the next beat is to be sent now. */
  #isWanted = false;
  #cancel = () => {};
  #met: Promise<void> = Promise.resolve();

  /** @param fenced is called synchronously when this node may not serve any more */
  constructor(
    connected: Connected,
    parts: TermParts,
    fenced: (reason: FenceReason) => void,
  ) {
    this.connected = connected;
    this.#parts = parts;
    this.#fenced = fenced;
    this.#lease = new Lease(parts.leaseMs);
  }

  get #now(): Instant {
    return this.#parts.clock.now();
  }

  /** Takes the lease, and greets all other nodes; rejects without an answer. */
  async begin(): Promise<void> {
    const sent = this.#now;
    if (await this.#renew()) this.#lease.renewed(sent);
    this.#arm();
    await this.#met;
    this.#isReady = !this.#isOver;
  }

  /** Whether Redis has answered last, and is connected. */
  get isReached(): boolean {
    return this.#isConnected && this.#isAnswered;
  }

  /** Milliseconds until it stops to serve. */
  get leaseMs(): number {
    return this.#lease.untilOver(this.#now);
  }

  /** Returns whether this node may serve now; to be called at each event, since timers may be late. */
  isServing(): boolean {
    if (!this.#isReady || this.#isOver) return false;
    if (this.#lease.state(this.#now) === "valid") return true;
    this.#hurry();
    return false;
  }

  /** Checks the lease soon, but not in this turn: its caller must not be ended meanwhile. */
  #hurry(): void {
    queueMicrotask(() => this.#tick());
  }

  /** Releases the lease, unless it is lost, and closes the connections. */
  async leave(): Promise<void> {
    const wasOver = this.#isOver;
    this.#stop();
    try {
      if (!this.#isReaped) await this.connected.directory.leave();
    } catch (error) {
      if (!wasOver) {
        this.#parts.log.write("notLeft", { reason: causeOf(error) });
      }
    }
    await this.connected.close();
  }

  /** Takes what the links report. */
  readonly events: LinkEvents = {
    received: (from: string, message: Buffer) => {
      this.#parts.tally.messagesIn++;
      this.#parts.tally.bytesIn += message.length;
      if (this.#isOver) return;
      // A process that was frozen finds messages before its timers.
      if (this.#lease.state(this.#now) === "over") this.#hurry();
      else this.#parts.tunnel.received(from, message);
    },
    failed: (node, failure) => {
      if (this.#isOver) return;
      const { tally, log, tunnel } = this.#parts;
      const [figure, line] = FAILURES[failure];
      tally[figure]++;
      log.write(line, { node, name: this.neighbours.get(node)?.name ?? "" });
      tunnel.failed(node, failure);
    },
    connected: (isConnected) => {
      if (this.#isOver) return;
      this.#isConnected = isConnected;
      if (!isConnected) {
        return this.#parts.log.away(this.leaseMs, "the connection was lost");
      }
      // What has happened meanwhile is known immediately.
      this.#isWanted = this.#isAnswered = true;
      this.#arm();
    },
  };

  // ---------------------------------------------------------------- beats

  #arm(): void {
    this.#cancel();
    if (this.#isOver) return;
    const over = this.leaseMs;
    const delay = this.#isBeating ? over : Math.min(over, this.#untilBeat());
    this.#cancel = this.#parts.clock.after(delay, () => this.#tick());
  }

  #untilBeat(): number {
    return this.#isWanted ? 0 : this.#lease.untilBeat(this.#now);
  }

  #tick(): void {
    if (this.#isOver) return;
    if (this.#lease.state(this.#now) === "over") return this.#end("leaseOver");
    if (!this.#isBeating && this.#untilBeat() <= 0) void this.#beat();
    this.#arm();
  }

  async #beat(): Promise<void> {
    this.#isBeating = true;
    this.#isWanted = false;
    const sent = this.#now;
    try {
      if (await this.#renew() && !this.#isOver) {
        this.#lease.renewed(sent);
        this.#isAnswered = true;
      }
    } catch {
      if (!this.#isOver) this.#lease.failed(this.#now);
      this.#isAnswered = false;
    } finally {
      this.#isBeating = false;
      this.#arm();
    }
  }

  /** Returns whether a beat has renewed the lease; rejects without an answer. */
  async #renew(): Promise<boolean> {
    const { tally, log, about } = this.#parts;
    let beat: Beat;
    try {
      beat = await this.connected.directory.beat(JSON.stringify(about));
    } catch (error) {
      if (this.#isReady && !this.#isOver) {
        tally.beatsFailed++;
        log.away(this.leaseMs, causeOf(error));
      }
      throw error;
    }
    if (this.#isOver) return false;
    if (beat.state === "reaped") {
      this.#isReaped = true;
      this.#end("reaped");
      return false;
    }
    if (this.#isConnected) log.back();
    this.#followData(beat);
    this.#met = this.#followNodes(beat);
    this.#met.catch((error) => log.write("failed", { reason: causeOf(error) }));
    return true;
  }

  #followData({ isNew, isEmpty, settleMs, lost }: Renewed): void {
    const { tally, log, tunnel } = this.#parts;
    if (!isNew) return;
    if (!this.#isReady) {
      const seconds = Math.ceil(settleMs / 1000);
      if (seconds > 0) log.write("settling", { seconds });
      return;
    }
    const { homes } = this.connected.directory;
    if (isEmpty) tally.dataLost++;
    tally.homesLost += lost.length;
    log.write(isEmpty ? "emptied" : "restarted", { homes: homes.size });
    if (lost.length > 0) log.write("homesLost", { lost: lost.length });
    for (const office of lost) tunnel.homeLost(office);
  }

  /** Resolves when new nodes have answered. */
  async #followNodes({ nodes, settleMs }: Renewed): Promise<void> {
    const { links } = this.connected;
    const { log, about, tunnel } = this.#parts;
    for (const [node, known] of this.neighbours) {
      if (nodes.has(node)) known.missing = 0;
      // After a restart of Redis they come back.
      else if (settleMs === 0) known.missing++;
      const isLinked = links.peers.has(node); // it has not said goodbye
      const hasEnded = known.missing >= MISSING_BEATS;
      if (nodes.has(node) || isLinked && !hasEnded) continue;
      this.neighbours.delete(node);
      const line = isLinked ? "nodeEnded" : "nodeLeft";
      log.write(line, { node, name: known.name });
      links.drop(node);
      tunnel.failed(node, "gone");
    }
    const joined = [...nodes].filter(([node]) => !this.neighbours.has(node));
    for (const [node, text] of joined) {
      const other = readAbout(text);
      const { name } = other;
      this.neighbours.set(node, { name, missing: 0 });
      log.write("nodeJoined", { node, name });
      for (const each of differences(about, other)) {
        log.differs({ ...each, node, name });
      }
    }
    await links.meet(joined.map(([node]) => node));
  }

  #end(reason: FenceReason): void {
    if (this.#isOver) return;
    this.#stop();
    this.#fenced(reason);
  }

  #stop(): void {
    this.#isOver = true;
    this.#cancel();
    this.#lease.end();
  }
}

/** A goodbye may arrive after the beat that does not find its node any more. */
const MISSING_BEATS = 2;

/** What is counted, and logged, of a node that has failed. */
const FAILURES = {
  lost: ["linksLost", "nodeLost"],
  silent: ["nodesSilent", "nodeSilent"],
  gone: ["nodesGone", "nodeGone"],
} as const;

/** A beat that has renewed the lease. */
type Renewed = Extract<Beat, { state: "ok" }>;
