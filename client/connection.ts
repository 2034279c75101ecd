import { ProtocolError } from "../protocol/errors/protocol_error.ts";
import { CLOSE_TIMEOUT_MS } from "./closing.ts";
import { Emitter, type Listener } from "./emitter.ts";
import { offline } from "./failures.ts";
import { Membership } from "./membership.ts";
import { until } from "./next_change.ts";
import type {
  ConnectionEvents,
  ConnectionState,
  RequestHandler,
  RequestOptions,
} from "./options.ts";
import { type Receiver, refuseRequest } from "./receive.ts";
import { ServerLink, type SignedOptions } from "./server_link.ts";

/**
 * A client's connection to a Server: handshake, membership, reconnect (spec §2, §9).
 *
 * Shared by Agent and Computer. After a lost connection it reconnects with backoff and
 * jitter, and rejoins its office; after a refusal it does not.
 */
export class Connection implements AsyncDisposable {
  readonly #link: ServerLink;
  readonly #membership: Membership;
  readonly #events: Emitter<ConnectionEvents>;
  readonly #receiver: Receiver;

  /**
   * @param options address, name, role and credentials
   * @param onThrow receives what listeners and handlers throw, for the log
   * @throws {TypeError} when the URL cannot be one of a Server
   */
  constructor(
    options: SignedOptions,
    onThrow: (error: unknown) => void,
  ) {
    const events = this.#events = new Emitter(onThrow);
    const receiver = this.#receiver = {
      answer: refuseRequest,
      notify: (notification) => events.emit("notification", notification),
      onThrow,
    };
    const link = this.#link = new ServerLink(options, {
      events,
      receiver,
      connected: () => membership.restore(),
      lost: () => membership.lost(),
      ended: () => membership.forget(),
    });
    const membership = this.#membership = new Membership(options, {
      ask: (...request) => link.ask(...request),
      send: (event, payload) => link.send(event, payload),
      joined: (joined) => events.emit("joined", joined),
      failed: (failed) => events.emit("rejoin_failed", failed),
    });
  }

  /** The state of the connection. */
  get state(): ConnectionState {
    return this.#link.state;
  }

  /** The office that this client is in, or rejoins after a reconnect. */
  get office(): string | undefined {
    return this.#membership.office;
  }

  /** Whether the Server counts this client as a member right now. */
  get joined(): boolean {
    return this.#membership.joined;
  }

  /** The largest message in bytes that the Server takes, as it said at the handshake (spec §9). */
  get maxPayload(): number | undefined {
    return this.#link.maxPayload;
  }

  /** Adds a listener; returns the function that removes it. */
  on<E extends keyof ConnectionEvents>(
    event: E,
    listener: Listener<ConnectionEvents[E]>,
  ): () => void {
    return this.#events.on(event, listener);
  }

  /** Sets the handler of the Server's requests. */
  onRequest(handler: RequestHandler): void {
    this.#receiver.answer = handler;
  }

  /**
   * Connects; resolves once the Server accepted this client, at once if already connected.
   *
   * @throws {ProtocolVersionError} the Server speaks another version; no reconnect follows
   * @throws {ProtocolError} the Server refused for another reason
   * @throws {ConnectionError} `unreachable`, `tls`, or `closed` by a call of `close`
   */
  connect(): Promise<void> {
    return this.#link.connect();
  }

  /**
   * Joins an office, and joins it again after each reconnect until `leave` (spec §5, §9).
   *
   * @throws {ConnectionError} `refused` with the Server's reason, `offline`, `lost` or `timeout`
   */
  async join(office: string): Promise<void> {
    if (this.#link.state === "closed") throw offline(this.#link.state);
    await this.#membership.join(office);
  }

  /**
   * Leaves the office; resolves when the seat is free for the next one. Without an office, or
   * offline, there is nothing left to do. A pending join fails with `refused`.
   *
   * @throws {ConnectionError} `refused`: still in the office; `lost` or `timeout`: left all the same
   */
  leave(): Promise<void> {
    return this.#membership.leave();
  }

  /**
   * Sends a request and resolves with the first argument of its ack.
   *
   * @throws {ProtocolError} the answer is an error of the protocol
   * @throws {ConnectionError} `offline`, `lost`, `timeout` or `too_large`
   * @throws the signal's reason, once it is aborted
   */
  async request(
    event: string,
    payload: object,
    options: RequestOptions,
  ): Promise<unknown> {
    if (this.#link.state === "closed") throw offline(this.#link.state);
    const [answer] = await this.#link.ask(event, payload, options);
    const error = ProtocolError.fromPayload(answer);
    if (error) throw error;
    return answer;
  }

  /**
   * Sends without waiting for an answer; returns false without a connection.
   *
   * @throws {ConnectionError} `too_large`
   */
  send(event: string, payload: object): boolean {
    return this.#link.send(event, payload);
  }

  /** Whether this client is connected, and in its office where it has one. */
  get isReady(): boolean {
    return this.#link.isOpen &&
      (this.office === undefined || this.joined);
  }

  /** Resolves once this client is connected, and back in its office where it is in one. */
  ready(signal?: AbortSignal): Promise<void> {
    const isReady = () => {
      if (this.#link.state === "closed" || this.#link.state === "idle") {
        throw offline(this.#link.state);
      }
      return this.isReady;
    };
    return until(isReady, this.#events, signal);
  }

  /**
   * Leaves and disconnects for good; pending requests fail with `lost`.
   *
   * Resolves when the seat and the name are free for the next one, and nothing is left open; with a
   * Server that no longer answers, after a few seconds.
   */
  close(): Promise<void> {
    const membership = this.#membership;
    return this.#link.close(() =>
      membership.mayBeSeated ? membership.leave(CLOSE_TIMEOUT_MS) : undefined
    );
  }

  /** The same as `close`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
