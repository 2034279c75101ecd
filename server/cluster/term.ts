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
  type LeasedDirectory,
  Pulse,
} from "./directory.ts";
import type { LinkEvents } from "./link.ts";
import type { Links } from "./redis_links.ts";
import type { NodeTunnel } from "./cluster_offices.ts";
import {
  type About,
  causeOf,
  differences,
  Neighbours,
  type NodeLog,
  type Tally,
} from "./node_log.ts";

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

/** Why a node is fenced: its lease has ended without an answer of Redis, or Redis says that it has. */
export type FenceReason = "lease over" | "reaped";

/** What all terms of a node share. */
export interface TermParts {
  readonly tunnel: Pick<NodeTunnel, "received" | "failed" | "homeLost">;
  readonly clock: Clock;
  readonly leaseMs: number;
  readonly about: About;
  readonly log: NodeLog;
  readonly tally: Tally;
}

/**
 * One time of a node in a cluster, under one id: from its first beat until it leaves, or its lease ends.
 *
 * It renews the lease, and keeps what the directory and the links report of other nodes.
 */
export class Term {
  /** What it has. */
  readonly connected: Connected;
  /** The other nodes. */
  readonly neighbours: Neighbours = new Neighbours();
  readonly #parts: TermParts;
  readonly #fenced: (reason: FenceReason) => void;
  readonly #pulse: Pulse;
  readonly #about: string;
  #isReady = false;
  #isOver = false;
  #isReaped = false;
  #isConnected = true;
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
    this.#pulse = new Pulse(parts.clock, parts.leaseMs, {
      beat: () => this.#beat(),
      over: () => this.#end("lease over"),
    });
    this.#about = JSON.stringify(parts.about);
  }

  /** Takes the lease, and greets all other nodes. */
  async begin(): Promise<void> {
    await this.#pulse.start();
    await this.#met;
    this.#isReady = !this.#isOver;
  }

  /** Whether Redis has answered last, and is connected. */
  get isReached(): boolean {
    return this.#isConnected && this.#pulse.isAnswered;
  }

  /** Milliseconds until it stops to serve. */
  get leaseMs(): number {
    return this.#pulse.untilOverMs;
  }

  /** Returns whether this node may serve now; to be asked at each event, since timers may be late. */
  isServing(): boolean {
    if (!this.#isReady || this.#isOver) return false;
    if (this.#pulse.state === "valid") return true;
    this.#pulse.hurry();
    return false;
  }

  /** Gives up the lease, unless it is lost, and closes the connections. */
  async leave(): Promise<void> {
    const wasOver = this.#isOver;
    this.#stop();
    try {
      if (!this.#isReaped) await this.connected.directory.leave();
    } catch (error) {
      if (!wasOver) this.#parts.log.tell("notLeft", { reason: causeOf(error) });
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
      if (this.#pulse.state === "over") this.#pulse.hurry();
      else this.#parts.tunnel.received(from, message);
    },
    failed: (node, failure) => {
      if (this.#isOver) return;
      const { tally, log, tunnel } = this.#parts;
      const [figure, line] = FAILURES[failure];
      tally[figure]++;
      log.tell(line, { node, name: this.neighbours.about(node)?.name ?? "" });
      tunnel.failed(node, failure);
    },
    connected: (isConnected) => {
      if (this.#isOver) return;
      this.#isConnected = isConnected;
      // Whatever has happened meanwhile, it is known at once.
      if (isConnected) this.#pulse.want();
      else this.#parts.log.away(this.leaseMs, "the connection was lost");
    },
  };

  async #beat(): Promise<boolean> {
    const { tally, log } = this.#parts;
    let beat: Beat;
    try {
      beat = await this.connected.directory.beat(this.#about);
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
    this.#met.catch((error) => log.tell("failed", { reason: causeOf(error) }));
    return true;
  }

  #followData({ isNew, isEmpty, settleMs, lost }: Renewed): void {
    const { tally, log, tunnel } = this.#parts;
    if (!isNew) return;
    if (!this.#isReady) {
      const seconds = Math.ceil(settleMs / 1000);
      if (seconds > 0) log.tell("settling", { seconds });
      return;
    }
    const { homes } = this.connected.directory;
    if (isEmpty) tally.dataLost++;
    tally.homesLost += lost.length;
    log.tell(isEmpty ? "emptied" : "restarted", { homes: homes.size });
    if (lost.length > 0) log.tell("homesLost", { lost: lost.length });
    for (const office of lost) tunnel.homeLost(office);
  }

  /** Resolves when new nodes have answered. */
  async #followNodes({ nodes, settleMs }: Renewed): Promise<void> {
    const { links } = this.connected;
    const { log, about, tunnel } = this.#parts;
    const changes = this.neighbours.take(
      nodes,
      settleMs === 0,
      (node) => links.peers.has(node),
    );
    const joined: string[] = [];
    for (const { kind, node, about: other } of changes) {
      const { name } = other;
      log.tell(CHANGES[kind], { node, name });
      if (kind !== "joined") {
        links.drop(node);
        tunnel.failed(node, "gone");
        continue;
      }
      joined.push(node);
      for (const each of differences(about, other)) {
        const key = `${each.setting} ${each.other}`;
        log.once("differs", key, { ...each, node, name });
      }
    }
    await links.meet(joined);
  }

  #end(reason: FenceReason): void {
    if (this.#isOver) return;
    this.#stop();
    this.#fenced(reason);
  }

  #stop(): void {
    this.#isOver = true;
    this.#pulse.stop();
  }
}

/** What is counted, and logged, of a node that has failed. */
const FAILURES = {
  lost: ["linksLost", "nodeLost"],
  silent: ["nodesSilent", "nodeSilent"],
  gone: ["nodesGone", "nodeGone"],
} as const;

const CHANGES = {
  joined: "nodeJoined",
  left: "nodeLeft",
  ended: "nodeEnded",
} as const;

/** A beat that has renewed the lease. */
type Renewed = Extract<Beat, { state: "ok" }>;
