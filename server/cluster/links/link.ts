import { Buffer } from "node:buffer";
import {
  DATA_HEADER_BYTES,
  encodeFrame,
  type Frame,
  LINK_VERSION,
  linkOf,
  writeDataHeader,
} from "./frame.ts";
import { Inbox } from "./inbox.ts";
import type { LinkLimits, LinkPort } from "./link_port.ts";
import { Outbox } from "./outbox.ts";
import { Window } from "./window.ts";

type Greeting = Extract<Frame, { kind: "hello" | "welcome" }>;

/**
 * The link to one node: greeting, numbering and windows, without clock and network.
 *
 * Each end has a random token, new with each beginning. All frames but greetings are numbered; at the
 * first that is not the next one, both ends begin anew.
 */
export class Link {
  readonly #port: LinkPort;
  readonly #limits: LinkLimits;
  readonly #outbox: Outbox;
  #inbox: Inbox;
  #token: number;
  #theirs: number | undefined;
  #name: number | undefined;
  #nextOut = 0;
  #nextIn = 0;
  #window = new Window();
  #isAgain = false;

  constructor(limits: LinkLimits, port: LinkPort) {
    this.#port = port;
    this.#limits = limits;
    this.#outbox = new Outbox(limits.pieceBytes, limits.queueBytes);
    this.#inbox = this.#newInbox();
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
      granted: this.#grant(),
      isAgain: this.#isAgain,
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
      this.#window.send(frame.length);
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
      granted: this.#grant(),
      from: this.#port.own,
    }));
  }

  /** Says goodbye, and is of no use any more. */
  bye(): void {
    this.#port.transmit(encodeFrame({
      kind: "bye",
      link: this.#name ?? 0,
      seq: this.#nextOut++,
      granted: this.#window.taken,
      from: this.#port.own,
    }));
    this.close();
  }

  /** Takes and delivers nothing any more. */
  close(): void {
    this.#inbox.close();
    this.#outbox.clear();
    if (this.#name !== undefined) this.#port.closed(this.#name);
    this.#name = this.#theirs = undefined;
  }

  /** Ends the link; what was on its way counts as missing. The next one begins with a greeting. */
  reset(): void {
    this.#isAgain ||= this.isOpen || !this.#outbox.isEmpty;
    this.close();
    this.#inbox = this.#newInbox();
    this.#token = this.#port.nextToken();
    this.#window = new Window();
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
        this.#inbox.take(bytes, DATA_HEADER_BYTES);
        // A message may have ended this link, or made it begin anew.
        if (frame.link !== this.#name) return;
        this.#window.take(bytes.length);
        if (this.#owesGrant()) this.#port.schedule();
    }
  }

  #takeHello(frame: Greeting): void {
    if (this.isOpen && this.#theirs !== frame.token) this.reset();
    const isNew = !this.isOpen;
    if (isNew) this.#open(frame);
    this.#welcome();
    if (isNew) this.#opened(frame);
  }

  #takeWelcome(frame: Extract<Frame, { kind: "welcome" }>): void {
    const { echo, token, next } = frame;
    if (echo !== this.#token || token === this.#theirs) return;
    // Without all from the first frame on, the link cannot be used.
    if (this.isOpen || next !== 0) return this.restart();
    this.#open(frame);
    this.#opened(frame);
  }

  #takeBye(frame: Extract<Frame, { kind: "bye" }>): void {
    const { link, seq, granted: taken } = frame;
    const isComplete = this.#outbox.isEmpty &&
      (!this.isOpen ||
        link === this.#name && seq === this.#nextIn &&
          taken === this.#window.sent);
    this.close();
    if (!isComplete) this.#port.lost();
    this.#port.ended();
  }

  /** Checks the number of a frame; returns whether the link goes on. */
  #takeNumbered({ seq, granted }: { seq: number; granted: number }): boolean {
    if (seq !== this.#nextIn) {
      this.restart();
      return false;
    }
    this.#nextIn++;
    this.#window.allow(granted);
    if (this.#mayTransmit()) this.#port.schedule();
    return true;
  }

  #open({ token, granted }: Greeting): void {
    this.#theirs = token;
    this.#name = linkOf(this.#token, token);
    this.#nextOut = this.#nextIn = 0;
    this.#window.allow(granted);
  }

  /**
   * Reports a loss now, and not when the last link ended: until the greeting came, the peer may have
   * sent more on that one.
   */
  #opened({ isAgain }: Greeting): void {
    if (this.#mayTransmit()) this.#port.schedule();
    this.#port.opened(this.#name ?? 0);
    if (isAgain || this.#isAgain) this.#port.lost();
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
      granted: this.#grant(),
      isAgain: this.#isAgain,
    }));
  }

  #transmitData(frame: Buffer): void {
    this.#port.transmit(
      writeDataHeader(
        frame,
        this.#name ?? 0,
        this.#nextOut++,
        this.#grant(),
      ),
    );
  }

  #mayTransmit(): boolean {
    return this.isOpen && !this.#outbox.isEmpty && this.#window.isOpen;
  }

  #grant(): number {
    return this.#window.grant(this.#port.window());
  }

  #owesGrant(): boolean {
    return this.#window.owes(this.#port.window());
  }

  #newInbox(): Inbox {
    return new Inbox(
      this.#limits.maxMessageBytes,
      (message) => this.#port.received(message),
    );
  }
}
