import type { Socket } from "socket.io";
import {
  CLIENT_EVENTS,
  isClientEvent,
  namesOf,
  type Profile,
  type ProtocolError,
} from "../../protocol/mod.ts";
import type { Limiter } from "../limits/limiter.ts";
import { Connection, type ConnectionParts } from "../office/connection.ts";
import { type Ack, type Forget, partyOf, type Peer } from "../office/peer.ts";
import type { Identity } from "../shared/identity.ts";
import type { TokenBucket } from "../shared/pending.ts";
import { type Incoming, Link, type Payload } from "../wire/mod.ts";
import type { HandshakeAuth } from "./admission.ts";

/** What is known of a client that was let in. */
export interface Admission extends HandshakeAuth {
  /** The version that it is served in. */
  readonly profile: Profile;
  /** The `a2c_version` that it sent; that of the profile if it sent none. */
  readonly version: string;
  readonly identity: Identity | undefined;
  readonly address: string;
}

/** What the sessions of a server work with. */
export interface SessionParts {
  /** What every connection works with. */
  readonly connections: ConnectionParts;
  /** Records events beyond the rate. */
  readonly limiter: Limiter;
  /** The answer to them: an error costs more than everything else done for such an event. */
  readonly flood: ProtocolError;
}

/** A Socket.IO connection of a client, as its office sees it. */
export class Session implements Peer {
  readonly id: string;
  readonly profile: Profile;
  readonly version: string;
  readonly instance: string | undefined;
  readonly address: string;
  /** Replaced by rechecks. */
  identity: Identity | undefined;
  /** The Socket.IO connection. */
  readonly socket: Socket;
  /** Its way to its office. */
  readonly connection: Connection;
  readonly #link: Link;
  readonly #rate: TokenBucket;
  readonly #parts: SessionParts;

  /**
   * @param socket has just connected
   * @param rate limits its events, also after a reconnect over the same transport
   */
  constructor(
    socket: Socket,
    { role, ...admission }: Admission,
    rate: TokenBucket,
    parts: SessionParts,
  ) {
    this.id = socket.id;
    this.socket = socket;
    this.profile = admission.profile;
    this.version = admission.version;
    this.instance = admission.instance;
    this.identity = admission.identity;
    this.address = admission.address;
    this.#rate = rate;
    this.#parts = parts;
    this.connection = new Connection(this, parts.connections, role);
    this.#link = new Link(
      socket,
      requestsOf(this.profile),
      (incoming) => this.#receive(incoming),
    );
  }

  send(event: string, payload: Payload): void {
    this.#link.notify(event, payload);
  }

  ask(
    event: string,
    payload: Payload,
    answered: (answer: Payload | undefined) => void,
  ): Forget {
    const id = this.#link.request(event, payload, answered);
    return () => this.#link.forget(id);
  }

  end(_reason: string, isReplaced: boolean): void {
    if (isReplaced) this.socket.disconnect(true);
    else this.socket.conn.close();
  }

  /** Notes that the connection is closed. */
  gone(): void {
    this.#link.end();
    this.connection.gone();
  }

  #receive({ event, payload, ack }: Incoming): void {
    const answer = ack && answering(this.socket, ack);
    if (this.#rate.take(performance.now())) {
      return this.connection.receive(event, payload, answer);
    }
    const { limiter, flood } = this.#parts;
    limiter.recordHit("eventsPerSecond", partyOf(this));
    this.connection.refuse(event, flood, answer);
  }
}

/** A separate function, so that the closure does not capture the payload. */
const answering = (
  socket: Socket,
  ack: NonNullable<Incoming["ack"]>,
): Ack =>
(answer) => {
  if (answer !== undefined && socket.connected) ack(answer);
};

const requests = new Map<Profile, ReadonlySet<string>>();

/** The names under which clients of a version get requests: the only events that the fast path reads. */
function requestsOf(profile: Profile): ReadonlySet<string> {
  const known = requests.get(profile);
  if (known) return known;
  const names = new Set(
    Object.keys(CLIENT_EVENTS).filter(isClientEvent)
      .flatMap((event) => namesOf(profile, event)),
  );
  requests.set(profile, names);
  return names;
}
