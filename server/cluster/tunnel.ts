/**
 * The tunnel between the nodes of a cluster: a route to each other node, with the streams in both
 * directions, notifications that several clients share, and the questions of operators.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import {
  type Profile,
  PROFILES,
  type ProtocolError,
} from "../../protocol/mod.ts";
import type { Messenger, Sent } from "./link.ts";
import { Carried, Hosted, type Opened } from "./streams.ts";
import {
  decodeFrame,
  encodeHead,
  type FrameHead,
  type HeldSeat,
  Kind,
  notSent,
  type Opening,
  type TunnelFrame,
  unreachable,
} from "./tunnel_frames.ts";
import type { Peer } from "../office/peer.ts";
import type { OtherNodes } from "../shared/cluster.ts";
import { failure, log } from "../shared/log.ts";
import { errorAnswer, type Payload } from "../shared/payload.ts";
import { limitTime } from "../shared/pending.ts";
import { bytesOfPayload } from "../wire/mod.ts";

/** The parts of a frame but for its stream. */
type Head = Omit<FrameHead, "stream">;

/** What a tunnel works with. */
interface TunnelParts {
  /** Sends to other nodes. */
  readonly messenger: Messenger;
  /** Whether this server is shutting down. */
  readonly isClosed: () => boolean;
  /** Gives a client of another node a seat, if this one is the home of the office. */
  readonly host: (opening: Opening, hosted: Hosted) => void;
  /** Holds a seat free after a kick at another node. */
  readonly hold: (seat: HeldSeat) => void;
}

/**
 * Carries clients of one node to the offices of others: a stream for each, numbered by the node of the
 * client, in one ordered and counted sequence of frames between two nodes. Nothing here depends on what
 * an event means.
 *
 * What ends all streams between two nodes: the other one has ended, or is silent. The node of the clients
 * then closes their connections, so that they come back; that of the offices frees their seats.
 *
 * It also carries what those who operate one node ask the others.
 */
export class Tunnel implements OtherNodes {
  readonly parts: TunnelParts;
  /** Requests to Computers of other nodes, and of other nodes to Computers here. */
  callsOut = 0;
  callsIn = 0;
  readonly #routes = new Map<string, Route>();
  /** The number of the youngest stream that this node has opened. */
  stream = 0;
  #idle: (() => void) | undefined;
  #answer: ((question: unknown) => unknown) | undefined;

  constructor(parts: TunnelParts) {
    this.parts = parts;
  }

  /** Whether this server is shutting down. */
  get isClosed(): boolean {
    return this.parts.isClosed();
  }

  /** Requests that Computers of other nodes have not answered. */
  get callsOpen(): number {
    let open = 0;
    for (const { hosted } of this.#routes.values()) {
      for (const { asked } of hosted.values()) open += asked;
    }
    return open;
  }

  get nodes(): ReadonlySet<string> {
    return this.parts.messenger.peers;
  }

  ask(node: string, question: unknown, timeoutMs: number): Promise<unknown> {
    return this.#routeTo(node).ask(question, timeoutMs);
  }

  answerWith(answer: (question: unknown) => unknown): void {
    this.#answer = answer;
  }

  /** Answers a question of another node. */
  async answerTo(node: string, question: unknown): Promise<unknown> {
    try {
      return await this.#answer?.(question);
    } catch (error) {
      log.error("Cannot answer a question of the node {node}", {
        node,
        ...failure(error),
      });
      return undefined;
    }
  }

  /**
   * Asks another node for a seat.
   *
   * @param waitMs how long it may take to answer
   */
  open(
    node: string,
    peer: Peer,
    opening: Opening,
    waitMs: number,
  ): Promise<Opened> {
    return this.#routeTo(node).open(peer, opening, waitMs);
  }

  /** Takes a message of another node. */
  received(node: string, message: Buffer): void {
    try {
      this.#routeTo(node).take(decodeFrame(message));
    } catch (error) {
      log.error("Cannot read a frame of the node {node}, its streams end", {
        node,
        ...failure(error),
      });
      this.lose(node, unreachable(), "its server could not be understood");
    }
  }

  /** Ends all streams between this node and another. */
  lose(node: string, error: ProtocolError, reason: string): void {
    this.#routes.get(node)?.lose(error, reason);
  }

  /** Ends all streams, as this node is no part of its cluster any more. */
  dropAll(error: ProtocolError, reason: string): void {
    const routes = [...this.#routes.values()];
    this.#routes.clear();
    for (const route of routes) route.end(error, reason);
  }

  /** Resolves when no client here waits for an answer, or owes one, at the latest after some milliseconds. */
  async idle(milliseconds: number): Promise<void> {
    if (!this.#isBusy || milliseconds <= 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, milliseconds);
    this.#idle = () => {
      if (!this.#isBusy) resolve();
    };
    await promise;
    clearTimeout(timer);
  }

  /** Notes that a client may have got its last answer. */
  rested(): void {
    this.#idle?.();
  }

  /** Makes all clients here leave the offices of other nodes, and closes the connections of theirs. */
  depart(reason: string): void {
    for (const { carried, hosted } of this.#routes.values()) {
      for (const seat of [...carried.values()]) seat.leave();
      for (const peer of [...hosted.values()]) peer.end(reason, false);
    }
  }

  /** Holds a seat free at all nodes. */
  hold(seat: HeldSeat): void {
    const head = { kind: Kind.hold, text: JSON.stringify(seat) };
    for (const node of this.nodes) this.#routeTo(node).send(seat, head);
  }

  get #isBusy(): boolean {
    return this.#routes.values().some(({ carried }) =>
      carried.values().some(({ isBusy }) => isBusy)
    );
  }

  #routeTo(node: string): Route {
    const known = this.#routes.get(node);
    if (known) return known;
    const route = new Route(node, this);
    this.#routes.set(node, route);
    return route;
  }
}

/** What a frame is of: a stream, or none, and what shares its order. */
interface Origin {
  readonly stream?: number;
  readonly office: string;
}

/** A notification for some clients of a node. */
interface Notice {
  readonly office: string;
  readonly event: string;
  readonly payload: Payload;
  readonly streams: number[];
}

/** An office gives all members the same payload object, of which nodes get the same bytes. */
const encodings = new WeakMap<Payload, readonly Uint8Array[]>();

/** All that passes between this node and another. */
export class Route {
  readonly tunnel: Tunnel;
  readonly carried = new Map<number, Carried>();
  readonly hosted = new Map<number, Hosted>();
  readonly #node: string;
  /** What ends a question, with its answer if there is one. */
  readonly #questions = new Map<number, (answer?: unknown) => void>();
  #question = 0;
  #notice: Notice | undefined;
  /** The number of the youngest stream that the other node has opened. */
  #seen = 0;
  /** The other node has not got yet that all streams have ended. */
  #owesReset = false;

  constructor(node: string, tunnel: Tunnel) {
    this.#node = node;
    this.tunnel = tunnel;
  }

  open(peer: Peer, opening: Opening, waitMs: number): Promise<Opened> {
    const stream = ++this.tunnel.stream;
    const carried = new Carried(stream, peer, opening.office, this);
    this.carried.set(stream, carried);
    return carried.open(opening, waitMs);
  }

  ask(question: unknown, timeoutMs: number): Promise<unknown> {
    const id = ++this.#question;
    const { promise, resolve } = Promise.withResolvers<unknown>();
    const end = (answer?: unknown) => {
      stop();
      this.#questions.delete(id);
      resolve(answer);
    };
    const stop = limitTime(timeoutMs, end);
    this.#questions.set(id, end);
    const text = JSON.stringify({ value: question });
    if (this.#discuss(Kind.question, id, text) !== "sent") end();
    return promise;
  }

  // ---------------------------------------------------------------- what is sent

  /** Sends a frame, in the order of the calls; one without a payload is sent even if much waits. */
  send({ stream = 0, office }: Origin, head: Head, payload?: Payload): Sent {
    this.#flush(); // in the order of the calls
    if (this.#owesReset) this.#reset();
    if (head.kind === Kind.ask) this.tunnel.callsOut++;
    const encoded = encodeHead({ ...head, stream });
    return this.#pass(office, [encoded, ...bytesOfPayload(payload)]);
  }

  /** Sends an answer, or the error that it could not be sent. */
  answer(origin: Origin, head: Head, payload: Payload | undefined): void {
    const sent = this.send(origin, head, payload);
    if (sent === "sent") return;
    const { kind, id = 0 } = head;
    this.send(origin, { kind, id }, errorAnswer(notSent(sent)));
  }

  /** Sends a question or a reply; a large one does not hold others up. */
  #discuss(kind: number, id: number, text: string): Sent {
    const head = encodeHead({ kind, stream: 0, id, text });
    return this.#pass(`operators ${id}`, [head]);
  }

  /** Sends a notification, in one frame to all that follow each other and get the same, at most for this turn. */
  notify({ stream, office }: Hosted, event: string, payload: Payload): void {
    const notice = this.#notice;
    if (notice?.payload === payload && notice.event === event) {
      notice.streams.push(stream);
      return;
    }
    this.#flush();
    this.#notice = { streams: [stream], office, event, payload };
    queueMicrotask(() => this.#flush());
  }

  #flush(): void {
    if (this.#notice === undefined) return;
    const { office, event: text, payload, streams } = this.#notice;
    this.#notice = undefined;
    const encoded = encodings.get(payload) ?? bytesOfPayload(payload);
    encodings.set(payload, encoded);
    const head = { kind: Kind.notice, stream: 0, text, streams };
    if (this.#pass(office, [encodeHead(head), ...encoded]) === "sent") return;
    // Whoever misses a notification must come back, to find out what has changed.
    for (const stream of streams) {
      // Not while its office goes on to notify others.
      queueMicrotask(() => this.hosted.get(stream)?.lose(TOO_MUCH));
    }
  }

  /** Sends that all streams have ended, of those that both nodes know. */
  #reset(): void {
    const { stream: id } = this.tunnel;
    const head = { kind: Kind.reset, stream: this.#seen, id };
    this.#owesReset = this.#pass("", [encodeHead(head)]) !== "sent";
  }

  #pass(office: string, frame: readonly Uint8Array[]): Sent {
    return this.tunnel.parts.messenger.send(this.#node, office, frame);
  }

  // ---------------------------------------------------------------- what arrives

  take(frame: TunnelFrame): void {
    const { kind, stream, text } = frame;
    switch (kind) {
      case Kind.open:
        return this.#host(stream, JSON.parse(text));
      case Kind.event:
      case Kind.answer:
      case Kind.identity:
      case Kind.leave:
      case Kind.gone:
        return this.hosted.get(stream)?.take(frame);
      case Kind.notice: {
        // All get the same payload object, so that it is encoded once.
        const payload = frame.payload();
        const shared = { ...frame, payload: () => payload };
        for (const each of frame.streams) this.carried.get(each)?.take(shared);
        return;
      }
      case Kind.reset:
        return this.#takeReset(stream, frame.id);
      case Kind.hold:
        return this.tunnel.parts.hold(JSON.parse(text));
      case Kind.question:
        return void this.#reply(frame.id, JSON.parse(text).value);
      case Kind.reply:
        return this.#questions.get(frame.id)?.(JSON.parse(text).value);
      default:
        if (kind === Kind.ask) this.tunnel.callsIn++;
        return this.carried.get(stream)?.take(frame);
    }
  }

  #host(stream: number, opening: Opening): void {
    this.#seen = stream;
    const { office, protocol } = opening;
    const profile = PROFILES_BY_NAME.get(protocol);
    if (profile === undefined) {
      const refused = `The server of this office is older than ${protocol}`;
      const text = JSON.stringify({ refusal: { refused } });
      this.send({ stream, office }, { kind: Kind.refused, text });
      return;
    }
    const hosted = new Hosted(stream, opening, profile, this);
    this.hosted.set(stream, hosted);
    this.tunnel.parts.host(opening, hosted);
  }

  async #reply(id: number, question: unknown): Promise<void> {
    const value = await this.tunnel.answerTo(this.#node, question);
    const text = JSON.stringify({ value });
    const { maxMessageBytes } = this.tunnel.parts.messenger;
    const isTooLarge =
      Buffer.byteLength(text) > maxMessageBytes - ENVELOPE_BYTES;
    if (isTooLarge) {
      log.warn(
        "An answer to the node {node} is not sent: it is larger than a message may be",
        { node: this.#node },
      );
    }
    this.#discuss(Kind.reply, id, isTooLarge ? "{}" : text);
  }

  /** Streams that were opened after the other node ended all go on. */
  #takeReset(own: number, theirs: number): void {
    for (const [stream, seat] of [...this.carried]) {
      if (stream <= own) seat.lose(unreachable(), "its office was lost");
    }
    for (const [stream, peer] of [...this.hosted]) {
      if (stream <= theirs) peer.gone();
    }
  }

  // ---------------------------------------------------------------- ends

  /** Ends all streams, and lets the other node know. */
  lose(error: ProtocolError, reason: string): void {
    const { carried, hosted } = this;
    this.#owesReset = carried.size + hosted.size > 0;
    this.end(error, reason);
    if (this.#owesReset) this.#reset();
  }

  /** Ends all streams and questions. */
  end(error: ProtocolError, reason: string): void {
    this.#notice = undefined;
    for (const end of [...this.#questions.values()]) end();
    for (const seat of [...this.carried.values()]) seat.lose(error, reason);
    for (const peer of [...this.hosted.values()]) peer.gone();
  }
}

/** The most that a reply has besides its text. */
const ENVELOPE_BYTES = 64;

const TOO_MUCH = "too much waits for its server";

const PROFILES_BY_NAME: ReadonlyMap<string, Profile> = new Map(
  Object.entries(PROFILES),
);
