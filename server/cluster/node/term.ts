import type { Buffer } from "node:buffer";
import type { Seat } from "../../shared/member.ts";
import type { Beat, Directory, Seated } from "../directory/directory.ts";
import type { LeaseTimes } from "../directory/lease.ts";
import type { LinkEvents, Links } from "../links/links.ts";
import type { Switchboard } from "../switchboard/switchboard.ts";
import { type About, differences } from "./about.ts";
import type { Clock } from "./clock.ts";
import { Neighbours } from "./neighbours.ts";
import type { FenceReason, NodeLog } from "./node_log.ts";
import { causeOf } from "./cause_of.ts";
import { Pulse } from "./pulse.ts";
import { SeatKeeper } from "./seat_keeper.ts";
import type { Tally } from "./tally.ts";

/** What a node has under one id. */
export interface Connected {
  /** Who sits where. */
  readonly directory: Directory;
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

/** What of the switchboard a term needs. */
export type TermSwitchboard = Pick<
  Switchboard,
  | "received"
  | "lost"
  | "silent"
  | "gone"
  | "connected"
  | "left"
  | "seats"
  | "evict"
  | "reload"
  | "retry"
>;

/** What all terms of a node share. */
export interface TermParts {
  readonly switchboard: TermSwitchboard;
  readonly clock: Clock;
  readonly times: LeaseTimes;
  readonly about: About;
  readonly log: NodeLog;
  readonly tally: Tally;
}

/**
 * One time of a node in a cluster, under one id: from its first beat until it leaves, or its lease ends.
 *
 * It renews the lease, and keeps what the directory and the links tell of other nodes.
 */
export class Term {
  /** What it has. */
  readonly connected: Connected;
  readonly #parts: TermParts;
  readonly #fenced: (reason: FenceReason) => void;
  readonly #pulse: Pulse;
  readonly #neighbours: Neighbours;
  readonly #keeper: SeatKeeper;
  readonly #about: string;
  #isReady = false;
  #isOver = false;
  #isConnected = true;
  #lostDataAt = -Infinity;
  #met: Promise<void> = Promise.resolve();

  /** @param fenced is called at once when this node may not serve any more */
  constructor(
    connected: Connected,
    parts: TermParts,
    fenced: (reason: FenceReason) => void,
  ) {
    this.connected = connected;
    this.#parts = parts;
    this.#fenced = fenced;
    this.#pulse = new Pulse(parts.clock, parts.times, {
      beat: () => this.#beat(),
      over: () => this.#end("lease over"),
    });
    this.#neighbours = new Neighbours(parts.times.leaseMs);
    this.#keeper = new SeatKeeper(
      connected.directory,
      parts,
      () => this.#isOver,
    );
    this.#about = JSON.stringify(parts.about);
  }

  /** Takes the lease, and greets all other nodes. */
  async begin(): Promise<void> {
    await this.#pulse.start();
    await this.#met;
    this.#isReady = !this.#isOver;
  }

  /** The other nodes. */
  get neighbours(): Neighbours {
    return this.#neighbours;
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

  /** Frees the seats of a node that is proved to have ended. */
  async reap(node: string): Promise<void> {
    const { directory } = this.connected;
    const { log, switchboard } = this.#parts;
    try {
      this.#tell(await directory.reap(node));
      // With the data Redis has also forgotten who was there.
      const { steady } = this.#parts.clock.now();
      const wasLost = steady - this.#lostDataAt < this.#parts.times.leaseMs;
      if (wasLost && !this.#isOver) await switchboard.reload();
    } catch (error) {
      if (!this.#isOver) log.notReaped(node, causeOf(error));
    }
  }

  /** Ends it: it beats no more, and does not serve. */
  stop(): void {
    this.#isOver = true;
    this.#pulse.stop();
  }

  /** Gives up the lease, if it has one, and closes the connections. */
  async leave(): Promise<void> {
    const wasOver = this.#isOver;
    this.stop();
    try {
      if (!wasOver) await this.connected.directory.leave();
    } catch (error) {
      this.#parts.log.notLeft(causeOf(error));
    }
    await this.connected.close();
  }

  /** Takes what the links tell. */
  readonly events: LinkEvents = {
    received: (from: string, message: Buffer) => {
      this.#parts.tally.received(message);
      if (this.#isOver) return;
      // A process that was frozen finds messages before its timers.
      if (this.#pulse.state === "over") this.#pulse.hurry();
      else this.#parts.switchboard.received(from, message);
    },
    lost: (node) => {
      if (this.#isOver) return;
      this.#parts.tally.linksLost++;
      this.#parts.log.lost(node, this.#neighbours.about(node));
      this.#parts.switchboard.lost(node);
    },
    silent: (node) => {
      if (this.#isOver) return;
      this.#parts.tally.nodesSilent++;
      this.#parts.log.silent(node, this.#neighbours.about(node));
      this.#parts.switchboard.silent(node);
    },
    gone: (node) => {
      if (this.#isOver) return;
      this.#parts.tally.nodesGone++;
      this.#parts.log.gone(node, this.#neighbours.forget(node));
      this.#parts.switchboard.gone(node);
      void this.reap(node);
    },
    connected: (isConnected) => {
      if (this.#isOver) return;
      this.#isConnected = isConnected;
      this.#parts.switchboard.connected(isConnected);
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
      this.#end("reaped");
      return false;
    }
    if (this.#isConnected) log.back();
    this.#met = this.#take(beat);
    this.#met.catch((error) => log.failed(error));
    return true;
  }

  /** Takes what a beat has told; resolves when new nodes have answered. */
  async #take(beat: Extract<Beat, { state: "ok" }>): Promise<void> {
    const { clock, tally, log, switchboard } = this.#parts;
    const { steady } = clock.now();
    if (beat.emptied) {
      tally.dataLost++;
      this.#lostDataAt = steady;
      log.dataLost(switchboard.seats().length);
    }
    const met = this.#follow(beat, steady);
    this.#keeper.check(beat);
    const meeting = this.connected.links.meet(met);
    // The first beat tells of nodes that nobody here has met yet: they must hear of it too.
    if (!this.#isReady) await meeting;
    this.#tell(beat.gone);
    switchboard.retry();
    await meeting;
  }

  /** @returns the nodes that are new */
  #follow(
    { nodes, gone }: Extract<Beat, { state: "ok" }>,
    now: number,
  ): readonly string[] {
    const { links } = this.connected;
    const { log, about, switchboard } = this.#parts;
    const ended = new Set(gone.flatMap(({ member: { node } }) => node ?? []));
    const isLinked = (node: string) => links.peers.has(node);
    const changes = this.#neighbours.take(nodes, ended, isLinked, now);
    for (const change of changes) {
      const { kind, node } = change;
      log.changed(change);
      if (kind === "joined") {
        log.differs(node, change.about, differences(about, change.about));
        continue;
      }
      links.drop(node);
      switchboard.gone(node);
      if (kind === "missing") this.#keeper.reload();
    }
    return changes.flatMap(({ kind, node }) => kind === "joined" ? node : []);
  }

  /** Tells the offices of members whose node has ended. */
  #tell(seats: readonly Seated<Seat>[]): void {
    if (seats.length === 0 || this.#isOver) return;
    this.#parts.tally.seatsReaped += seats.length;
    this.#parts.log.reaped(seats.length);
    this.#parts.switchboard.left(seats);
  }

  #end(reason: FenceReason): void {
    if (this.#isOver) return;
    this.stop();
    this.#fenced(reason);
  }
}
