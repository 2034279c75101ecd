import type { Buffer } from "node:buffer";
import type { Redis } from "../redis/redis.ts";

/** What became of a message to another node. */
export type Sent =
  /** It waits for the peer, or is on its way; if it cannot arrive, the node is reported as silent, lost or gone. */
  | "sent"
  /** The queue to that node is full. */
  | "full"
  /** That node is not known. */
  | "away";

/** Why nothing that is sent to a node, or comes from it, counts any more. */
export type Failure =
  /** Messages from or to it are missing: it has left before it took them, or one cannot be read. */
  | "lost"
  /** It was not heard of for a while, but its process may live; reported once, until it is heard again. */
  | "silent"
  /**
   * Its process has ended, or its connection to Redis. In the second case it may come back, and what was
   * not delivered follows, until it is dropped.
   */
  | "gone";

/** What a node is notified of by its links. Handlers must not throw. */
export interface LinkEvents {
  /** A message arrived; all of one stream in order. `message` is the receiver's own. */
  received(from: string, message: Buffer): void;
  /** A node has failed. */
  failed(node: string, failure: Failure): void;
  /** What connects the nodes was reached no more, or is reached again. */
  connected(isConnected: boolean): void;
}

/** Messages to and from the other nodes of a cluster. */
export interface Links extends AsyncDisposable {
  /** The nodes that were met, and are not gone. */
  readonly peers: ReadonlySet<string>;
  /** The largest message that can be sent, in bytes. */
  readonly maxMessageBytes: number;
  /** Bytes that wait to be sent. */
  readonly queuedBytes: number;
  /** Greets nodes; resolves when each has answered, is gone, or does not answer in time. */
  meet(nodes: Iterable<string>): Promise<void>;
  /**
   * Sends a message.
   *
   * @param stream messages of one stream arrive in order, those of others may pass between its pieces
   * @param message its parts, one after the other; they must not change afterwards
   */
  send(to: string, stream: string, message: readonly Uint8Array[]): Sent;
  /** Forgets a node that has left the cluster. */
  drop(node: string): void;
}

/** What of the links is needed to talk to other nodes. */
export type Messenger = Pick<Links, "send" | "peers" | "maxMessageBytes">;

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
 * together may have on their way to a node stays below, with what they send over their windows.
 */
const INBOUND_BYTES = 6 * MIB;

/** How nodes talk; the defaults are meant for all but tests. */
export interface LinkOptions {
  /** The largest message of a client. */
  readonly maxMessageBytes: number;
  /** Bytes that a peer may have on their way to this node; fewer with many peers. Default: 1 MiB. */
  readonly windowBytes?: number;
  /** A larger message travels in pieces of this size. Default: 256 KiB. */
  readonly pieceBytes?: number;
  /** The most bytes that wait for a node. Default: 64 MiB. */
  readonly queueBytes?: number;
  /** How often a node tells each peer that it lives. Default: 2,000. */
  readonly beatMs?: number;
  /** A peer that is not heard of for so long is silent. Default: 6,000. */
  readonly silentMs?: number;
  /** How often this node looks whether its peers still receive. Default: 500. */
  readonly lookMs?: number;
  /** The least time between two looks that prove an end. Default: 500. */
  readonly goneMs?: number;
  /** After a new connection of its own a node trusts no look for so long. Default: 2,000. */
  readonly settleMs?: number;
  /** How long a greeting waits for an answer. Default: 2,000. */
  readonly answerMs?: number;
  /** How long a goodbye waits for what is queued. Default: 1,000. */
  readonly goodbyeMs?: number;
  /** The clock, of which the connections' age is. Default: `performance.now`. */
  readonly now?: () => number;
}

/** {@linkcode LinkOptions} with all defaults; `maxMessageBytes` is that of a message between nodes. */
export type LinkSettings = Required<LinkOptions>;

/** Fills in the defaults. */
export const toSettings = (options: LinkOptions): LinkSettings => ({
  windowBytes: MIB,
  pieceBytes: 256 * KIB,
  queueBytes: 64 * MIB,
  beatMs: 2_000,
  silentMs: 6_000,
  lookMs: 500,
  goneMs: 500,
  settleMs: 2_000,
  answerMs: 2_000,
  goodbyeMs: 1_000,
  now: () => performance.now(),
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
