import {
  isClientEvent,
  isServerEvent,
  JOIN_OFFICE_EVENT,
  LEAVE_OFFICE_EVENT,
  type Profile,
} from "../../../protocol/mod.ts";
import type {
  Ack,
  Answer,
  Forget,
  MemberEvent,
  Peer,
  Refusal,
  Seat,
} from "../../office/peer.ts";
import { Payload } from "../../shared/payload.ts";
import type { StreamPort } from "./carried.ts";
import { notSent } from "./errors.ts";
import {
  endToText,
  Kind,
  type Opening,
  type Refused,
  type TunnelFrame,
} from "./frames.ts";

/** What the stream of a member from another node needs of its tunnel. */
export interface HostedPort extends Omit<StreamPort, "isClosed"> {
  /** Sends a notification, in one frame to all members from that node that get the same. */
  notify(stream: number, event: string, payload: Payload): void;
}

/** A client of another node, as an office of this one sees it. */
export class Hosted implements Peer {
  readonly id: string;
  readonly profile: Profile;
  readonly version: string;
  readonly instance: string | undefined;
  readonly address: string;
  identity: Peer["identity"];
  readonly #stream: number;
  readonly #port: HostedPort;
  readonly #asks = new Map<number, (answer: Payload | undefined) => void>();
  #seat: Seat | undefined;
  #isClosed = false;
  #id = 0;

  constructor(
    stream: number,
    { client, version, instance, identity, address }: Opening,
    profile: Profile,
    port: HostedPort,
  ) {
    this.id = client;
    this.profile = profile;
    this.version = version;
    this.instance = instance;
    this.identity = identity;
    this.address = address;
    this.#stream = stream;
    this.#port = port;
  }

  /** The number of requests that it has not answered. */
  get asked(): number {
    return this.#asks.size;
  }

  send(event: string, payload: Payload): void {
    if (!this.#isClosed) this.#port.notify(this.#stream, event, payload);
  }

  ask(
    event: string,
    payload: Payload,
    answered: (answer: Payload | undefined) => void,
  ): Forget {
    const id = ++this.#id;
    const head = { kind: Kind.ask, stream: this.#stream, id, text: event };
    const sent = this.#port.send(head, payload);
    if (sent !== "sent") throw notSent(sent);
    this.#asks.set(id, answered);
    return () => {
      if (!this.#asks.delete(id) || this.#isClosed) return;
      this.#port.send({ kind: Kind.forget, stream: this.#stream, id });
    };
  }

  end(reason: string, isReplaced: boolean): void {
    if (this.#isClosed) return;
    const text = JSON.stringify({ reason, isReplaced });
    this.#port.send({ kind: Kind.end, stream: this.#stream, text });
    this.#close();
  }

  /** Takes the seat, which it may have lost meanwhile. */
  seated(seat: Seat): void {
    this.#seat = seat;
    if (this.#isClosed) seat.gone();
    else this.#port.send({ kind: Kind.opened, stream: this.#stream });
  }

  /** Sends that it would get the seat, and ends the stream. */
  agree(): void {
    this.#settle(Kind.opened, "{}");
  }

  /**
   * Sends why there is no seat, and ends the stream.
   *
   * @param refusal absent where this node is not the home of the office
   */
  refuse(refusal?: Refusal): void {
    const refused: Refused = { ...(refusal && { refusal }) };
    this.#settle(Kind.refused, JSON.stringify(refused));
  }

  #settle(kind: number, text: string): void {
    if (this.#isClosed) return;
    this.#port.send({ kind, stream: this.#stream, text });
    this.#close();
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
        this.#port.send({ kind: Kind.left, stream: this.#stream });
        return this.#close();
      case Kind.gone:
        return this.gone();
    }
  }

  #receive({ id, text: event, payload }: TunnelFrame): void {
    if (!isMemberEvent(event)) return;
    const ack: Ack | undefined = id === 0
      ? undefined
      : (answer, end) => this.#acknowledge(id, answer, endToText(end));
    this.#seat?.receive(event, payload() ?? Payload.of(null), ack);
  }

  #acknowledge(id: number, answer: Answer | undefined, text: string): void {
    if (this.#isClosed || answer === undefined) return;
    const stream = this.#stream;
    if (!(answer instanceof Payload)) {
      const list = JSON.stringify(answer);
      this.#port.send({ kind: Kind.ackList, stream, id, text: list });
      return;
    }
    const sent = this.#port.send({ kind: Kind.ack, stream, id, text }, answer);
    if (sent === "sent") return;
    const error = Payload.of(notSent(sent).toPayload());
    this.#port.send({ kind: Kind.ack, stream, id }, error);
  }

  #close(): void {
    this.#isClosed = true;
    this.#asks.clear();
    this.#port.close();
  }
}

/** A later version may have others. */
const isMemberEvent = (event: string): event is MemberEvent =>
  isClientEvent(event) ||
  isServerEvent(event) && event !== JOIN_OFFICE_EVENT &&
    event !== LEAVE_OFFICE_EVENT;
