/**
 * The link between two nodes: its order and windows, and the watch that distinguishes a frozen
 * peer, and one that has ended, from one that lives. Neither clock nor network: `redis_links.ts` has
 * both.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import {
  type Counts,
  DATA_HEADER_BYTES,
  encodeFrame,
  type Frame,
  Inbox,
  LINK_VERSION,
  type NamedFrame,
  Outbox,
  shortOf,
  writeDataHeader,
} from "./link_frames.ts";
import { release } from "../../shared/bytes.ts";

/** What bounds a link. */
export type LinkLimits = Readonly<
  Record<"pieceBytes" | "queueBytes" | "maxMessageBytes", number>
>;

/** What a link needs of its surroundings. */
interface LinkPort {
  /** This node. */
  readonly own: string;
  /** Returns how many bytes the peer may have in flight to this node. */
  window(): number;
  /** Sends a frame; frames arrive in order, or are missing. */
  transmit(frame: Buffer): void;
  /** Requests its `flush()`, at the end of this turn of the event loop. */
  schedule(): void;
  /** Takes a message. */
  received(message: Buffer): void;
  /** The peer has answered. */
  opened(): void;
  /** Messages to the peer are missing: it has ended before it took them. */
  lost(): void;
  /** The peer said goodbye. */
  ended(): void;
}

/** A frame that the peer has not confirmed yet. */
interface Unconfirmed {
  readonly frame: Buffer;
  /** How many bytes were sent with it, in all. */
  readonly end: number;
  /** Whether it was sent again, and may still wait to be written. */
  isRepeated: boolean;
}

/**
 * The link to one node: order and windows, without clock and network.
 *
 * Frames with messages have the count of bytes sent before them since the two nodes met, and all frames how
 * many their sender has taken and how many more may follow. So whatever is missing, or comes twice, is
 * found out: the next frame of messages shows it, or a beat. A node that misses something requests it.
 */
export class Link {
  /** Whether the peer has answered; to be reset where frames may be missing, until it answers again. */
  isOpen = false;
  readonly #port: LinkPort;
  readonly #sender: number;
  readonly #outbox: Outbox;
  readonly #inbox: Inbox;
  /** What may have to be sent again; never more than a window. */
  readonly #unconfirmed: Unconfirmed[] = [];
  /** Whether missing bytes were requested, and have not come yet. */
  #hasAsked = false;
  // In bytes, since the two met.
  #sent = 0;
  #maySend = 0;
  #taken = 0;
  #granted = 0;

  constructor(limits: LinkLimits, port: LinkPort) {
    this.#port = port;
    this.#outbox = new Outbox(limits.pieceBytes, limits.queueBytes);
    const deliver = (message: Buffer) => port.received(message);
    this.#inbox = new Inbox(limits.maxMessageBytes, deliver);
    this.#sender = shortOf(port.own);
  }

  /** Bytes that wait to be sent. */
  get queuedBytes(): number {
    return this.#outbox.bytes;
  }

  /** Adds a message to the queue; returns `false` when that is full. */
  send(stream: string, message: readonly Uint8Array[]): boolean {
    if (!this.#outbox.push(stream, message)) return false;
    this.#schedule();
    return true;
  }

  /** Sends what may be sent now. */
  flush(): void {
    let isTold = false;
    while (this.#mayTransmit()) {
      const frame = this.#outbox.take(DATA_HEADER_BYTES);
      if (frame === undefined) break;
      this.#writeHeader(frame);
      this.#sent += frame.length; // the last one may be longer than what is left
      this.#unconfirmed.push({ frame, end: this.#sent, isRepeated: false });
      this.#port.transmit(frame);
      isTold = true;
    }
    // A window is opened again by any frame, and by one of its own only where nothing else goes.
    if (!isTold && this.isOpen && this.#owesGrant()) {
      const counts = Buffer.allocUnsafe(DATA_HEADER_BYTES);
      this.#port.transmit(this.#writeHeader(counts));
    }
  }

  /**
   * Sends the peer a sign of life, with what was sent. Until it has answered, requests the same of it, and
   * what it has sent and this end has not taken.
   */
  beat(): void {
    this.#sendNamed("beat", !this.isOpen);
  }

  /** Sends a goodbye, and cannot be used any more. */
  bye(): void {
    this.#sendNamed("bye");
    this.close();
  }

  /** Takes and delivers nothing any more. */
  close(): void {
    this.#inbox.close();
    this.#outbox.clear();
    this.#unconfirmed.length = 0;
    this.isOpen = false;
  }

  /**
   * Takes a frame of the peer, in the order of their arrival.
   *
   * @param bytes the frame itself
   * @throws {FrameError} when its items are wrong; what was in it is missing then
   */
  take(frame: Frame, bytes: Buffer): void {
    this.#confirm(frame);
    if (frame.kind === "data") this.#takeData(frame.start, bytes);
    else if (frame.kind === "beat") this.#takeBeat(frame);
    else this.#takeBye(frame);
  }

  #takeData(start: number, bytes: Buffer): void {
    this.#schedule();
    if (bytes.length === DATA_HEADER_BYTES) return;
    if (start > this.#taken && !this.#hasAsked) this.#ask();
    if (start !== this.#taken) return;
    this.#hasAsked = false;
    this.#taken += bytes.length;
    if (this.#owesGrant()) this.#port.schedule();
    this.#inbox.take(bytes, DATA_HEADER_BYTES);
  }

  #takeBeat({ asks, sent }: NamedFrame): void {
    const isFirst = !this.isOpen;
    this.isOpen = true;
    if (isFirst) this.#hasAsked = false;
    if (isFirst || asks) {
      for (const sent of this.#unconfirmed) {
        sent.isRepeated = true;
        this.#port.transmit(sent.frame);
      }
    }
    // After what was sent again: what is still missing is requested once more.
    if (asks) this.#sendNamed("beat");
    else if (sent > this.#taken) this.#ask();
    if (isFirst) this.#port.opened();
    this.#schedule();
  }

  #takeBye({ sent, taken }: NamedFrame): void {
    const isComplete = this.#outbox.bytes === 0 && sent === this.#taken &&
      taken === this.#sent;
    this.close();
    if (!isComplete) this.#port.lost();
    this.#port.ended();
  }

  #ask(): void {
    this.#hasAsked = true;
    this.#sendNamed("beat", true);
  }

  /** The peer has taken so many bytes, and may get more. */
  #confirm({ taken, room }: Counts): void {
    this.#maySend = Math.max(this.#maySend, taken + room);
    const first = this.#unconfirmed.findIndex(({ end }) => end > taken);
    const confirmed = this.#unconfirmed.splice(0, first < 0 ? Infinity : first);
    for (const sent of confirmed) if (!sent.isRepeated) release(sent.frame);
  }

  #schedule(): void {
    if (this.#mayTransmit()) this.#port.schedule();
  }

  #mayTransmit(): boolean {
    return this.isOpen && this.#outbox.bytes > 0 && this.#sent < this.#maySend;
  }

  #sendNamed(kind: NamedFrame["kind"], asks = false): void {
    this.#port.transmit(encodeFrame({
      kind,
      version: LINK_VERSION,
      from: this.#port.own,
      asks,
      sent: this.#sent,
      ...this.#counts(),
    }));
  }

  #writeHeader(frame: Buffer): Buffer {
    return writeDataHeader(frame, {
      sender: this.#sender,
      start: this.#sent,
      ...this.#counts(),
    });
  }

  /** What was taken and may follow, for the peer; their sum never becomes less. */
  #counts(): Counts {
    const taken = this.#taken;
    this.#granted = Math.max(this.#granted, taken + this.#port.window());
    return { taken, room: this.#granted - taken };
  }

  /** Whether the peer must learn that it may send more: otherwise its window would close. */
  #owesGrant(): boolean {
    const window = this.#port.window();
    return this.#taken + window - this.#granted >= window / 2;
  }
}

/** What became of a message to another node. */
export type Sent =
  /** It waits for the peer, or is in flight; if it cannot arrive, the node is reported as silent, lost or gone. */
  | "sent"
  /** The queue to that node is full. */
  | "full"
  /** That node is not known. */
  | "away";

/** Why nothing that is sent to a node, or comes from it, counts any more. */
export type Failure =
  /** Messages from or to it are missing: it has left before it took them, or one cannot be read. */
  | "lost"
  /** Nothing came from it for a while, but its process may live; reported once, until something comes. */
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

/** Messages to other nodes. */
export interface Messenger {
  /** The nodes that were met, and are not gone. */
  readonly peers: ReadonlySet<string>;
  /** The largest message that can be sent, in bytes. */
  readonly maxMessageBytes: number;
  /**
   * Sends a message.
   *
   * @param stream messages of one stream arrive in order, those of others may pass between its pieces
   * @param message its parts, one after the other; they must not change afterwards
   */
  send(to: string, stream: string, message: readonly Uint8Array[]): Sent;
}

type WatchLimits = Readonly<Record<"silentMs" | "goneMs", number>>;

/** Distinguishes a frozen node, and one whose process has ended, from one that lives; without a clock of its own. */
export class Watch {
  readonly #limits: WatchLimits;
  #heardAt: number;
  #isSilent = false;
  #emptyAt: number | undefined;
  #wasThere = false;

  constructor(limits: WatchLimits, now: number) {
    this.#limits = limits;
    this.#heardAt = now;
  }

  /** A frame of the node arrived. */
  heard(now: number): void {
    this.#heardAt = now;
    this.#isSilent = false;
  }

  /** Nothing could be received for a while, since this process itself did not run. */
  excuse(ms: number): void {
    this.#heardAt += ms;
  }

  /** Returns whether the node has become silent since the last call. */
  becameSilent(now: number): boolean {
    const wasSilent = this.#isSilent;
    this.#isSilent ||= now - this.#heardAt >= this.#limits.silentMs;
    return this.#isSilent && !wasSilent;
  }

  /**
   * Takes the number of subscribers of the node's channel.
   *
   * Only who was there can have ended: a node that is cut off from a Redis which has just taken over
   * lives, and serves until its lease ends.
   *
   * @returns whether its process is proved to have ended
   */
  looked(receivers: number, now: number): boolean {
    if (receivers > 0) this.present();
    if (receivers > 0 || !this.#wasThere) return false;
    this.#emptyAt ??= now;
    return now - this.#emptyAt >= this.#limits.goneMs;
  }

  /** The node receives what is sent to it. */
  present(): void {
    this.#emptyAt = undefined;
    this.#wasThere = true;
  }

  /** The Redis is another one, or has lost its data: former looks no longer count. */
  forgetLooks(): void {
    this.#emptyAt = undefined;
    this.#wasThere = false;
  }
}
