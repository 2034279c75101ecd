import { isClientEvent, type ProtocolError } from "../../../protocol/mod.ts";
import type {
  Ack,
  Forget,
  MemberEvent,
  Peer,
  Seat,
} from "../../office/peer.ts";
import { refuseOutsider } from "../../office/members.ts";
import { errorPayloadOf, shuttingDown } from "../../shared/error_payload.ts";
import { Payload } from "../../shared/payload.ts";
import type { Sent } from "../links/links.ts";
import { notSent } from "./errors.ts";
import {
  type Ending,
  endOfText,
  type FrameHead,
  Kind,
  type TunnelFrame,
} from "./frames.ts";

/** What a stream needs of its tunnel. */
export interface StreamPort {
  /** Whether this server is shutting down. */
  readonly isClosed: boolean;
  /** Sends a frame, in the order of the calls; one without a payload is sent even if much waits. */
  send(head: FrameHead, payload?: Payload): Sent;
  /** Forgets the stream: nothing that arrives for it counts any more. */
  close(): void;
  /** Called when nothing waits for an answer any more. */
  idle(): void;
}

/**
 * The seat of a client of this node in an office at another node: what it sends and gets is carried, and
 * nothing of it is understood here.
 */
export class Carried implements Seat {
  readonly #stream: number;
  readonly #peer: Peer;
  readonly #port: StreamPort;
  readonly #acks = new Map<number, Ack>();
  readonly #asks = new Map<number, Forget>();
  #identity: Peer["identity"];
  #isHeld = true;
  #isClosed = false;
  #left = () => {};
  #id = 0;
  /** What came before the client got the answer to its join. */
  #early: TunnelFrame[] | undefined = [];
  readonly #timer: ReturnType<typeof setTimeout>;

  constructor(stream: number, peer: Peer, port: StreamPort) {
    this.#stream = stream;
    this.#peer = peer;
    this.#port = port;
    this.#identity = peer.identity;
    // The answer to the join is sent by promises, which come before any timer.
    this.#timer = setTimeout(() => this.#begin(), 0);
  }

  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** Whether answers of either side are expected. */
  get isBusy(): boolean {
    return this.#acks.size > 0 || this.#asks.size > 0;
  }

  receive(event: MemberEvent, payload: Payload, ack?: Ack): void {
    try {
      if (!this.#isHeld) refuseOutsider(event, payload);
      if (this.#port.isClosed && isClientEvent(event)) throw shuttingDown();
      this.#carry(event, payload, ack);
    } catch (error) {
      ack?.(Payload.of(errorPayloadOf(error)));
    }
  }

  #carry(event: MemberEvent, payload: Payload, ack: Ack | undefined): void {
    this.#sendIdentity();
    const id = ack ? ++this.#id : 0;
    const sent = this.#send({ kind: Kind.event, id, text: event }, payload);
    if (sent === "sent") {
      if (ack) this.#acks.set(id, ack);
    } else if (ack) throw notSent(sent);
    // Its client does not wait for an answer, and would not find out.
    else this.lose(notSent(sent), "an event could not be sent to its office");
  }

  /** A check of the credentials replaces the identity. */
  #sendIdentity(): void {
    const { identity } = this.#peer;
    if (identity === this.#identity) return;
    this.#identity = identity;
    this.#send({ kind: Kind.identity, text: JSON.stringify(identity ?? null) });
  }

  leave(): Promise<void> | undefined {
    if (!this.#isHeld) return undefined;
    this.#release();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#left = resolve;
    this.#send({ kind: Kind.leave });
    return promise;
  }

  gone(): void {
    if (this.#isClosed) return;
    this.#send({ kind: Kind.gone });
    this.#end((ack) => ack(undefined));
  }

  /** Ends it, since the other node is not reached any more; its client comes back. */
  lose(error: ProtocolError, reason: string): void {
    if (this.#isClosed) return;
    const wasHeld = this.#isHeld;
    this.#end((ack) => ack(Payload.of(error.toPayload())));
    if (wasHeld) this.#peer.end(reason, false);
  }

  /** Takes what the office sends to the client. */
  take(frame: TunnelFrame): void {
    if (this.#early) this.#early.push(frame);
    else this.#take(frame);
  }

  #begin(): void {
    const early = this.#early ?? [];
    this.#early = undefined;
    for (const frame of early) if (!this.#isClosed) this.#take(frame);
  }

  #take(frame: TunnelFrame): void {
    switch (frame.kind) {
      case Kind.notice:
        if (!this.#isHeld) return;
        return this.#peer.send(frame.text, frame.payload() ?? NOTHING);
      case Kind.ack:
        return this.#answer(
          frame.id,
          (ack) => ack(frame.payload(), endOfText(frame.text)),
        );
      case Kind.ackList:
        return this.#answer(frame.id, (ack) => ack(JSON.parse(frame.text)));
      case Kind.ask:
        return this.#ask(frame);
      case Kind.forget:
        this.#asks.get(frame.id)?.();
        return this.#asked(frame.id);
      case Kind.left:
        return this.#end((ack) => ack(undefined));
      case Kind.end: {
        const { reason, isReplaced }: Ending = JSON.parse(frame.text);
        this.#end((ack) => ack(undefined));
        return this.#peer.end(reason, isReplaced);
      }
    }
  }

  #answer(id: number, answer: (ack: Ack) => void): void {
    const ack = this.#acks.get(id);
    if (!this.#acks.delete(id)) return;
    if (ack) answer(ack);
    if (!this.isBusy) this.#port.idle();
  }

  #ask({ id, text: event, payload }: TunnelFrame): void {
    if (!this.#isHeld) return;
    const answer = (answered: Payload | undefined) => {
      this.#asked(id);
      this.#reply(id, answered);
    };
    try {
      if (this.#port.isClosed) throw shuttingDown();
      const forget = this.#peer.ask(event, payload() ?? NOTHING, answer);
      this.#asks.set(id, forget);
    } catch (error) {
      this.#reply(id, Payload.of(errorPayloadOf(error)));
    }
  }

  #asked(id: number): void {
    if (this.#asks.delete(id) && !this.isBusy) this.#port.idle();
  }

  #reply(id: number, answer: Payload | undefined): void {
    const sent = this.#send({ kind: Kind.answer, id }, answer);
    if (sent === "sent") return;
    const error = Payload.of(notSent(sent).toPayload());
    this.#send({ kind: Kind.answer, id }, error);
  }

  #send(head: Omit<FrameHead, "stream">, payload?: Payload): Sent {
    return this.#port.send({ ...head, stream: this.#stream }, payload);
  }

  #release(): void {
    this.#isHeld = false;
    for (const forget of this.#asks.values()) forget();
    this.#asks.clear();
  }

  #end(answer: (ack: Ack) => void): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#release();
    this.#port.close();
    for (const ack of this.#acks.values()) answer(ack);
    this.#acks.clear();
    this.#left();
    this.#port.idle();
  }
}

const NOTHING = Payload.of(null);
