import { channelOf, type LinkRedis } from "./channel.ts";
import type { Peer } from "./peer.ts";
import type { LinkSettings } from "./settings.ts";

/** What a lookout sees, and what becomes of it. */
export interface LookoutPort {
  /** This node. */
  readonly own: string;
  /** The nodes that were met and not dropped. */
  peers(): Iterable<Peer>;
  /** A node was not heard of for a while. */
  silent(peer: Peer): void;
  /** The process of a node is proved to have ended. */
  gone(peer: Peer): void;
}

/** Looks after the peers in turns: which are silent, which have ended, which are to be greeted again. */
export class Lookout {
  readonly #redis: LinkRedis;
  readonly #settings: LinkSettings;
  readonly #port: LookoutPort;
  #look: ReturnType<typeof setTimeout> | undefined;
  #beat: ReturnType<typeof setInterval> | undefined;
  #isStopped = false;

  constructor(
    redis: LinkRedis,
    settings: LinkSettings,
    port: LookoutPort,
  ) {
    this.#redis = redis;
    this.#settings = settings;
    this.#port = port;
  }

  /** Begins to look, and to tell the peers that this node lives. */
  start(): void {
    this.#beat = setInterval(() => this.#tell(), this.#settings.beatMs);
    this.#schedule();
  }

  /** Ends it. */
  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#beat);
    clearTimeout(this.#look);
  }

  /** Whether all that live had the time to subscribe again after a new connection. */
  get isSettled(): boolean {
    const { connected, since } = this.#redis;
    return connected && since !== undefined &&
      this.#settings.now() - since >= this.#settings.settleMs;
  }

  #tell(): void {
    if (!this.#redis.connected) return;
    for (const { link } of this.#port.peers()) if (link.isOpen) link.beat();
  }

  /** Waits from the end of the last look, so that a slow Redis is not asked twice at once. */
  #schedule(): void {
    if (this.#isStopped) return;
    // One more, since timers may come early by a part of one.
    const due = this.#settings.now() + this.#settings.lookMs + 1;
    this.#look = setTimeout(() => {
      this.#listen(this.#settings.now() - due);
      this.#count().finally(() => this.#schedule());
    }, this.#settings.lookMs + 1);
  }

  /** @param lateMs how late this look is: without having run, a process has heard nothing */
  #listen(lateMs: number): void {
    const { connected } = this.#redis;
    const now = this.#settings.now();
    for (const peer of [...this.#port.peers()]) {
      const { watch, link } = peer;
      if (peer.isHeard || !connected) watch.heard(now);
      else if (lateMs > this.#settings.lookMs) watch.excuse(lateMs);
      peer.isHeard = false;
      if (watch.becameSilent(now)) this.#port.silent(peer);
      if (connected && !peer.isDropped && !link.isOpen) link.greet();
    }
  }

  /** Looks how many receive what is sent to each peer. */
  async #count(): Promise<void> {
    const peers = [...this.#port.peers()];
    if (!this.isSettled || peers.length === 0) return;
    const { since } = this.#redis;
    const nodes = [this.#port.own, ...peers.map(({ node }) => node)];
    const counts = await this.#redis.numsub(nodes.map(channelOf)).catch(
      () => [],
    );
    const [own, ...others] = counts;
    if (own === undefined || this.#isStopped || since !== this.#redis.since) {
      return;
    }
    const now = this.#settings.now();
    for (const [index, peer] of peers.entries()) {
      if (peer.isDropped) continue;
      // Redis that does not know this node either says nothing about others.
      if (own === 0) peer.watch.forgetLooks();
      else if (peer.watch.looked(others[index] ?? 1, now)) {
        this.#port.gone(peer);
      }
    }
  }
}
