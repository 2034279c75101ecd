import { Buffer } from "node:buffer";
import {
  type Counts,
  DATA_HEADER_BYTES,
  encodeFrame,
  type Frame,
  LINK_VERSION,
  linkOf,
  type Numbered,
  writeDataHeader,
} from "./frame.ts";
import type { LinkSettings } from "./links.ts";
import { Inbox, Outbox } from "./queue.ts";

/** What bounds a link. */
export type LinkLimits = Pick<
  LinkSettings,
  "pieceBytes" | "queueBytes" | "maxMessageBytes"
>;

/** What a link needs of its surroundings. */
export interface LinkPort {
  /** This node. */
  readonly own: string;
  /** Returns a random token. */
  nextToken(): number;
  /** Returns how many bytes the peer may have on their way to this node. */
  window(): number;
  /** Sends a frame; frames arrive in order, or are missing. */
  transmit(frame: Buffer): void;
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

type Welcome = Extract<Frame, { kind: "welcome" }>;
type Greeting = Welcome | Extract<Frame, { kind: "hello" }>;

/** A frame that the peer has not confirmed yet. */
interface Sent {
  frame: Buffer;
  /** How many bytes were sent with it, in all. */
  readonly end: number;
}

/**
 * The link to one node: greeting, numbering and windows, without clock and network.
 *
 * Each end has a random token, new with each beginning. All frames but greetings are numbered; at the
 * first that is not the next one, both ends begin anew. A beginning loses nothing: each end says how many
 * bytes of frames with messages it has taken since the two nodes met, and how many more may follow, and
 * the other one sends again what is missing.
 */
export class Link {
  readonly #port: LinkPort;
  readonly #outbox: Outbox;
  readonly #inbox: Inbox;
  /** What may have to be sent again; never more than a window. */
  readonly #unconfirmed: Sent[] = [];
  #token: number;
  #theirs: number | undefined;
  #name: number | undefined;
  #nextOut = 0;
  #nextIn = 0;
  // In bytes, since the two met.
  #sent = 0;
  #maySend = 0;
  #taken = 0;
  #granted = 0;

  constructor(limits: LinkLimits, port: LinkPort) {
    this.#port = port;
    this.#outbox = new Outbox(limits.pieceBytes, limits.queueBytes);
    this.#inbox = new Inbox(
      limits.maxMessageBytes,
      (message) => port.received(message),
    );
    this.#token = port.nextToken();
  }

  /** Names this link; `undefined` until the peer has answered. */
  get name(): number | undefined {
    return this.#name;
  }

  /** Whether the peer has answered. */
  get isOpen(): boolean {
    return this.#name !== undefined;
  }

  /** Bytes that wait to be sent. */
  get queuedBytes(): number {
    return this.#outbox.bytes;
  }

  /** Asks the peer to begin, once more if it did not answer. */
  greet(): void {
    this.#port.transmit(encodeFrame({ kind: "hello", ...this.#greeting() }));
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
      this.#sent += frame.length; // the last one may be longer than what is left
      this.#unconfirmed.push({ frame, end: this.#sent });
      this.#transmitData(frame);
      isTold = true;
    }
    // A window is opened again by any frame, and by one of its own only where nothing else goes.
    if (!isTold && this.isOpen && this.#owesGrant()) {
      this.#transmitData(Buffer.allocUnsafe(DATA_HEADER_BYTES));
    }
  }

  /** Tells the peer that this node lives, and which frame is the next one; or greets it again. */
  beat(): void {
    if (this.#name === undefined) return this.greet();
    const { own } = this.#port;
    this.#port.transmit(
      encodeFrame({ kind: "beat", ...this.#numbers(), from: own }),
    );
  }

  /** Says goodbye, and is of no use any more. */
  bye(): void {
    const { own } = this.#port;
    this.#port.transmit(
      encodeFrame({ kind: "bye", ...this.#numbers(), from: own }),
    );
    this.close();
  }

  /** Takes and delivers nothing any more. */
  close(): void {
    this.#inbox.close();
    this.#outbox.clear();
    this.#unconfirmed.length = 0;
    this.#interrupt();
  }

  #interrupt(): void {
    if (this.#name !== undefined) this.#port.closed(this.#name);
    this.#name = this.#theirs = undefined;
  }

  /** Ends the link; the next one begins with a greeting, and goes on where this one ended. */
  reset(): void {
    this.#interrupt();
    this.#token = this.#port.nextToken();
  }

  /** Ends the link, and greets the peer for a new one. */
  restart(): void {
    this.reset();
    this.greet();
  }

  /**
   * Takes a frame of the peer, in the order of their arrival.
   *
   * @param bytes the frame itself
   * @throws {FrameError} when its items are wrong; the link is to begin anew then
   */
  take(frame: Frame, bytes: Buffer): void {
    switch (frame.kind) {
      case "hello":
        return this.#takeHello(frame);
      case "welcome":
        return this.#takeWelcome(frame);
      case "bye":
        return this.#takeBye(frame);
      case "beat":
        // The peer is on a link that has ended here: it did not hear that.
        if (frame.link !== this.#name) {
          return this.isOpen ? this.restart() : this.greet();
        }
        this.#takeNumbered(frame);
        return;
      case "data":
        if (frame.link !== this.#name || !this.#takeNumbered(frame)) return;
        if (bytes.length === DATA_HEADER_BYTES) return;
        this.#taken += bytes.length;
        if (this.#owesGrant()) this.#port.schedule();
        this.#inbox.take(bytes, DATA_HEADER_BYTES);
    }
  }

  #takeHello(frame: Greeting): void {
    if (this.isOpen && this.#theirs !== frame.token) this.reset();
    const isNew = !this.isOpen;
    if (isNew) this.#open(frame);
    this.#port.transmit(encodeFrame({
      kind: "welcome",
      ...this.#greeting(),
      echo: frame.token,
      next: this.#nextOut,
    }));
    if (isNew) this.#opened();
  }

  #takeWelcome(frame: Welcome): void {
    const { echo, token, next } = frame;
    if (echo !== this.#token || token === this.#theirs) return;
    // Without all from the first frame on, the link cannot be used.
    if (this.isOpen || next !== 0) return this.restart();
    this.#open(frame);
    this.#opened();
  }

  #takeBye({ link, seq, taken }: Numbered): void {
    const isComplete = this.#outbox.isEmpty &&
      (!this.isOpen ||
        link === this.#name && seq === this.#nextIn && taken === this.#sent);
    this.close();
    if (!isComplete) this.#port.lost();
    this.#port.ended();
  }

  /** Checks the number of a frame; returns whether the link goes on. */
  #takeNumbered({ seq, ...counts }: Numbered): boolean {
    if (seq !== this.#nextIn) {
      this.restart();
      return false;
    }
    this.#nextIn++;
    this.#confirm(counts);
    this.#schedule();
    return true;
  }

  #open({ token, ...counts }: Greeting): void {
    this.#theirs = token;
    this.#name = linkOf(this.#token, token);
    this.#nextOut = this.#nextIn = 0;
    this.#confirm(counts);
  }

  #opened(): void {
    this.#port.opened(this.#name ?? 0);
    // Copies, since the connection may still have the former ones to send.
    for (const sent of this.#unconfirmed) {
      sent.frame = Buffer.from(sent.frame);
      this.#transmitData(sent.frame);
    }
    this.#schedule();
  }

  /** The peer has taken so many bytes, and may get more. */
  #confirm({ taken, room }: Counts): void {
    this.#maySend = Math.max(this.#maySend, taken + room);
    const first = this.#unconfirmed.findIndex(({ end }) => end > taken);
    this.#unconfirmed.splice(0, first < 0 ? Infinity : first);
  }

  #transmitData(frame: Buffer): void {
    this.#port.transmit(writeDataHeader(frame, this.#numbers()));
  }

  #schedule(): void {
    if (this.#mayTransmit()) this.#port.schedule();
  }

  #mayTransmit(): boolean {
    return this.isOpen && !this.#outbox.isEmpty && this.#sent < this.#maySend;
  }

  #greeting() {
    return {
      version: LINK_VERSION,
      from: this.#port.own,
      token: this.#token,
      ...this.#counts(),
    };
  }

  /** The numbers of the next frame. */
  #numbers(): Numbered {
    const link = this.#name ?? 0;
    return { link, seq: this.#nextOut++, ...this.#counts() };
  }

  /** What was taken and may follow, for the peer; their sum never becomes less. */
  #counts(): Counts {
    const taken = this.#taken;
    this.#granted = Math.max(this.#granted, taken + this.#port.window());
    return { taken, room: this.#granted - taken };
  }

  /** Whether the peer should be told that it may send more: else its window would close. */
  #owesGrant(): boolean {
    const window = this.#port.window();
    return this.#taken + window - this.#granted >= window / 2;
  }
}
