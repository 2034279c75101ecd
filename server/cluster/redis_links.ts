/**
 * The links of one node over pub/sub of Redis: a channel for each node, a link for each peer, beats, and
 * looks at the number of subscribers, which prove that a process has ended.
 *
 * @module
 */
import type { Buffer } from "node:buffer";
import {
  Link,
  type LinkEvents,
  type Messenger,
  type Sent,
  Watch,
} from "./link.ts";
import {
  decodeFrame,
  FrameError,
  LINK_VERSION,
  type NamedFrame,
  shortOf,
} from "./link_frames.ts";
import type { Redis } from "./redis/connect.ts";
import { log } from "../shared/log.ts";
import { withTimeout } from "../../shared/async.ts";

/** What links need of Redis. */
export type LinkRedis = Pick<
  Redis,
  "connected" | "since" | "publish" | "subscribe" | "numsub" | "onState"
>;

/** Returns the channel of a node; sharded pub/sub spreads them, since they have no hash tag in common. */
export const channelOf = (node: string): string => `smcp1:{${node}}`;

const KIB = 1024;
const MIB = 1024 * KIB;

/** What a message has besides what a client sent. */
const ENVELOPE_BYTES = 64 * KIB;

/**
 * Redis cuts a subscriber off at 32 MiB of output, or at 8 MiB that last for 60 seconds: what all peers
 * together may have in flight to a node stays below, with what they send over their windows.
 */
const INBOUND_BYTES = 6 * MIB;

/** How nodes talk; only tests set others. */
const DEFAULTS = {
  /** The window of a peer's messages to this node, in bytes; smaller with many peers. */
  windowBytes: MIB,
  /** A larger message travels in pieces of this size. */
  pieceBytes: 256 * KIB,
  /** The most bytes that wait for a node. */
  queueBytes: 64 * MIB,
  /** The interval of the signs of life to each peer. */
  beatMs: 2_000,
  /** A peer of which nothing has arrived for so long is silent. */
  silentMs: 6_000,
  /** How often this node looks whether its peers still receive. */
  lookMs: 500,
  /** The least time between two looks that prove an end. */
  goneMs: 500,
  /** After a new connection of its own a node trusts no look for so long. */
  settleMs: 2_000,
  /** How long a greeting waits for an answer. */
  answerMs: 2_000,
  /** How long a goodbye waits for what is queued. */
  goodbyeMs: 1_000,
  /** The clock, of which the connections' age is. */
  now: (): number => performance.now(),
};

/** How nodes talk, with the largest message between them. */
export type LinkSettings = Readonly<typeof DEFAULTS> & {
  readonly maxMessageBytes: number;
};

/** What differs from the defaults, with the largest message of a client. */
export type LinkOptions =
  & Partial<LinkSettings>
  & Pick<LinkSettings, "maxMessageBytes">;

/** Fills in the defaults. */
export const toSettings = (options: LinkOptions): LinkSettings => ({
  ...DEFAULTS,
  ...options,
  maxMessageBytes: options.maxMessageBytes + ENVELOPE_BYTES,
});

/** Returns the window of one of so many peers: each has room for a piece. */
export const windowOf = (
  { windowBytes, pieceBytes }: LinkSettings,
  peers: number,
): number =>
  Math.max(
    pieceBytes,
    Math.min(windowBytes, Math.floor(INBOUND_BYTES / Math.max(1, peers))),
  );

/**
 * Subscribes to the channel of this node, and sends to those of others.
 *
 * @param node this node, whose id was never used before
 * @throws {Error} when Redis cannot be reached
 */
export async function openLinks(
  redis: LinkRedis,
  node: string,
  events: LinkEvents,
  options: LinkOptions,
): Promise<Links> {
  const links = new RedisLinks(redis, node, events, toSettings(options));
  await links.start();
  return links;
}

/** Messages to and from the other nodes of a cluster. */
export type Links = Pick<
  RedisLinks,
  | keyof Messenger
  | ("queuedBytes" | "meet" | "drop" | typeof Symbol.asyncDispose)
>;

/** Another node. */
interface Peer {
  readonly node: string;
  readonly link: Link;
  readonly watch: Watch;
  /** Resolves when it has answered, or will not. */
  readonly met: PromiseWithResolvers<void>;
  /** It was reported as gone, and nothing has come from it since. */
  isGone: boolean;
  /** A frame arrived since the last look; a flag, since a clock costs more. */
  isHeard: boolean;
  /** Settles when the last frame was handed over by Redis. */
  published: Promise<void>;
}

/** Links over pub/sub of Redis. */
class RedisLinks implements Messenger, AsyncDisposable {
  readonly #redis: LinkRedis;
  readonly #node: string;
  readonly #events: LinkEvents;
  readonly #settings: LinkSettings;
  readonly #peers = new Map<string, Peer>();
  /** By what they are called in frames of messages. */
  readonly #senders = new Map<number, Peer>();
  /** Ids never come back: their frames are ignored from then on. */
  readonly #ended = new Set<string>();
  /** Those that are flushed at the end of this turn. */
  #scheduled = new Set<Peer>();
  #look: ReturnType<typeof setTimeout> | undefined;
  #beat: ReturnType<typeof setInterval> | undefined;
  #isConnected: boolean;
  #isClosed = false;
  #hasWarned = false;
  #stopListening = () => {};
  #flushed = () => {};

  constructor(
    redis: LinkRedis,
    node: string,
    events: LinkEvents,
    settings: LinkSettings,
  ) {
    this.#redis = redis;
    this.#node = node;
    this.#events = events;
    this.#settings = settings;
    this.#isConnected = redis.connected;
  }

  get peers(): ReadonlySet<string> {
    const there = this.#peers.values().filter(({ isGone }) => !isGone);
    return new Set(there.map(({ node }) => node));
  }

  get maxMessageBytes(): number {
    return this.#settings.maxMessageBytes;
  }

  /** Bytes that wait to be sent. */
  get queuedBytes(): number {
    const links = this.#peers.values().map(({ link }) => link);
    return links.reduce((bytes, { queuedBytes }) => bytes + queuedBytes, 0);
  }

  async start(): Promise<void> {
    const redis = this.#redis;
    const changed = (isConnected: boolean) => this.#changed(isConnected);
    this.#stopListening = redis.onState(changed);
    const channel = channelOf(this.#node);
    await redis.subscribe(channel, (bytes) => this.#receive(bytes))
      .catch((error) => {
        this.#stopListening();
        throw error;
      });
    this.#beat = setInterval(() => {
      if (!this.#redis.connected) return;
      for (const { link } of this.#peers.values()) if (link.isOpen) link.beat();
    }, this.#settings.beatMs);
    this.#scheduleLook();
  }

  /** Greets nodes; resolves when each has answered, is gone, or does not answer in time. */
  async meet(nodes: Iterable<string>): Promise<void> {
    const waiting: Promise<void>[] = [];
    for (const node of nodes) {
      const peer = this.#peers.get(node) ?? this.#add(node);
      if (peer === undefined || peer.link.isOpen) continue;
      if (this.#isConnected) peer.link.beat();
      waiting.push(peer.met.promise);
    }
    const { answerMs } = this.#settings;
    await withTimeout(answerMs, () => Promise.all(waiting)).catch(() => {});
  }

  send(to: string, stream: string, message: readonly Uint8Array[]): Sent {
    const peer = this.#isClosed ? undefined : this.#peers.get(to);
    if (peer === undefined) return "away";
    return peer.link.send(stream, message) ? "sent" : "full";
  }

  /** Forgets a node that has left the cluster. */
  drop(node: string): void {
    this.#ended.add(node);
    const peer = this.#peers.get(node);
    if (peer === undefined) return;
    this.#peers.delete(node);
    this.#senders.delete(shortOf(node));
    peer.link.close();
    peer.met.resolve();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearInterval(this.#beat);
    clearTimeout(this.#look);
    if (this.#isConnected) await this.#sayGoodbye();
    this.#stopListening();
    for (const node of [...this.#peers.keys()]) this.drop(node);
  }

  /** Adds a node that may be met. */
  #add(node: string): Peer | undefined {
    if (this.#isClosed || node === this.#node || this.#ended.has(node)) {
      return undefined;
    }
    const link = new Link(this.#settings, {
      own: this.#node,
      window: () => windowOf(this.#settings, this.#peers.size),
      transmit: (frame) => this.#publish(peer, frame),
      schedule: () => this.#schedule(peer),
      received: (message) => this.#events.received(node, message),
      lost: () => this.#events.failed(node, "lost"),
      opened: () => peer.met.resolve(),
      ended: () => this.drop(node),
    });
    const peer: Peer = {
      node,
      link,
      watch: new Watch(this.#settings, this.#settings.now()),
      met: Promise.withResolvers(),
      isGone: false,
      isHeard: false,
      published: Promise.resolve(),
    };
    this.#peers.set(node, peer);
    this.#senders.set(shortOf(node), peer);
    return peer;
  }

  // ---------------------------------------------------------------- frames

  /** A frame that does not arrive is found out by the next one, a beat at the latest. */
  #publish(peer: Peer, frame: Buffer): void {
    peer.published = this.#redis.publish(channelOf(peer.node), frame)
      .then((receivers) => {
        if (receivers > 0) peer.watch.present();
      })
      .catch((error) => this.#warn(error));
  }

  /** Logs once for each connection: what Redis refuses, it refuses each time. */
  #warn(error: unknown): void {
    if (this.#hasWarned || !this.#redis.connected) return;
    this.#hasWarned = true;
    log.warn("Cannot send to the other nodes through Redis: {reason}", {
      reason: error instanceof Error ? error.message : String(error),
    });
  }

  #schedule(peer: Peer): void {
    if (this.#scheduled.size === 0) queueMicrotask(this.#flush);
    this.#scheduled.add(peer);
  }

  readonly #flush = (): void => {
    const peers = this.#scheduled;
    this.#scheduled = new Set();
    for (const { link } of peers) link.flush();
    if (this.#isClosed) this.#flushed();
  };

  #receive(bytes: Buffer): void {
    let peer: Peer | undefined;
    try {
      const frame = decodeFrame(bytes);
      peer = frame.kind === "data"
        ? this.#senders.get(frame.sender)
        : this.#senderOf(frame);
      if (peer === undefined) return;
      peer.isHeard = true;
      peer.isGone = false; // it may have come back
      peer.link.take(frame, bytes);
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      log.warn("Cannot read what came from another node ({node}): {reason}", {
        node: peer?.node ?? "unknown",
        reason: error.message,
      });
      if (peer !== undefined) this.#events.failed(peer.node, "lost");
    }
  }

  #senderOf({ kind, version, from }: NamedFrame): Peer | undefined {
    if (this.#ended.has(from)) return undefined;
    if (version !== LINK_VERSION) {
      log.error(
        "Refused the node {node}: it has version {version} of the cluster's links, this node has {own}; update all nodes to the same release",
        { node: from, version, own: LINK_VERSION },
      );
      this.drop(from);
      return undefined;
    }
    return this.#peers.get(from) ??
      (kind === "beat" ? this.#add(from) : undefined);
  }

  #changed(isConnected: boolean): void {
    const wasConnected = this.#isConnected;
    this.#isConnected = isConnected;
    this.#hasWarned = false;
    if (isConnected !== wasConnected) this.#events.connected(isConnected);
    for (const { link, watch } of [...this.#peers.values()]) {
      watch.forgetLooks();
      link.isOpen = false;
      if (isConnected) link.beat();
    }
  }

  // ---------------------------------------------------------------- looks

  /** Waits from the end of the last look, so that a slow Redis has one request at a time. */
  #scheduleLook(): void {
    if (this.#isClosed) return;
    const { lookMs, now } = this.#settings;
    // One more, since timers may come early by a part of one.
    const due = now() + lookMs + 1;
    this.#look = setTimeout(() => {
      this.#listen(now() - due);
      this.#count().finally(() => this.#scheduleLook());
    }, lookMs + 1);
  }

  /** @param lateMs how late this look is: a process that did not run has received nothing */
  #listen(lateMs: number): void {
    const { connected } = this.#redis;
    const now = this.#settings.now();
    for (const peer of [...this.#peers.values()]) {
      const { node, watch, link } = peer;
      if (peer.isHeard || !connected) watch.heard(now);
      else if (lateMs > this.#settings.lookMs) watch.excuse(lateMs);
      peer.isHeard = false;
      if (watch.becameSilent(now)) this.#events.failed(node, "silent");
      if (connected && this.#peers.has(node) && !link.isOpen) link.beat();
    }
  }

  /** Looks how many receive what is sent to each peer. */
  async #count(): Promise<void> {
    const { now, settleMs } = this.#settings;
    const { connected, since = Infinity } = this.#redis;
    // All that live need the time to subscribe again after a new connection.
    if (!connected || now() - since < settleMs) return;
    const peers = [...this.#peers.values()];
    if (peers.length === 0) return;
    const nodes = [this.#node, ...peers.map(({ node }) => node)];
    const [own, ...others] = await this.#redis.numsub(nodes.map(channelOf))
      .catch(() => []);
    if (own === undefined || this.#isClosed) return;
    if (since !== this.#redis.since) return;
    for (const [index, peer] of peers.entries()) {
      const { node, watch } = peer;
      if (!this.#peers.has(node)) continue;
      // If Redis lacks the subscription of this node too, its counts of others mean nothing.
      if (own === 0) watch.forgetLooks();
      else if (watch.looked(others[index] ?? 1, now()) && !peer.isGone) {
        peer.isGone = true;
        this.#events.failed(node, "gone");
      }
    }
  }

  // ---------------------------------------------------------------- goodbye

  /**
   * Waits until all messages that are queued for nodes that answer are sent. A peer that has not received
   * all of them gets no notice: its own watch finds that this node has ended.
   */
  async #sayGoodbye(): Promise<void> {
    const { goodbyeMs } = this.#settings;
    const within = (wait: () => Promise<unknown>) =>
      withTimeout(goodbyeMs, wait).catch(() => {});
    await within(async () => {
      const isWaiting = ({ link }: Peer) => link.isOpen && link.queuedBytes > 0;
      while (this.#peers.values().some(isWaiting)) {
        await new Promise<void>((resolve) => this.#flushed = resolve);
      }
    });
    const peers = [...this.#peers.values()]
      .filter(({ link }) => link.queuedBytes === 0);
    for (const { link } of peers) link.bye();
    await within(() => Promise.all(peers.map(({ published }) => published)));
  }
}
