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
import { Fifo } from "./fifo.ts";
import { Inbox } from "./inbox.ts";
import type { LinkLimits, LinkPort } from "./link_port.ts";
import { Outbox } from "./outbox.ts";
import { Window } from "./window.ts";

type Greeting = Extract<Frame, { kind: "hello" | "welcome" }>;

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
 * bytes it has taken since the two nodes met, and the other one sends again what is missing.
 */
export class Link {
  readonly #port: LinkPort;
  readonly #outbox: Outbox;
  readonly #inbox: Inbox;
  readonly #window = new Window();
  /** What may have to be sent again; never more than a window. */
  readonly #sent = new Fifo<Sent>();
  #token: number;
  #theirs: number | undefined;
  #name: number | undefined;
  #nextOut = 0;
  #nextIn = 0;

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
    this.#port.transmit(encodeFrame({
      kind: "hello",
      version: LINK_VERSION,
      from: this.#port.own,
      token: this.#token,
      ...this.#taken(),
    }));
  }

  /** Adds a message to the queue; returns `false` when that is full. */
  send(stream: string, message: readonly Uint8Array[]): boolean {
    if (!this.#outbox.push(stream, message)) return false;
    if (this.#mayTransmit()) this.#port.schedule();
    return true;
  }

  /** Sends what may be sent now. */
  flush(): void {
    let isTold = false;
    while (this.#mayTransmit()) {
      const frame = this.#outbox.take(this.#port.allocate, DATA_HEADER_BYTES);
      if (frame === undefined) break;
      const end = this.#window.send(frame.length);
      this.#sent.push({ frame, end });
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
    this.#port.transmit(encodeFrame({
      kind: "beat",
      link: this.#name,
      seq: this.#nextOut++,
      ...this.#taken(),
      from: this.#port.own,
    }));
  }

  /** Says goodbye, and is of no use any more. */
  bye(): void {
    this.#port.transmit(encodeFrame({
      kind: "bye",
      link: this.#name ?? 0,
      seq: this.#nextOut++,
      ...this.#taken(),
      from: this.#port.own,
    }));
    this.close();
  }

  /** Takes and delivers nothing any more. */
  close(): void {
    this.#inbox.close();
    this.#outbox.clear();
    this.#sent.clear();
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
        this.#window.take(bytes.length);
        if (this.#owesGrant()) this.#port.schedule();
        this.#inbox.take(bytes, DATA_HEADER_BYTES);
    }
  }

  #takeHello(frame: Greeting): void {
    if (this.isOpen && this.#theirs !== frame.token) this.reset();
    const isNew = !this.isOpen;
    if (isNew) this.#open(frame);
    this.#welcome();
    if (isNew) this.#opened();
  }

  #takeWelcome(frame: Extract<Frame, { kind: "welcome" }>): void {
    const { echo, token, next } = frame;
    if (echo !== this.#token || token === this.#theirs) return;
    // Without all from the first frame on, the link cannot be used.
    if (this.isOpen || next !== 0) return this.restart();
    this.#open(frame);
    this.#opened();
  }

  #takeBye(frame: Extract<Frame, { kind: "bye" }>): void {
    const { link, seq, taken } = frame;
    const isComplete = this.#outbox.isEmpty &&
      (!this.isOpen ||
        link === this.#name && seq === this.#nextIn &&
          taken === this.#window.sent);
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
    if (this.#mayTransmit()) this.#port.schedule();
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
    for (const sent of this.#sent) {
      sent.frame = Buffer.from(sent.frame);
      this.#transmitData(sent.frame);
    }
    if (this.#mayTransmit()) this.#port.schedule();
  }

  /** The peer has taken so many bytes, and may get more. */
  #confirm({ taken, room }: Counts): void {
    this.#window.allow(taken + room);
    for (;;) {
      const sent = this.#sent.peek();
      if (sent === undefined || sent.end > taken) return;
      this.#sent.shift();
      this.#port.free(sent.frame);
    }
  }

  #welcome(): void {
    if (this.#theirs === undefined) return;
    this.#port.transmit(encodeFrame({
      kind: "welcome",
      version: LINK_VERSION,
      from: this.#port.own,
      token: this.#token,
      echo: this.#theirs,
      next: this.#nextOut,
      ...this.#taken(),
    }));
  }

  #transmitData(frame: Buffer): void {
    this.#port.transmit(
      writeDataHeader(
        frame,
        this.#name ?? 0,
        this.#nextOut++,
        this.#taken(),
      ),
    );
  }

  #mayTransmit(): boolean {
    return this.isOpen && !this.#outbox.isEmpty && this.#window.isOpen;
  }

  #taken(): Counts {
    return this.#window.grant(this.#port.window());
  }

  #owesGrant(): boolean {
    return this.#window.owes(this.#port.window());
  }
}
