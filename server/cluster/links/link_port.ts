import type { Buffer } from "node:buffer";

/** What bounds a link. */
export interface LinkLimits {
  /** A larger message travels in pieces of this size. */
  readonly pieceBytes: number;
  /** The most bytes that wait for a node. */
  readonly queueBytes: number;
  /** The largest message that is taken. */
  readonly maxMessageBytes: number;
}

/** What a link needs of its surroundings. */
export interface LinkPort {
  /** This node. */
  readonly own: string;
  /** Returns a random token. */
  nextToken(): number;
  /** Returns how many bytes the peer may have on their way to this node. */
  window(): number;
  /** Returns memory for a frame. */
  readonly allocate: (length: number) => Buffer;
  /** Sends a frame; frames arrive in order, or are missing. */
  transmit(frame: Buffer): void;
  /** Takes the memory of a frame back, which has arrived. */
  free(frame: Buffer): void;
  /** Asks for its `flush()`, at the end of this turn of the event loop. */
  schedule(): void;
  /** Takes a message. */
  received(message: Buffer): void;
  /** A link has begun: the peer has answered. */
  opened(name: number): void;
  /** That link has ended. */
  closed(name: number): void;
  /** Messages to the peer are missing: it has ended before it took them. */
  lost(): void;
  /** The peer said goodbye. */
  ended(): void;
}
