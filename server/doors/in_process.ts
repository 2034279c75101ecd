import { type Profile, PROFILES, type Role } from "../../protocol/mod.ts";
import { Connection, type ConnectionParts } from "../office/connection.ts";
import type { Answer, Peer } from "../office/peer.ts";
import { shuttingDown } from "../shared/error_payload.ts";
import type { Identity } from "../shared/identity.ts";
import { Payload } from "../shared/payload.ts";

/** Who connects from inside the process: what a handshake says of any other client. */
export interface InProcessClient {
  /** The version that it speaks; default 0.4. */
  readonly profile?: Profile;
  /** The role that it must join with. */
  readonly role?: Role;
  /** Random per client instance, so that it can take its own seat over. */
  readonly instance?: string;
  /** Who it is, and what it may join as; absent where the server authenticates nobody. */
  readonly identity?: Identity;
  /** Shown to operators in place of a network address; default `in process`. */
  readonly address?: string;
}

/** What a client in this process gets. No method may throw. */
export interface ClientEnd {
  /**
   * Handles a notification, or a request.
   *
   * @param answer sends the answer to a request; absent for a notification
   */
  receive(
    event: string,
    payload: unknown,
    answer?: (value?: unknown) => void,
  ): void;
  /**
   * Notes that the server closed the connection; nothing follows.
   *
   * @param isReplaced whether this client has another connection, and must not reconnect
   */
  closed(reason: string, isReplaced: boolean): void;
}

/** What a client in this process uses in place of a socket. */
export interface ServerEnd {
  /** The id of the connection, as `list_room` shows it. */
  readonly id: string;
  /**
   * Sends an event.
   *
   * @param answered called with all arguments of the ack, unless the connection is closed before
   * @throws {TypeError} when the payload cannot be converted to JSON
   */
  send(
    event: string,
    payload: unknown,
    answered?: (args: readonly unknown[]) => void,
  ): void;
  /** Closes the connection, after all that was sent has taken effect. */
  close(): void;
}

/**
 * Where clients of this process connect, without a socket: with the order, the rules and the identity of
 * any other connection.
 *
 * Each message is copied once, as JSON would carry it, so that neither side sees changes of the other's
 * objects. None arrives before the function that sends it has returned.
 */
export class InProcessDoor {
  readonly #parts: ConnectionParts;
  readonly #open = new Map<Peer, Connection>();
  #isClosed = false;

  /** @param parts what the connections of all doors work with */
  constructor(parts: ConnectionParts) {
    this.#parts = parts;
  }

  /** The open connections. */
  get open(): { readonly profile: Profile; readonly connection: Connection }[] {
    return [...this.#open].map(([{ profile }, connection]) => ({
      ...{ profile, connection },
    }));
  }

  /**
   * Opens a connection.
   *
   * @throws {ProtocolError} 500 when the server is shutting down
   */
  connect(client: InProcessClient, end: ClientEnd): ServerEnd {
    if (this.#isClosed || this.#parts.offices.isClosed) throw shuttingDown();
    const open = this.#open;
    /** Microtasks run in the order in which they were added, which is that of the messages. */
    const deliver = (run: () => void) =>
      queueMicrotask(() => {
        if (open.has(peer)) run();
      });
    const close = () => {
      open.delete(peer);
      connection.gone();
    };
    const peer = peerOf(client, end, { deliver, close });
    const connection = new Connection(peer, this.#parts, client.role);
    open.set(peer, connection);
    return {
      id: peer.id,
      send(event, payload, answered) {
        const copy = Payload.of(copyOf(payload));
        const ack = (answer: Answer | undefined) => {
          if (answer) deliver(() => answered?.(argumentsOf(answer)));
        };
        deliver(() => connection.receive(event, copy, answered && ack));
      },
      close: () => deliver(close),
    };
  }

  /** Closes all connections, and opens no more. */
  close(reason: string): void {
    this.#isClosed = true;
    for (const peer of this.#open.keys()) peer.end(reason, false);
  }
}

/** How a {@linkcode Peer} acts on its connection. */
interface Wire {
  /** Runs later, in order, while the connection is open. */
  readonly deliver: (run: () => void) => void;
  readonly close: () => void;
}

function peerOf(
  { profile = PROFILES["0.4"], instance, identity, address }: InProcessClient,
  end: ClientEnd,
  { deliver, close }: Wire,
): Peer {
  return {
    id: crypto.randomUUID(),
    ...{ profile, instance, identity },
    version: profile.version,
    address: address ?? "in process",
    send: (event, payload) =>
      // All members get the same object.
      deliver(() => end.receive(event, copyOf(payload.parse()))),
    ask(event, payload, answered) {
      let isWaiting = true;
      const answer = (value?: unknown) => {
        const copy = copyOf(value);
        deliver(() => {
          if (!isWaiting) return;
          isWaiting = false;
          answered(copy === undefined ? undefined : Payload.of(copy));
        });
      };
      deliver(() => end.receive(event, payload.parse(), answer));
      return () => isWaiting = false;
    },
    end: (reason, isReplaced) =>
      deliver(() => {
        close();
        end.closed(reason, isReplaced);
      }),
  };
}

/** Throws what cannot be sent, and drops what no peer would get. */
const copyOf = (value: unknown): unknown =>
  value === undefined ? undefined : JSON.parse(JSON.stringify(value));

const argumentsOf = (answer: Answer): readonly unknown[] =>
  answer instanceof Payload ? [answer.parse()] : answer;
