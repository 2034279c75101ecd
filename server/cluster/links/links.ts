import type { Buffer } from "node:buffer";

/** What became of a message to another node. */
export type Sent =
  /** It waits for the peer, or is on its way; if it cannot arrive, the node is reported as silent, lost or gone. */
  | "sent"
  /** The queue to that node is full. */
  | "full"
  /** That node is not known. */
  | "away";

/** What a node hears of the others. Handlers must not throw. */
export interface LinkEvents {
  /** A message arrived; all of one stream in order. `message` is the receiver's own. */
  received(from: string, message: Buffer): void;
  /** Messages from or to a node are missing: it has left before it took them, or one cannot be read. */
  lost(node: string): void;
  /** A node was not heard of for a while, but its process may live; told once, until it is heard again. */
  silent(node: string): void;
  /**
   * The process of a node has ended, or its connection to Redis. In the second case it may come back, and
   * what was not delivered follows, until it is dropped.
   */
  gone(node: string): void;
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
