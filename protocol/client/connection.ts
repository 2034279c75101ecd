import type { io as Io, Socket } from "socket.io-client";
import { ProtocolError } from "../errors.ts";
import type { Role } from "../offices.ts";
import { ask } from "./ask.ts";
import { Retry } from "./backoff.ts";
import { CLOSE_TIMEOUT_MS, whenClosed } from "./closing.ts";
import {
  credentialsOf,
  type Dial,
  dial,
  explainRefusal,
  watchMaxPayload,
} from "./dial.ts";
import { Emitter, type Listener } from "./emitter.ts";
import { ConnectionError } from "./errors.ts";
import { isFinal, offline, reasonOf, unreachable } from "./failures.ts";
import type {
  ConnectionEvents,
  ConnectionOptions,
  ConnectionState,
  RequestHandler,
  RequestOptions,
} from "./options.ts";
import { checkRequest } from "./message_limits.ts";
import { Membership } from "./membership.ts";
import { firstOutcome, until } from "./next_change.ts";
import { listen, type Receiver, refuseRequest } from "./receive.ts";
import { checkTls } from "./tls.ts";
import { parseServerUrl } from "./url.ts";

/**
 * One client instance's connection to a Server: handshake, membership, coming back (spec §2, §9).
 *
 * Shared by Agent and Computer. After a lost connection it connects again with backoff and
 * jitter, and joins the same office again; it never tries again after a refusal.
 */
export class Connection implements AsyncDisposable {
  readonly #options: ConnectionOptions & { role: Role };
  readonly #dial: Dial;
  readonly #events: Emitter<ConnectionEvents>;
  /** Says that a later socket is the same instance coming back; shown to nobody (spec §9). */
  readonly #instanceId = crypto.randomUUID();
  #socket: Socket | undefined;
  #state: ConnectionState = "idle";
  readonly #membership: Membership;
  #maxPayload: number | undefined;
  #opened: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;
  /** Counts calls of `close`: they overtake a `connect` that waits for the one before. */
  #closes = 0;
  readonly #receiver: Receiver;
  readonly #retry = new Retry();
  #watchHandshake: (() => void) | undefined;

  /**
   * @param io `io` of `socket.io-client`
   * @param options where and as whom
   * @param onThrow takes what listeners and handlers throw, for the log
   * @throws {TypeError} when the URL can not be one of a Server
   */
  constructor(
    io: typeof Io,
    options: ConnectionOptions & { role: Role },
    onThrow: (error: unknown) => void,
  ) {
    parseServerUrl(options.url);
    checkTls(options.tls, options.url);
    this.#options = options;
    this.#dial = {
      io,
      options,
      credentials: (give) =>
        credentialsOf(options, this.#instanceId).then(
          give,
          (error) => this.#authFailed(error),
        ),
    };
    this.#events = new Emitter(onThrow);
    this.#receiver = {
      answer: refuseRequest,
      notify: (notification) => this.#events.emit("notification", notification),
      onThrow,
    };
    this.#membership = new Membership(options, {
      ask: (...request) => this.#ask(...request),
      send: (event, payload) => this.send(event, payload),
      joined: (joined) => this.#events.emit("joined", joined),
      failed: (failed) => this.#events.emit("rejoin_failed", failed),
    });
  }

  /** Where the connection stands. */
  get state(): ConnectionState {
    return this.#state;
  }

  /** The office that this client is in, or goes back to after a reconnect. */
  get office(): string | undefined {
    return this.#membership.office;
  }

  /** Whether the Server counts this client as a member right now. */
  get joined(): boolean {
    return this.#membership.joined;
  }

  /** The largest message in bytes that the Server takes, as it said at the handshake (spec §9). */
  get maxPayload(): number | undefined {
    return this.#maxPayload;
  }

  /** Adds a listener; returns the function that takes it away. */
  on<E extends keyof ConnectionEvents>(
    event: E,
    listener: Listener<ConnectionEvents[E]>,
  ): () => void {
    return this.#events.on(event, listener);
  }

  /** Sets who answers the Server's requests. */
  onRequest(handler: RequestHandler): void {
    this.#receiver.answer = handler;
  }

  /**
   * Connects; resolves once the Server let this client in, at once where it did before.
   *
   * @throws {ProtocolVersionError} the Server speaks another version; no reconnect follows
   * @throws {ProtocolError} the Server refused for another reason
   * @throws {ConnectionError} `unreachable`, or `closed` by a call of `close`
   */
  async connect(): Promise<void> {
    const closes = this.#closes;
    if (this.#closing) await this.#closing;
    if (closes !== this.#closes) throw offline(this.#state);
    if (this.#state === "idle" || this.#state === "closed") {
      this.#opened = this.#open();
    }
    return await this.#opened;
  }

  /**
   * Joins an office, and joins it again after each reconnect until `leave` (spec §5, §9).
   *
   * @throws {ConnectionError} `refused` with the Server's reason, `offline`, `lost` or `timeout`
   */
  async join(office: string): Promise<void> {
    if (this.#state === "closed") throw offline(this.#state);
    await this.#membership.join(office);
  }

  /**
   * Leaves the office; resolves when the seat is free for the next one. Without an office, or
   * offline, there is nothing left to do. A join that is on its way fails with `refused`.
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
    if (this.#state === "closed") throw offline(this.#state);
    const [answer] = await this.#ask(event, payload, options);
    const error = ProtocolError.fromPayload(answer);
    if (error) throw error;
    return answer;
  }

  /**
   * Sends without waiting for anything; tells whether there was a connection to send it on.
   *
   * @throws {ConnectionError} `too_large`
   */
  send(event: string, payload: object): boolean {
    const socket = this.#socket;
    if (!socket?.connected) return false;
    checkRequest(event, payload, this.#maxPayload);
    socket.emit(event, payload);
    return true;
  }

  /** Whether this client is connected, and in its office where it has one. */
  get isReady(): boolean {
    return this.#socket?.connected === true &&
      (this.office === undefined || this.joined);
  }

  /** Resolves once this client is connected, and back in its office where it is in one. */
  ready(signal?: AbortSignal): Promise<void> {
    const isReady = () => {
      if (this.#state === "closed" || this.#state === "idle") {
        throw offline(this.#state);
      }
      return this.isReady;
    };
    return until(isReady, this.#events, signal);
  }

  /**
   * Leaves, disconnects, and never comes back; what waits for an answer fails with `lost`.
   *
   * Resolves when the seat and the name are free for the next one, and nothing is left open; with a
   * Server that does not answer any more, after a few seconds.
   */
  close(): Promise<void> {
    this.#closes++;
    if (this.#socket !== undefined && this.#state !== "closed") {
      this.#closing = this.#leaveAndClose()
        .finally(() => this.#closing = undefined);
    }
    this.#state = "closed";
    return this.#closing ?? Promise.resolve();
  }

  /** The same as `close`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Where tokens come from may be out of order for a while: only the first connect fails of it. */
  #authFailed(error: unknown): void {
    const socket = this.#socket;
    if (this.#state !== "reconnecting" || socket === undefined) {
      return this.#end(`the auth function failed: ${reasonOf(error)}`);
    }
    this.#receiver.onThrow(error);
    socket.disconnect();
    this.#connectLater(socket);
  }

  async #leaveAndClose(): Promise<void> {
    const socket = this.#socket;
    // The Server frees the seat of a connection that ends when it notices, and not in this moment.
    this.#state = "closed";
    if (socket?.connected && this.#membership.mayBeSeated) {
      // The connection ends all the same.
      await this.#membership.leave(CLOSE_TIMEOUT_MS).catch(() => {});
    }
    const gone = whenClosed(socket);
    this.#end("closed by this client");
    await gone;
  }

  async #open(): Promise<void> {
    this.#state = "connecting";
    const socket = dial(this.#dial);
    this.#socket = socket;
    const first = firstOutcome(this.#events);
    socket.on("connect", () => this.#onConnect());
    socket.on("disconnect", (reason) => this.#onDisconnect(socket, reason));
    socket.on("connect_error", async (error) => {
      const { known, cause } = await explainRefusal(this.#dial, error);
      if (this.#socket !== socket || socket.connected) return;
      if (this.#state === "closed") return; // by a call of close() meanwhile
      if (this.#state === "reconnecting" && !isFinal(known)) {
        if (!socket.active) this.#connectLater(socket);
        return;
      }
      const failure = known ?? await unreachable(this.#options, cause);
      if (this.#socket !== socket) return; // closed meanwhile
      first.fail(failure);
      this.#end(failure.message);
      if (!(failure instanceof ConnectionError)) {
        this.#events.emit("refused", failure);
      }
    });
    listen(socket, this.#receiver);
    socket.connect();
    const found = (bytes: number) => this.#maxPayload = bytes;
    this.#watchHandshake = watchMaxPayload(socket, found);
    await first.done;
  }

  #onConnect(): void {
    const reconnected = this.#state === "reconnecting";
    this.#state = "connected";
    this.#retry.reset();
    this.#events.emit("connected", { reconnected });
    this.#membership.restore();
  }

  #onDisconnect(socket: Socket, reason: string): void {
    if (this.#socket !== socket) return;
    this.#membership.lost();
    // What waits to be sent would go out before this client is back in its office.
    socket.sendBuffer = [];
    const isClosing = this.#state === "closed";
    if (!socket.active || isClosing) return this.#end(reason);
    this.#state = "reconnecting";
    this.#events.emit("disconnected", { reason, reconnecting: true });
  }

  /** Socket.IO tries again by itself only when no Server was reached, not when one said no. */
  #connectLater(socket: Socket): void {
    this.#retry.later(() => {
      socket.connect();
      this.#watchHandshake?.();
    });
  }

  async #ask(
    event: string,
    payload: object,
    options: RequestOptions,
    heard?: (args: unknown[]) => void,
  ): Promise<unknown[]> {
    const socket = this.#socket;
    if (!socket?.connected) throw offline(this.#state);
    checkRequest(event, payload, this.#maxPayload);
    const leaving = this.#state === "closed";
    const isLost = () =>
      !socket.connected || !leaving && this.#state === "closed";
    return await ask(socket, event, payload, options, isLost, heard);
  }

  #end(reason: string): void {
    const socket = this.#socket;
    if (socket === undefined) return;
    this.#socket = undefined;
    this.#state = "closed";
    this.#membership.forget();
    this.#retry.reset();
    socket.disconnect();
    this.#events.emit("disconnected", { reason, reconnecting: false });
  }
}
