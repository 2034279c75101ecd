/**
 * The two ends of a stream of the tunnel: a seat that is carried to the office at another node, and the
 * client of another node as a peer of an office here. Each event, request and answer is one frame.
 *
 * @module
 */
import {
  DEVICE_EVENT,
  isClientEvent,
  isServerEvent,
  JOIN_OFFICE_EVENT,
  LEAVE_OFFICE_EVENT,
  type Profile,
  type ProtocolError,
} from "../../protocol/mod.ts";
import type { Sent } from "./link.ts";
import {
  type FrameHead,
  Kind,
  notSent,
  type Opening,
  type TunnelFrame,
} from "./tunnel_frames.ts";
import { refuseOutsider } from "../office/members.ts";
import type {
  Ack,
  Forget,
  MemberEvent,
  Peer,
  Refusal,
  Seat,
} from "../office/peer.ts";
import { errorAnswer, Payload, shuttingDown } from "../shared/payload.ts";

/** The parts of a frame but for its stream. */
export type Head = Omit<FrameHead, "stream">;

/** What a frame is of: a stream, or none, and what shares its order. */
export interface Origin {
  readonly stream?: number;
  readonly office: string;
}

/** The route of streams to another node, as they use it. */
export interface StreamRoute {
  /** The other node. */
  readonly node: string;
  /** The offices of this node. */
  readonly offices: {
    readonly node: { readonly node: string };
    readonly isClosed: boolean;
    /** Called when a stream has ended, or has no request left. */
    rested(): void;
  };
  readonly carried: { delete(stream: number): boolean };
  readonly hosted: { delete(stream: number): boolean };
  send(origin: Origin, head: Head, payload?: Payload): Sent;
  answer(origin: Origin, head: Head, payload: Payload | undefined): void;
  notify(hosted: Hosted, event: string, payload: Payload): void;
}

const NOTHING = Payload.of(null);

/** What a client got for its join at another node. */
export type Opened =
  | Seat
  | Refusal
  /** It would get the seat. */
  | "free"
  /** The node is not the home of the office, or not for much longer. */
  | "elsewhere"
  /** The node does not answer. */
  | "lost";

/**
 * The seat of a client of this node in an office at another node: what it sends and gets is carried, and
 * nothing of it is understood here.
 */
export class Carried implements Seat {
  readonly stream: number;
  readonly office: string;
  readonly #peer: Peer;
  readonly #route: StreamRoute;
  readonly #opened = Promise.withResolvers<Opened>();
  readonly #acks = new Map<number, Ack>();
  readonly #asks = new Map<number, Forget>();
  /** Those that nothing waits for at the end: a device asks again. */
  readonly #passed = new Set<number>();
  isHeld = false;
  #identity: Peer["identity"];
  #isClosed = false;
  #left = () => {};
  #id = 0;
  /** What comes before the client got the answer to its join. */
  #early: TunnelFrame[] | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(stream: number, peer: Peer, office: string, route: StreamRoute) {
    this.stream = stream;
    this.office = office;
    this.#peer = peer;
    this.#route = route;
    this.#identity = peer.identity;
  }

  /** Requests the seat; `waitMs` is how long it may take to answer. */
  open(opening: Opening, waitMs: number): Promise<Opened> {
    this.#timer = setTimeout(() => this.gone(), waitMs);
    const text = JSON.stringify(opening);
    const sent = this.#route.send(this, { kind: Kind.open, text });
    if (sent !== "sent") this.#end();
    return this.#opened.promise;
  }

  /** Whether answers of either side are expected. */
  get isBusy(): boolean {
    return this.#acks.size > 0 || this.#asks.size > this.#passed.size;
  }

  receive(event: MemberEvent, payload: Payload, ack?: Ack): void {
    try {
      if (!this.isHeld) refuseOutsider(event, payload);
      if (isClientEvent(event)) this.#requireOpen();
      this.#sendIdentity();
      const id = ack ? ++this.#id : 0;
      const head = { kind: Kind.event, id, text: event };
      const sent = this.#route.send(this, head, payload);
      if (sent === "sent") {
        if (ack) this.#acks.set(id, ack);
      } else if (ack) throw notSent(sent);
      // Its client does not wait for an answer, and would not find out.
      else this.lose(notSent(sent), "an event could not be sent to its office");
    } catch (error) {
      ack?.(errorAnswer(error));
    }
  }

  #requireOpen(): void {
    if (this.#route.offices.isClosed) throw shuttingDown();
  }

  /** A check of the credentials replaces the identity. */
  #sendIdentity(): void {
    const { identity } = this.#peer;
    if (identity === this.#identity) return;
    this.#identity = identity;
    const text = JSON.stringify(identity ?? null);
    this.#route.send(this, { kind: Kind.identity, text });
  }

  leave(): Promise<void> | undefined {
    if (!this.isHeld) return undefined;
    this.#release();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#left = resolve;
    this.#route.send(this, { kind: Kind.leave });
    return promise;
  }

  gone(): void {
    if (this.#isClosed) return;
    this.#route.send(this, { kind: Kind.gone });
    this.#end();
  }

  /**
   * Ends it, and the connection of its client if it has the seat.
   *
   * @param error the answer to what the client has sent, where the other node is not reached any more
   * @param isReplaced whether another connection of the client has the seat: this one does not come back
   */
  lose(
    error: ProtocolError | undefined,
    reason: string,
    isReplaced = false,
  ): void {
    if (this.#isClosed) return;
    const wasHeld = this.isHeld;
    this.#end(error && errorAnswer(error));
    if (wasHeld) this.#peer.end(reason, isReplaced);
  }

  #open(text: string): void {
    if (text !== "") return this.#end(undefined, "free");
    clearTimeout(this.#timer);
    this.isHeld = true;
    this.#early = [];
    // The answer to the join is sent by promises, which come before any timer.
    this.#timer = setTimeout(() => {
      const early = this.#early ?? [];
      this.#early = undefined;
      for (const frame of early) if (!this.#isClosed) this.take(frame);
    }, 0);
    this.#opened.resolve(this);
  }

  /** Takes what the office sends to the client. */
  take(frame: TunnelFrame): void {
    const { kind, id, text } = frame;
    if (kind === Kind.opened) return this.#open(text);
    if (kind === Kind.refused) {
      const { refusal }: { refusal?: Refusal } = JSON.parse(text);
      return this.#end(undefined, refusal ?? "elsewhere");
    }
    if (this.#early) return void this.#early.push(frame);
    switch (kind) {
      case Kind.notice:
        if (!this.isHeld) return;
        return this.#peer.send(text, frame.payload() ?? NOTHING);
      case Kind.ack:
        return this.#answer(frame);
      case Kind.ask:
        return this.#ask(frame);
      case Kind.forget:
        this.#asks.get(id)?.();
        return this.#asked(id);
      case Kind.left:
        return this.#end();
      case Kind.end: {
        const { reason, isReplaced } = JSON.parse(text);
        return this.lose(undefined, reason, isReplaced);
      }
    }
  }

  #answer({ id, text, payload }: TunnelFrame): void {
    const ack = this.#acks.get(id);
    if (!this.#acks.delete(id)) return;
    ack?.(payload() ?? [], text === "" ? undefined : JSON.parse(text));
    if (!this.isBusy) this.#route.offices.rested();
  }

  #ask({ id, text: event, payload }: TunnelFrame): void {
    if (!this.isHeld) return;
    const answer = (answered: Payload | undefined) => {
      this.#asked(id);
      this.#reply(id, answered);
    };
    try {
      this.#requireOpen();
      const forget = this.#peer.ask(event, payload() ?? NOTHING, answer);
      this.#asks.set(id, forget);
      if (event === DEVICE_EVENT) this.#passed.add(id);
    } catch (error) {
      this.#reply(id, errorAnswer(error));
    }
  }

  #asked(id: number): void {
    this.#passed.delete(id);
    if (this.#asks.delete(id) && !this.isBusy) this.#route.offices.rested();
  }

  #reply(id: number, answer: Payload | undefined): void {
    this.#route.answer(this, { kind: Kind.answer, id }, answer);
  }

  #release(): void {
    this.isHeld = false;
    for (const forget of this.#asks.values()) forget();
    this.#asks.clear();
    this.#passed.clear();
  }

  /**
   * Ends it.
   *
   * @param answer to what the client has sent
   * @param opened to its join, if that is what it waits for
   */
  #end(answer?: Payload, opened: Opened = "lost"): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#release();
    this.#route.carried.delete(this.stream);
    this.#opened.resolve(opened);
    for (const ack of this.#acks.values()) ack(answer);
    this.#acks.clear();
    this.#left();
    this.#route.offices.rested();
  }
}

/** A client of another node, as an office of this one sees it. */
export class Hosted implements Peer {
  readonly id: string;
  readonly profile: Profile;
  readonly version: string;
  readonly instance: string | undefined;
  readonly address: string;
  readonly node: string;
  identity: Peer["identity"];
  /** The number of its stream. */
  readonly stream: number;
  /** The name of its office. */
  readonly office: string;
  readonly #route: StreamRoute;
  readonly #asks = new Map<number, (answer: Payload | undefined) => void>();
  #seat: Seat | undefined;
  #isClosed = false;
  #id = 0;

  constructor(
    stream: number,
    { client, office, version, instance, identity, address }: Opening,
    profile: Profile,
    route: StreamRoute,
  ) {
    this.id = client;
    this.profile = profile;
    this.version = version;
    this.instance = instance;
    this.identity = identity;
    this.address = address;
    this.node = route.node;
    this.stream = stream;
    this.office = office;
    this.#route = route;
  }

  /** The number of requests that it has not answered. */
  get asked(): number {
    return this.#asks.size;
  }

  send(event: string, payload: Payload): void {
    if (!this.#isClosed) this.#route.notify(this, event, payload);
  }

  ask(
    event: string,
    payload: Payload,
    answered: (answer: Payload | undefined) => void,
  ): Forget {
    const id = ++this.#id;
    const head = { kind: Kind.ask, id, text: event };
    const sent = this.#route.send(this, head, payload);
    if (sent !== "sent") throw notSent(sent);
    this.#asks.set(id, answered);
    return () => {
      if (!this.#asks.delete(id) || this.#isClosed) return;
      this.#route.send(this, { kind: Kind.forget, id });
    };
  }

  end(reason: string, isReplaced: boolean): void {
    if (this.#isClosed) return;
    const text = JSON.stringify({ reason, isReplaced });
    this.#route.send(this, { kind: Kind.end, text });
    this.#close();
  }

  /** Sends what the client got for its join; without a seat that ends the stream. */
  settle(opened: Opened): void {
    const isObject = typeof opened === "object";
    if (isObject && !("refused" in opened)) {
      this.#seat = opened;
      // It may have lost the seat meanwhile.
      if (this.#isClosed) return opened.gone();
      this.#route.send(this, { kind: Kind.opened });
    } else if (!this.#isClosed) {
      const refusal = isObject ? this.#located(opened) : undefined;
      const head = opened === "free"
        ? { kind: Kind.opened, text: "{}" }
        : { kind: Kind.refused, text: JSON.stringify({ refusal }) };
      this.#route.send(this, head);
      this.#close();
    }
  }

  /** Names this node, too: to its client it is another one. */
  #located(refusal: Refusal): Refusal {
    const { holder } = refusal;
    if (holder === undefined) return refusal;
    const { node } = this.#route.offices.node;
    return { ...refusal, holder: { node, ...holder } };
  }

  /** Notes that its connection, or its node, is gone. */
  gone(): void {
    if (this.#isClosed) return;
    this.#close();
    this.#seat?.gone();
  }

  /** Closes its connection, and frees its seat. */
  lose(reason: string): void {
    const seat = this.#seat;
    this.end(reason, false);
    seat?.gone();
  }

  /** Takes what the client sends. */
  take(frame: TunnelFrame): void {
    const { kind, id, text } = frame;
    switch (kind) {
      case Kind.event:
        return this.#receive(frame);
      case Kind.answer: {
        const answered = this.#asks.get(id);
        this.#asks.delete(id);
        return answered?.(frame.payload());
      }
      case Kind.identity:
        this.identity = JSON.parse(text) ?? undefined;
        return;
      case Kind.leave:
        this.#seat?.leave();
        if (this.#isClosed) return;
        this.#route.send(this, { kind: Kind.left });
        return this.#close();
      case Kind.gone:
        return this.gone();
    }
  }

  #receive({ id, text: event, payload }: TunnelFrame): void {
    if (!isMemberEvent(event)) return;
    const ack: Ack = (answer, end) => {
      if (this.#isClosed || answer === undefined) return;
      const text = !end || end.outcome === "ok" ? "" : JSON.stringify(end);
      // One that is no payload has no arguments.
      const payload = answer instanceof Payload ? answer : undefined;
      this.#route.answer(this, { kind: Kind.ack, id, text }, payload);
    };
    this.#seat?.receive(event, payload() ?? NOTHING, id > 0 ? ack : undefined);
  }

  #close(): void {
    this.#isClosed = true;
    this.#asks.clear();
    this.#route.hosted.delete(this.stream);
  }
}

/** A later version may have others. */
const isMemberEvent = (event: string): event is MemberEvent =>
  isClientEvent(event) || event === DEVICE_EVENT ||
  isServerEvent(event) && event !== JOIN_OFFICE_EVENT &&
    event !== LEAVE_OFFICE_EVENT;
