/**
 * The route between two nodes of a cluster: the streams in both directions, notifications that several
 * clients share, and the questions of operators, in one ordered and counted sequence of frames.
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
import {
  Carried,
  type Head,
  Hosted,
  type Opened,
  type Origin,
  type StreamRoute,
} from "./streams.ts";
import {
  encodeHead,
  type HeldSeat,
  Kind,
  notSent,
  type Opening,
  type TunnelFrame,
  unreachable,
} from "./tunnel_frames.ts";
import {
  DEVICE_PROTOCOL,
  HIDDEN_PROFILE,
  olderThan,
  type Peer,
} from "../office/peer.ts";
import { log } from "../shared/log.ts";
import { errorAnswer, type Payload } from "../shared/payload.ts";
import { limitTime } from "../../shared/deadlines.ts";
import { bytesOfPayload } from "../wire/mod.ts";

/** A notification for some clients of a node. */
interface Notice {
  readonly office: string;
  readonly event: string;
  readonly payload: Payload;
  readonly streams: number[];
}

/** The offices of this node, as its routes use them. */
interface RoutedOffices {
  /** This node. */
  readonly node: Pick<Messenger, "send"> & {
    readonly node: string;
    readonly maxMessageBytes: number;
  };
  /** The number of the youngest stream that this node has opened. */
  stream: number;
  /** Requests to Computers of other nodes, and of other nodes to Computers here. */
  callsOut: number;
  callsIn: number;
  readonly isClosed: boolean;
  hold(seat: HeldSeat): void;
  host(opening: Opening, hosted: Hosted): Promise<void>;
  answerTo(node: string, question: unknown): Promise<unknown>;
  rested(): void;
}

/** An office gives all members the same payload object, of which nodes get the same bytes. */
const encodings = new WeakMap<Payload, readonly Uint8Array[]>();

/**
 * All that passes between this node and another: a stream for each client of one node in an office of the
 * other, numbered by the node of the client. Nothing here depends on what an event means.
 *
 * What ends all streams: the other node has ended, or is silent. The node of the clients then closes their
 * connections, so that they come back; that of the offices frees their seats.
 */
export class Route implements StreamRoute {
  readonly offices: RoutedOffices;
  /** The other node. */
  readonly node: string;
  readonly carried = new Map<number, Carried>();
  readonly hosted = new Map<number, Hosted>();
  /** What ends a question, with its answer if there is one. */
  readonly #questions = new Map<number, (answer?: unknown) => void>();
  #question = 0;
  #notice: Notice | undefined;
  /** The number of the youngest stream that the other node has opened. */
  #seen = 0;
  /** The other node has not got yet that all streams have ended. */
  #owesReset = false;

  constructor(node: string, offices: RoutedOffices) {
    this.node = node;
    this.offices = offices;
  }

  /** Requests a seat; `waitMs` is how long it may take to answer. */
  open(peer: Peer, opening: Opening, waitMs: number): Promise<Opened> {
    const stream = ++this.offices.stream;
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
    if (head.kind === Kind.ask) this.offices.callsOut++;
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
    // A client that misses a notification must reconnect, to find out what has changed.
    for (const stream of streams) {
      // Not while its office goes on to notify others.
      queueMicrotask(() => this.hosted.get(stream)?.lose(TOO_MUCH));
    }
  }

  /** Sends that all streams have ended, of those that both nodes have. */
  #reset(): void {
    const { stream: id } = this.offices;
    const head = { kind: Kind.reset, stream: this.#seen, id };
    this.#owesReset = this.#pass("", [encodeHead(head)]) !== "sent";
  }

  #pass(office: string, frame: readonly Uint8Array[]): Sent {
    return this.offices.node.send(this.node, office, frame);
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
        return this.offices.hold(JSON.parse(text));
      case Kind.question:
        return void this.#reply(frame.id, JSON.parse(text).value);
      case Kind.reply:
        return this.#questions.get(frame.id)?.(JSON.parse(text).value);
      default:
        if (kind === Kind.ask) this.offices.callsIn++;
        return this.carried.get(stream)?.take(frame);
    }
  }

  #host(stream: number, opening: Opening): void {
    this.#seen = stream;
    const { office, protocol } = opening;
    const profile = PROFILES_BY_NAME.get(protocol);
    if (profile === undefined) {
      const text = JSON.stringify({ refusal: olderThan(protocol) });
      this.send({ stream, office }, { kind: Kind.refused, text });
      return;
    }
    const hosted = new Hosted(stream, opening, profile, this);
    this.hosted.set(stream, hosted);
    void this.offices.host(opening, hosted);
  }

  async #reply(id: number, question: unknown): Promise<void> {
    const value = await this.offices.answerTo(this.node, question);
    const text = JSON.stringify({ value });
    const { maxMessageBytes } = this.offices.node;
    const isTooLarge =
      Buffer.byteLength(text) > maxMessageBytes - ENVELOPE_BYTES;
    if (isTooLarge) {
      log.warn(
        "An answer to the node {node} is not sent: it is larger than a message may be",
        { node: this.node },
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

  /** Ends all streams, and notifies the other node. */
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

const PROFILES_BY_NAME: ReadonlyMap<string, Profile> = new Map([
  ...Object.entries(PROFILES),
  [DEVICE_PROTOCOL, HIDDEN_PROFILE],
]);
