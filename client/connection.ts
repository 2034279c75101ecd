import { ProtocolError } from "../protocol/errors.ts";
import { Emitter, type Listener, until } from "./emitter.ts";
import { Membership } from "./membership.ts";
import type {
  ConnectionState,
  LinkEvents,
  RequestHandler,
  RequestOptions,
} from "./options.ts";
import { CLOSE_TIMEOUT_MS, type Receiver, refuseRequest } from "./wire.ts";
import { type RoleOptions, ServerLink } from "./server_link.ts";
import type { ClientProtocol } from "./versions.ts";

/**
 * A client's connection to a Server: handshake, membership, reconnect (spec §2, §9).
 *
 * Shared by Agent and Computer. After a lost connection it reconnects with backoff and
 * jitter, and rejoins its office; after a refusal it does not.
 */
export class Connection implements AsyncDisposable {
  readonly #link: ServerLink;
  readonly #membership: Membership;
  readonly #events: Emitter<LinkEvents>;
  readonly #receiver: Receiver;

  /**
   * @param options address, name, role and credentials
   * @param onThrow receives errors of listeners and handlers, for the log
   * @throws {TypeError} when an option is invalid
   */
  constructor(
    options: RoleOptions,
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
      failed: (failed) => events.emit("rejoinFailed", failed),
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

  /** Whether this client is currently a member of its office. */
  get joined(): boolean {
    return this.#membership.joined;
  }

  /** The protocol version of the connection, or of the next attempt. */
  get protocol(): ClientProtocol {
    return this.#link.protocol;
  }

  /** Maximum message size in bytes that the Server accepts, as announced in the handshake (spec §9). */
  get maxPayload(): number | undefined {
    return this.#link.maxPayload;
  }

  /** Adds a listener; returns the function that removes it. */
  on<E extends keyof LinkEvents>(
    event: E,
    listener: Listener<LinkEvents[E]>,
  ): () => void {
    return this.#events.on(event, listener);
  }

  /** Sets the handler of the Server's requests. */
  onRequest(handler: RequestHandler): void {
    this.#receiver.answer = handler;
  }

  /**
   * Connects; resolves when the Server has accepted this client, immediately if already connected.
   *
   * @throws {ProtocolVersionError} the Server has an incompatible version; no reconnect follows
   * @throws {ProtocolError} the Server refused for another reason
   * @throws {ConnectionError} `unreachable`, `tls`, or `closed` by a call of `close`
   */
  connect(): Promise<void> {
    return this.#link.connect();
  }

  /**
   * Joins an office, and rejoins it after each reconnect until `leave` (spec §5, §9).
   *
   * @throws {ConnectionError} `refused` with the Server's reason, `offline`, `lost` or `timeout`
   */
  async join(office: string): Promise<void> {
    if (this.#link.state === "closed") throw this.#link.offline();
    await this.#membership.join(office);
  }

  /**
   * Leaves the office; resolves when the seat is free. Does nothing without an office or a
   * connection. A pending join fails with `refused`.
   *
   * @throws {ConnectionError} `refused`: still in the office; `lost` or `timeout`: left anyway
   */
  leave(): Promise<void> {
    return this.#membership.leave();
  }

  /**
   * Sends a request and resolves with the first argument of its ack.
   *
   * @throws {ProtocolError} the answer is an error
   * @throws {ConnectionError} `offline`, `lost`, `timeout` or `too_large`
   * @throws the signal's reason when it is aborted
   */
  async request(
    event: string,
    payload: object,
    options: RequestOptions,
  ): Promise<unknown> {
    if (this.#link.state === "closed") throw this.#link.offline();
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

  /** Whether this client is connected, and in its office if it has one. */
  get isReady(): boolean {
    return this.#link.isOpen &&
      (this.office === undefined || this.joined);
  }

  /** Resolves when this client is connected, and back in its office if it has one. */
  ready(signal?: AbortSignal): Promise<void> {
    const isReady = () => {
      if (this.#link.state === "closed" || this.#link.state === "idle") {
        throw this.#link.offline();
      }
      return this.isReady;
    };
    return until(isReady, this.#events, signal);
  }

  /**
   * Leaves the office and disconnects permanently; pending requests fail with `lost`.
   *
   * Resolves when the seat and the name are free and everything is closed; if the Server does not
   * answer, after a few seconds.
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
