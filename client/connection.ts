/**
 * The state of a client's connection.
 *
 * A {@linkcode Wire} leads to the Server: a socket, or none in the same process. The first attempt to
 * connect is the only one; a lost connection is opened again, by Socket.IO where no Server was reached,
 * else by this class. A refusal is final, except for one of the version, which is tried again with
 * another where the client may choose. {@linkcode Membership} rejoins the office after each reconnect.
 *
 * @module
 */
import { checkOffice, checkOptions } from "./check_options.ts";
import { Emitter, type Listener } from "./emitter.ts";
import { ConnectionError, reasonOf } from "./errors.ts";
import { InProcessWire } from "./in_process_wire.ts";
import { Membership } from "./membership.ts";
import { checkRequest } from "./message_limits.ts";
import { proxyRoute } from "./network/node_network.ts";
import type {
  AnyNotification,
  ClientProtocol,
  ConnectionOptions,
  ConnectionState,
  LinkEvents,
  RequestHandler,
  RequestOptions,
  UrlOptions,
} from "./options.ts";
import type { ProxyRoute } from "./network/proxy.ts";
import { credentialsOf, SocketWire } from "./socket_wire.ts";
import { servedVersions, VersionChoice } from "./versions.ts";
import {
  CLOSE_TIMEOUT_MS,
  Retry,
  type Wire,
  type WireListeners,
} from "./wire.ts";
import { ErrorCode, ProtocolError } from "../protocol/errors.ts";
import { isNotification, NOTIFICATIONS } from "../protocol/event_table.ts";
import type { Role } from "../protocol/payloads/offices.ts";
import { abortable, onAbort } from "../shared/async.ts";
import { type Deadline, Deadlines } from "../shared/deadlines.ts";

/** Options of a connection, with the client's role. */
type RoleOptions = ConnectionOptions & { role: Role };

const INTERNAL = new ProtocolError(ErrorCode.INTERNAL_ERROR, "Internal error");

const CLOSED = "close() was called, which is permanent; create another client";

/**
 * A client's connection to a Server: handshake, membership, reconnect (protocol §2, §9).
 *
 * Shared by Agent and Computer. After a lost connection it reconnects with backoff and
 * jitter, and rejoins its office; after a refusal it does not.
 */
export class Connection implements AsyncDisposable {
  readonly #newWire: (listeners: WireListeners) => Wire;
  readonly #events: Emitter<LinkEvents>;
  /** Answers the Server's requests; without a handler, each is refused (protocol §6). */
  #answer: RequestHandler = (event) => {
    const text = `Unexpected event: ${event}`;
    throw new ProtocolError(ErrorCode.BAD_REQUEST, text);
  };
  readonly #onThrow: (error: unknown) => void;
  readonly #membership: Membership;
  /** Identifies this client after a reconnect; not shown to other members (protocol §9). */
  readonly #instanceId = crypto.randomUUID();
  readonly #retry = new Retry();
  readonly #version: VersionChoice;
  /** Opens the route through a proxy, and chooses a version that the Server accepts, where they are not given. */
  #prepare: (() => Promise<void>) | undefined;
  #wire: Wire | undefined;
  /** The last one, which may still be closing. */
  #past: Wire | undefined;
  /** Of the requests in flight. */
  readonly #deadlines = new Deadlines(true);
  #state: ConnectionState = "idle";
  /** Maximum message size in bytes that the Server accepts, as announced in the handshake (protocol §9). */
  maxPayload: number | undefined;
  /** Returns further fields of each join, also after a reconnect. */
  joinFields: () => object = () => ({});
  #opened: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;
  /** Aborted by `close`. */
  readonly #closed = new AbortController();

  /**
   * @param options address, name, role and credentials
   * @param onThrow receives errors of listeners and handlers, for the log
   * @throws {TypeError} when an option is invalid
   */
  constructor(options: RoleOptions, onThrow: (error: unknown) => void) {
    checkOptions(options);
    const { connection, role } = options;
    const events = this.#events = new Emitter(onThrow);
    this.#onThrow = onThrow;
    this.#membership = new Membership(options, {
      ask: (...request) => this.#ask(...request),
      send: (event, payload) => this.send(event, payload),
      joinFields: () => this.joinFields(),
      joined: (joined) => events.emit("joined", joined),
      failed: (failed) => events.emit("rejoinFailed", failed),
    });
    this.#version = new VersionChoice(connection?.protocol ?? options.protocol);
    const client = { role, instance: this.#instanceId };
    this.#newWire = connection
      ? (listeners) => new InProcessWire(connection, client, listeners)
      : this.#overNetwork(options as RoleOptions & UrlOptions);
  }

  #overNetwork(options: RoleOptions & UrlOptions) {
    const findRoute = proxyRoute(options);
    const version = this.#version;
    let route: ProxyRoute | undefined;
    if (findRoute || version.isFree) {
      const { signal } = this.#closed;
      this.#prepare = async () => {
        route = await findRoute?.();
        if (!version.isFree) return;
        version.take(await servedVersions({ options, route, signal }));
      };
    }
    const target = {
      options,
      route: () => route,
      protocol: () => version.current,
      credentials: (give: (auth: Record<string, unknown>) => void) =>
        credentialsOf(options, this.#instanceId).then(
          give,
          (error) => this.#authFailed(error),
        ),
    };
    return (listeners: WireListeners) => new SocketWire(target, listeners);
  }

  /** The state of the connection. */
  get state(): ConnectionState {
    return this.#state;
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
    return this.#version.current;
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
    this.#answer = handler;
  }

  /**
   * Connects; resolves when the Server has accepted this client, immediately if already connected.
   *
   * @throws {ProtocolVersionError} the Server has an incompatible version; no reconnect follows
   * @throws {ProtocolError} the Server refused for another reason
   * @throws {ConnectionError} `unreachable`, `tls`, or `closed` by a call of `close`
   */
  async connect(): Promise<void> {
    this.#checkOpen();
    if (this.#state === "idle" || this.#state === "closed") {
      this.#opened = this.#open();
    }
    return await this.#opened;
  }

  /**
   * Joins an office, and rejoins it after each reconnect until `leave` (protocol §5, §9).
   *
   * @throws {TypeError} when no office can have that name
   * @throws {ConnectionError} `refused` with the Server's reason, `offline`, `lost` or `timeout`
   */
  async join(office: string): Promise<void> {
    checkOffice(office);
    if (this.#state === "closed") throw this.#offline();
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
   * @throws {ConnectionError} `offline`, `lost`, `timeout` or `too_large`: the request or its answer is
   * @throws the signal's reason when it is aborted
   */
  async request(
    event: string,
    payload: object,
    options: RequestOptions,
  ): Promise<unknown> {
    if (this.#state === "closed") throw this.#offline();
    const [answer] = await this.#ask(event, payload, options);
    const error = ProtocolError.fromPayload(answer);
    if (error) throw error;
    return answer;
  }

  /**
   * Sends a request and resolves with every argument of its ack; an answer after an abort is dropped.
   *
   * @param onAck called synchronously with these arguments, before later packets of the Server are read
   * @throws at once where nothing can be sent
   */
  #ask(
    event: string,
    payload: object,
    { timeoutMs, signal, onSent }: RequestOptions,
    onAck?: (args: unknown[]) => void,
  ): Promise<unknown[]> {
    const wire = this.#wire;
    if (!wire?.isOpen) throw this.#offline();
    checkRequest(event, payload, this.maxPayload);
    signal?.throwIfAborted();
    const isLeaving = this.#state === "closed";
    return new Promise((resolve, reject) => {
      const off = signal && onAbort(signal, () => reject(signal.reason));
      const settle = (args?: unknown[]) => {
        off?.();
        if (!wire.isOpen || !isLeaving && this.#state === "closed") {
          const why = `The connection was lost before ${event} was answered`;
          reject(new ConnectionError("lost", why));
        } else if (args === undefined) {
          const why = `${event} was not answered within ${timeoutMs / 1000} s`;
          reject(new ConnectionError("timeout", why));
        } else if (args[0] instanceof ConnectionError) {
          reject(args[0]); // it was too large to be parsed
        } else {
          onAck?.(args);
          resolve(args);
        }
      };
      const now = performance.now();
      const deadline: Deadline & { due: number } = {
        due: now + timeoutMs,
        expire: () => settle(),
      };
      this.#deadlines.add(deadline, now);
      onSent?.((timeoutMs) => this.#deadlines.move(deadline, timeoutMs));
      wire.send(event, payload, (...args) => {
        if (this.#deadlines.remove(deadline)) settle(args);
      });
    });
  }

  /**
   * Handles one event of the Server: answers a request, passes on a known notification, ignores the
   * rest (protocol §3, §6).
   */
  readonly #receive: WireListeners["receive"] = async (
    event,
    args,
    isCurrent,
  ) => {
    const last = args.at(-1);
    if (typeof last === "function") {
      let body: unknown;
      try {
        if (args[0] instanceof ProtocolError) throw args[0]; // too large to be parsed
        body = await this.#answer(event, args[0]);
      } catch (error) {
        const isOfProtocol = error instanceof ProtocolError;
        if (!isOfProtocol) this.#onThrow(error);
        body = (isOfProtocol ? error : INTERNAL).toPayload();
      }
      if (isCurrent()) last(body);
    } else if (isNotification(event)) {
      try {
        if (args[0] instanceof ProtocolError) throw args[0];
        const payload = NOTIFICATIONS[event](args[0]);
        this.#events.emit(
          "notification",
          { event, payload } as AnyNotification,
        );
      } catch (error) {
        this.#onThrow(error); // a later version's payload; the event is ignored
      }
    }
  };

  /**
   * Sends without waiting for an answer; returns false without a connection.
   *
   * @throws {ConnectionError} `too_large`
   */
  send(event: string, payload: object): boolean {
    if (!this.#wire?.isOpen) return false;
    checkRequest(event, payload, this.maxPayload);
    this.#wire.send(event, payload);
    return true;
  }

  /** Whether this client is connected, and in its office if it has one. */
  get isReady(): boolean {
    return this.#wire?.isOpen === true &&
      (this.office === undefined || this.joined);
  }

  /** Resolves when this client is connected, and back in its office if it has one. */
  async ready(signal: AbortSignal): Promise<void> {
    for (;;) {
      if (this.#state === "closed" || this.#state === "idle") {
        throw this.#offline();
      }
      if (this.isReady) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      const offs = (["connected", "joined", "disconnected"] as const)
        .map((event) => this.#events.on(event, () => resolve()));
      await abortable(promise, signal)
        .finally(() => offs.forEach((off) => off()));
    }
  }

  /**
   * Leaves the office and disconnects permanently; pending requests fail with `lost`.
   *
   * Resolves when the seat and the name are free and everything is closed; if the Server does not
   * answer, after a few seconds.
   */
  close(): Promise<void> {
    this.#closed.abort();
    return this.#closing ??= this.#leaveAndClose();
  }

  /** The same as `close`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #leaveAndClose(): Promise<void> {
    this.#state = "closed";
    // Leave first: the Server may notice the end of the connection, and release the seat, only later.
    if (this.#wire?.isOpen && this.#membership.mayBeSeated) {
      await this.#membership.leave(CLOSE_TIMEOUT_MS)
        .catch(() => {}); // the connection ends anyway
    }
    this.#end("closed by this client");
    await this.#past?.whenClosed();
  }

  #offline(): ConnectionError {
    const why = this.#isClosed
      ? CLOSED
      : this.#state === "reconnecting"
      ? "the connection is being restored"
      : "call connect() first";
    return new ConnectionError("offline", `Not connected: ${why}`);
  }

  /** Whether `close` was called, which is permanent. */
  get #isClosed(): boolean {
    return this.#closed.signal.aborted;
  }

  /** Fails the first connect; later the source of tokens may be unavailable for a while, so it retries. */
  #authFailed(error: unknown): void {
    const wire = this.#wire;
    if (this.#state !== "reconnecting" || wire === undefined) {
      return this.#end(`the auth function failed: ${reasonOf(error)}`);
    }
    this.#onThrow(error);
    wire.pause();
    this.#retry.later(() => wire.connect());
  }

  async #open(): Promise<void> {
    this.#state = "connecting";
    this.#version.restart();
    try {
      if (this.#prepare) await this.#prepare(); // else the wire opens in the same tick
    } catch (error) {
      if (!this.#isClosed) this.#state = "idle";
      throw error;
    }
    this.#checkOpen();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const offs = [
      this.#events.on("connected", () => resolve()),
      this.#events.on("disconnected", ({ reason }) => {
        reject(new ConnectionError("closed", `Cannot connect: ${reason}`));
      }),
    ];
    this.#openWire(reject);
    await promise.finally(() => offs.forEach((off) => off()));
  }

  /** @throws {ConnectionError} `close` was called */
  #checkOpen(): void {
    if (this.#isClosed) {
      throw new ConnectionError("closed", `Cannot connect: ${CLOSED}`);
    }
  }

  /** @param failed called when the attempt fails permanently */
  #openWire(failed: (error: Error) => void): void {
    const wire = this.#newWire({
      receive: this.#receive,
      connected: () => this.#onConnect(),
      disconnected: (reason, isRetrying) => {
        if (this.#wire !== wire) return;
        // Lost in its handshake, which is an attempt that failed.
        if (this.#state === "connecting") {
          void this.#onRefusal(wire, new Error(reason), failed);
        } else this.#onDisconnect(reason, isRetrying);
        this.#deadlines.end();
      },
      refused: (cause) => this.#onRefusal(wire, cause, failed),
      limited: (bytes) => this.maxPayload = bytes,
    });
    this.#wire = wire;
    wire.connect();
  }

  async #onRefusal(
    wire: Wire,
    cause: unknown,
    failed: (error: Error) => void,
  ): Promise<void> {
    // The first attempt is the only one, even if its explanation takes longer than a retry's delay.
    if (this.#state === "connecting") wire.stopRetrying();
    const { known, isFinal, failure } = await wire.explain(cause);
    if (this.#wire !== wire || wire.isOpen) return;
    if (this.#state === "closed") return; // by a call of close() meanwhile
    if (this.#version.refused(known)) {
      wire.close();
      return this.#openWire(failed);
    }
    if (this.#state === "reconnecting" && !isFinal) {
      // Socket.IO itself retries only when it reached no Server.
      if (!wire.isRetrying) this.#retry.later(() => wire.connect());
      return;
    }
    const error = await failure();
    if (this.#wire !== wire) return; // closed meanwhile
    failed(error);
    this.#end(error.message);
    if (!(error instanceof ConnectionError)) {
      this.#events.emit("refused", error);
    }
  }

  #onConnect(): void {
    const reconnected = this.#state === "reconnecting";
    this.#state = "connected";
    this.#version.restart();
    this.#retry.reset();
    this.#events.emit("connected", { reconnected });
    this.#membership.restore();
  }

  #onDisconnect(reason: string, isRetrying: boolean): void {
    this.#membership.lost();
    if (!isRetrying || this.#state === "closed") return this.#end(reason);
    this.#state = "reconnecting";
    this.#events.emit("disconnected", { reason, reconnecting: true });
  }

  #end(reason: string): void {
    const wire = this.#wire;
    if (wire === undefined) return;
    this.#wire = undefined;
    this.#state = "closed";
    this.#membership.forget();
    this.#retry.reset();
    wire.close();
    this.#past = wire;
    this.#deadlines.end();
    this.#events.emit("disconnected", { reason, reconnecting: false });
  }
}
