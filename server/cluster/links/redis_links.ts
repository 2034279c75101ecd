import type { Buffer } from "node:buffer";
import { randomInt } from "node:crypto";
import { withTimeout } from "../../../shared/async.ts";
import { log } from "../../shared/log.ts";
import { channelOf, type LinkRedis } from "./channel.ts";
import {
  decodeFrame,
  type Frame,
  FrameError,
  LINK_VERSION,
  TOKEN_BOUND,
} from "./frame.ts";
import { Link } from "./link.ts";
import type { LinkEvents, Links, Sent } from "./links.ts";
import { Lookout } from "./lookout.ts";
import { Peer } from "./peer.ts";
import { Publisher } from "./publisher.ts";
import {
  type LinkOptions,
  type LinkSettings,
  toSettings,
  windowOf,
} from "./settings.ts";
import { Watch } from "./watch.ts";

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

/** Links over pub/sub of Redis. */
class RedisLinks implements Links {
  readonly #redis: LinkRedis;
  readonly #node: string;
  readonly #events: LinkEvents;
  readonly #settings: LinkSettings;
  readonly #peers = new Map<string, Peer>();
  readonly #names = new Set<string>();
  readonly #links = new Map<number, Peer>();
  /** Ids never come back: what these say is ignored for ever. */
  readonly #ended = new Set<string>();
  readonly #lookout: Lookout;
  readonly #publisher: Publisher;
  #scheduled: Peer[] = [];
  #isConnected: boolean;
  #isClosed = false;
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
    this.#publisher = new Publisher(redis, settings.pieceBytes, {
      nobody: ({ watch }) => {
        // May be the first of two looks that prove an end; the lookout has the second.
        if (this.#lookout.isSettled) watch.looked(0, settings.now());
      },
      missed: ({ link }) => {
        if (this.#isConnected && !this.#isClosed) link.restart();
      },
    });
    this.#lookout = new Lookout(redis, settings, {
      own: node,
      peers: () => this.#peers.values(),
      silent: (peer) => events.silent(peer.node),
      gone: ({ node }) => {
        // Once, until it is back.
        if (this.#names.delete(node)) events.gone(node);
      },
    });
  }

  get peers(): ReadonlySet<string> {
    return this.#names;
  }

  get maxMessageBytes(): number {
    return this.#settings.maxMessageBytes;
  }

  async start(): Promise<void> {
    this.#stopListening = this.#redis.onState((isConnected) =>
      this.#changed(isConnected)
    );
    try {
      await this.#redis.subscribe(
        channelOf(this.#node),
        (bytes) => this.#receive(bytes),
      );
    } catch (error) {
      this.#stopListening();
      throw error;
    }
    this.#lookout.start();
  }

  get queuedBytes(): number {
    let bytes = 0;
    for (const { link } of this.#peers.values()) bytes += link.queuedBytes;
    return bytes;
  }

  async meet(nodes: Iterable<string>): Promise<void> {
    const waiting: Peer[] = [];
    for (const node of nodes) {
      const peer = this.#peers.get(node) ?? this.#add(node);
      if (peer === undefined || peer.link.isOpen) continue;
      if (this.#isConnected) peer.link.greet();
      waiting.push(peer);
    }
    if (waiting.length === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, this.#settings.answerMs);
      let left = waiting.length;
      const settled = () => {
        if (--left > 0) return;
        clearTimeout(timer);
        resolve();
      };
      for (const peer of waiting) peer.onSettled(settled);
    });
  }

  send(to: string, stream: string, message: readonly Uint8Array[]): Sent {
    const peer = this.#peers.get(to);
    if (peer === undefined || this.#isClosed) return "away";
    return peer.link.send(stream, message) ? "sent" : "full";
  }

  drop(node: string): void {
    this.#ended.add(node);
    const peer = this.#peers.get(node);
    if (peer === undefined) return;
    peer.isDropped = true;
    this.#peers.delete(node);
    this.#names.delete(node);
    peer.link.close();
    peer.settle();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#lookout.stop();
    if (this.#isConnected) await this.#sayGoodbye();
    this.#stopListening();
    for (const node of [...this.#peers.keys()]) this.drop(node);
  }

  /** Adds a node that may be met. */
  #add(node: string): Peer | undefined {
    if (this.#isClosed || node === this.#node || this.#ended.has(node)) {
      return undefined;
    }
    const { now } = this.#settings;
    const link: Link = new Link(this.#settings, {
      own: this.#node,
      nextToken: () => randomInt(TOKEN_BOUND - 1),
      window: () => windowOf(this.#settings, this.#peers.size),
      allocate: this.#publisher.allocate,
      free: this.#publisher.free,
      transmit: (frame) => this.#publisher.send(peer, frame),
      schedule: () => this.#schedule(peer),
      received: (message) => this.#events.received(node, message),
      lost: () => this.#events.lost(node),
      opened: (name) => {
        this.#links.set(name, peer);
        peer.settle();
      },
      closed: (name) => this.#links.delete(name),
      ended: () => this.drop(node),
    });
    const peer = new Peer(node, link, new Watch(this.#settings, now()));
    this.#peers.set(node, peer);
    this.#names.add(node);
    return peer;
  }

  #schedule(peer: Peer): void {
    if (peer.isScheduled) return;
    peer.isScheduled = true;
    if (this.#scheduled.push(peer) === 1) queueMicrotask(this.#flush);
  }

  readonly #flush = (): void => {
    const peers = this.#scheduled;
    this.#scheduled = [];
    for (const peer of peers) {
      peer.isScheduled = false;
      peer.link.flush();
    }
    if (this.#isClosed) this.#flushed();
  };

  #receive(bytes: Buffer): void {
    let frame: Frame;
    try {
      frame = decodeFrame(bytes);
    } catch (error) {
      return log.warn("Cannot read what came from another node: {reason}", {
        reason: error instanceof FrameError ? error.message : String(error),
      });
    }
    const peer = frame.kind === "data"
      ? this.#links.get(frame.link)
      : this.#senderOf(frame);
    if (peer === undefined) return;
    if (!peer.isHeard) this.#names.add(peer.node); // it may have come back
    peer.isHeard = true;
    try {
      peer.link.take(frame, bytes);
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      log.warn(
        "Cannot read what the node {node} sent, its link begins anew: {reason}",
        { node: peer.node, reason: error.message },
      );
      this.#events.lost(peer.node);
      peer.link.restart();
    }
  }

  #senderOf(frame: Exclude<Frame, { kind: "data" }>): Peer | undefined {
    const { from } = frame;
    if (this.#ended.has(from)) return undefined;
    const isGreeting = frame.kind === "hello" || frame.kind === "welcome";
    if (isGreeting && Math.abs(frame.version - LINK_VERSION) > 1) {
      log.error(
        "The node {node} speaks version {version} of the links, this one version {own}: they do not work together. Update all nodes to versions that follow each other",
        { node: from, version: frame.version, own: LINK_VERSION },
      );
      this.drop(from);
      return undefined;
    }
    const peer = this.#peers.get(from);
    return peer === undefined && frame.kind === "hello"
      ? this.#add(from)
      : peer;
  }

  #changed(isConnected: boolean): void {
    const wasConnected = this.#isConnected;
    this.#isConnected = isConnected;
    this.#publisher.renew();
    if (isConnected !== wasConnected) this.#events.connected(isConnected);
    for (const { link, watch } of [...this.#peers.values()]) {
      watch.forgetLooks();
      link.reset();
      if (isConnected) link.greet();
    }
  }

  /** A peer that did not get all is told nothing: it finds out that this node has ended. */
  async #sayGoodbye(): Promise<void> {
    const { goodbyeMs } = this.#settings;
    await withTimeout(goodbyeMs, () => this.#drained()).catch(() => {});
    const peers = [...this.#peers.values()].filter(({ link }) =>
      link.queuedBytes === 0
    );
    for (const { link } of peers) link.bye();
    await withTimeout(
      goodbyeMs,
      () => Promise.all(peers.map(({ published }) => published)),
    ).catch(() => {});
  }

  /** Waits until all that is queued for nodes that answer was sent. */
  async #drained(): Promise<void> {
    const isDrained = () =>
      [...this.#peers.values()].every(({ link }) =>
        !link.isOpen || link.queuedBytes === 0
      );
    while (!isDrained()) {
      await new Promise<void>((resolve) => this.#flushed = resolve);
    }
  }
}
