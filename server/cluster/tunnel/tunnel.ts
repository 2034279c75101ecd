import type { Buffer } from "node:buffer";
import {
  type Profile,
  PROFILES,
  type ProtocolError,
} from "../../../protocol/mod.ts";
import type { Peer, Refusal, Seat } from "../../office/peer.ts";
import { failure, log } from "../../shared/log.ts";
import type { Payload } from "../../shared/payload.ts";
import type { Messenger, Sent } from "../links/links.ts";
import { Carried } from "./carried.ts";
import { unreachable } from "./errors.ts";
import {
  decodeFrame,
  encodeFrame,
  encodeHead,
  type FrameHead,
  type HeldSeat,
  Kind,
  type Opening,
  type Refused,
  type TunnelFrame,
} from "./frames.ts";
import { Hosted } from "./hosted.ts";
import { Notices } from "./notices.ts";
import { Questions } from "./questions.ts";

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

/** What a tunnel works with. */
export interface TunnelParts {
  /** The links of the present term. */
  readonly links: () => Messenger;
  /** Whether this server is shutting down. */
  readonly isClosed: () => boolean;
  /** Gives a client of another node a seat, if this one is the home of the office. */
  readonly host: (opening: Opening, hosted: Hosted) => void;
  /** Holds a seat free after a kick at another node. */
  readonly hold: (seat: HeldSeat) => void;
}

/** A client that waits for the answer to its join. */
interface Joining {
  readonly peer: Peer;
  readonly office: string;
  readonly settle: (opened: Opened) => void;
}

/** All that passes between this node and another. */
interface Route {
  readonly node: string;
  readonly joining: Map<number, Joining>;
  readonly carried: Map<number, Carried>;
  readonly hosted: Map<number, Hosted>;
  readonly notices: Notices;
  /** The number of the youngest stream that the other node has opened. */
  seen: number;
  /** The other node has not got yet that all streams have ended. */
  owesReset: boolean;
}

/**
 * Carries clients of one node to the offices of others: a stream for each, numbered by the node of the
 * client, in one ordered and counted sequence of frames between two nodes. Nothing here depends on what
 * an event means.
 *
 * What ends all streams between two nodes: the other one has ended, or is silent. The node of the clients
 * then closes their connections, so that they come back; that of the offices frees their seats.
 */
export class Tunnel {
  /** What nodes ask each other for those who operate them. */
  readonly questions: Questions;
  /** Requests to Computers of other nodes, and of other nodes to Computers here. */
  readonly counts = { callsOut: 0, callsIn: 0 };
  readonly #parts: TunnelParts;
  readonly #routes = new Map<string, Route>();
  #stream = 0;
  #idle: (() => void) | undefined;

  constructor(parts: TunnelParts) {
    this.#parts = parts;
    this.questions = new Questions({
      peers: () => parts.links().peers,
      maxMessageBytes: () => parts.links().maxMessageBytes,
      send: (node, stream, bytes) =>
        parts.links().send(node, stream, bytes) === "sent",
    });
  }

  /** Requests that Computers of other nodes have not answered. */
  get callsOpen(): number {
    let open = 0;
    for (const { hosted } of this.#routes.values()) {
      for (const { asked } of hosted.values()) open += asked;
    }
    return open;
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
    const route = this.#routeTo(node);
    const stream = ++this.#stream;
    const { promise, resolve } = Promise.withResolvers<Opened>();
    const timer = setTimeout(() => {
      this.#send(route, opening.office, { kind: Kind.gone, stream });
      settle("lost");
    }, waitMs);
    const settle = (opened: Opened) => {
      clearTimeout(timer);
      route.joining.delete(stream);
      resolve(opened);
    };
    route.joining.set(stream, { peer, office: opening.office, settle });
    const text = JSON.stringify(opening);
    const sent = this.#send(route, opening.office, {
      ...{ kind: Kind.open, stream, text },
    });
    if (sent !== "sent") settle("lost");
    return promise;
  }

  /** Takes a message of another node. */
  received(node: string, message: Buffer): void {
    try {
      this.#take(this.#routeTo(node), decodeFrame(message));
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
    this.questions.end(node);
    const route = this.#routes.get(node);
    if (route === undefined) return;
    const { hosted, carried, joining } = route;
    route.owesReset = hosted.size + carried.size + joining.size > 0;
    this.#end(route, error, reason);
    this.#reset(route);
  }

  /** Ends all streams, as this node is no part of its cluster any more. */
  dropAll(error: ProtocolError, reason: string): void {
    const routes = [...this.#routes.values()];
    this.#routes.clear();
    for (const route of routes) {
      this.#end(route, error, reason);
      this.questions.end(route.node);
    }
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

  /** Makes all clients here leave the offices of other nodes, and closes the connections of theirs. */
  depart(reason: string): void {
    for (const { carried, hosted } of this.#routes.values()) {
      for (const seat of [...carried.values()]) seat.leave();
      for (const peer of [...hosted.values()]) peer.end(reason, false);
    }
  }

  /** Holds a seat free at all nodes. */
  hold(seat: HeldSeat): void {
    const head = { kind: Kind.hold, stream: 0, text: JSON.stringify(seat) };
    for (const node of this.#parts.links().peers) {
      this.#send(this.#routeTo(node), seat.office, head);
    }
  }

  get #isBusy(): boolean {
    return this.#routes.values().some(({ carried }) =>
      carried.values().some(({ isBusy }) => isBusy)
    );
  }

  #routeTo(node: string): Route {
    const known = this.#routes.get(node);
    if (known) return known;
    const hosted = new Map<number, Hosted>();
    const route: Route = {
      node,
      hosted,
      joining: new Map(),
      carried: new Map(),
      seen: 0,
      owesReset: false,
      notices: new Notices(({ streams, office, event, encoded }) => {
        const text = event;
        const head = { kind: Kind.notice, stream: 0, text, streams };
        const frame = [encodeHead(head), ...encoded];
        const sent = this.#parts.links().send(node, office, frame);
        if (sent === "sent") return;
        // Whoever misses a notification must come back, to find out what has changed.
        for (const stream of streams) {
          // Not while its office goes on to notify others.
          queueMicrotask(() => hosted.get(stream)?.lose(TOO_MUCH));
        }
      }),
    };
    this.#routes.set(node, route);
    return route;
  }

  // ---------------------------------------------------------------- frames

  #take(route: Route, frame: TunnelFrame): void {
    const { kind, stream } = frame;
    switch (kind) {
      case Kind.open:
        return this.#host(route, frame);
      case Kind.opened:
      case Kind.refused:
        return this.#opened(route, frame);
      case Kind.event:
      case Kind.answer:
      case Kind.identity:
      case Kind.leave:
      case Kind.gone:
        return route.hosted.get(stream)?.take(frame);
      case Kind.notice:
        return this.#notice(route, frame);
      case Kind.reset:
        return this.#takeReset(route, frame);
      case Kind.hold:
        return this.#parts.hold(JSON.parse(frame.text));
      case Kind.question:
      case Kind.reply:
        return this.questions.take(route.node, frame);
      default:
        if (kind === Kind.ask) this.counts.callsIn++;
        return route.carried.get(stream)?.take(frame);
    }
  }

  /** All streams of the list get the same payload object, so that it is encoded once. */
  #notice({ carried }: Route, frame: TunnelFrame): void {
    const payload = frame.payload();
    const shared = { ...frame, payload: () => payload };
    for (const stream of frame.streams) carried.get(stream)?.take(shared);
  }

  #host(route: Route, { stream, text }: TunnelFrame): void {
    route.seen = stream;
    const opening: Opening = JSON.parse(text);
    const { office, protocol } = opening;
    const profile = PROFILES_BY_NAME.get(protocol);
    if (profile === undefined) {
      const refused = `The server of this office is older than ${protocol}`;
      const text = JSON.stringify({ refusal: { refused } });
      this.#send(route, office, { kind: Kind.refused, stream, text });
      return;
    }
    const hosted = new Hosted(stream, opening, profile, {
      send: (head, payload) => this.#send(route, office, head, payload),
      notify: (stream, event, payload) =>
        route.notices.add({ stream, office, event, payload }),
      close: () => route.hosted.delete(stream),
      idle: () => {},
    });
    route.hosted.set(stream, hosted);
    this.#parts.host(opening, hosted);
  }

  #opened(route: Route, { kind, stream, text }: TunnelFrame): void {
    const joining = route.joining.get(stream);
    if (joining === undefined) return;
    if (text !== "") return joining.settle(readOpened(kind, text));
    const { isClosed } = this.#parts;
    const { peer, office } = joining;
    const carried = new Carried(stream, peer, {
      get isClosed() {
        return isClosed();
      },
      send: (head, payload) => this.#send(route, office, head, payload),
      close: () => route.carried.delete(stream),
      idle: () => this.#idle?.(),
    });
    route.carried.set(stream, carried);
    joining.settle(carried);
  }

  #send(
    route: Route,
    office: string,
    head: FrameHead,
    payload?: Payload,
  ): Sent {
    route.notices.flush(); // in the order of the calls
    if (route.owesReset) this.#reset(route);
    if (head.kind === Kind.ask) this.counts.callsOut++;
    const frame = HAS_PAYLOAD.has(head.kind)
      ? encodeFrame(head, payload)
      : [encodeHead(head)];
    return this.#parts.links().send(route.node, office, frame);
  }

  /** Sends that all streams have ended, of those that both nodes know. */
  #reset(route: Route): void {
    if (!route.owesReset) return;
    const head = { kind: Kind.reset, stream: route.seen, id: this.#stream };
    const sent = this.#parts.links().send(route.node, "", [encodeHead(head)]);
    route.owesReset = sent !== "sent";
  }

  /** Streams that were opened after the other node ended all go on. */
  #takeReset(route: Route, { stream: own, id: theirs }: TunnelFrame): void {
    const { carried, hosted, joining } = route;
    for (const [stream, { settle }] of [...joining]) {
      if (stream <= own) settle("lost");
    }
    for (const [stream, seat] of [...carried]) {
      if (stream <= own) seat.lose(unreachable(), "its office was lost");
    }
    for (const [stream, peer] of [...hosted]) {
      if (stream <= theirs) peer.gone();
    }
  }

  #end(
    { carried, hosted, joining, notices }: Route,
    error: ProtocolError,
    reason: string,
  ): void {
    notices.clear();
    for (const { settle } of [...joining.values()]) settle("lost");
    for (const seat of [...carried.values()]) seat.lose(error, reason);
    for (const peer of [...hosted.values()]) peer.gone();
  }
}

const HAS_PAYLOAD: ReadonlySet<number> = new Set([
  Kind.event,
  Kind.ack,
  Kind.ask,
  Kind.answer,
]);

function readOpened(kind: number, text: string): Opened {
  if (kind === Kind.opened) return "free";
  const { refusal }: Refused = JSON.parse(text);
  return refusal ?? "elsewhere";
}

const TOO_MUCH = "too much waits for its server";

const PROFILES_BY_NAME: ReadonlyMap<string, Profile> = new Map(
  Object.entries(PROFILES),
);
