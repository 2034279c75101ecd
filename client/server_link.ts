import type { Role } from "../protocol/payloads/offices.ts";
import {
  ask,
  type Receiver,
  Retry,
  type Wire,
  type WireListeners,
} from "./wire.ts";
import { checkOptions } from "./check_options.ts";
import { credentialsOf, SocketWire } from "./socket_wire.ts";
import { type Emitter, firstOutcome } from "./emitter.ts";
import { ConnectionError, reasonOf } from "./errors.ts";
import { InProcessWire } from "./in_process_wire.ts";
import { checkRequest } from "./message_limits.ts";
import type {
  ConnectionOptions,
  ConnectionState,
  LinkEvents,
  RequestOptions,
  UrlOptions,
} from "./options.ts";
import type { ProxyRoute } from "./proxy.ts";
import {
  type ClientProtocol,
  servedVersions,
  VersionChoice,
} from "./versions.ts";
import { proxyRoute } from "./node_way.ts";

/** Options of a connection, with the client's role. */
export type RoleOptions = ConnectionOptions & { role: Role };

/** Callbacks of a {@linkcode ServerLink}. */
export interface LinkListeners {
  /** The listeners of the connection. */
  readonly events: Emitter<LinkEvents>;
  /** Handles the Server's events. */
  readonly receiver: Receiver;
  /** Called after the event `connected`. */
  connected(): void;
  /** Called when the connection is lost, before the event `disconnected`. */
  lost(): void;
  /** Called when the connection has ended permanently, before the event `disconnected`. */
  ended(): void;
}

const CLOSED = "close() was called, which is permanent; create another client";

/**
 * The wire of a connection: reconnects with backoff and jitter after a loss, but not after a
 * refusal (spec §2, §9).
 */
export class ServerLink {
  readonly #newWire: (listeners: WireListeners) => Wire;
  readonly #listeners: LinkListeners;
  /** Identifies this client after a reconnect; not shown to other members (spec §9). */
  readonly #instanceId = crypto.randomUUID();
  readonly #retry = new Retry();
  readonly #version: VersionChoice;
  #findRoute: ReturnType<typeof proxyRoute>;
  /** Asks for the versions that the Server lets in, where they decide. */
  #findVersions: (() => Promise<readonly string[]>) | undefined;
  #route: ProxyRoute | undefined;
  #wire: Wire | undefined;
  #state: ConnectionState = "idle";
  #maxPayload: number | undefined;
  #opened: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;
  /** Aborted by `close`. */
  readonly #closed = new AbortController();

  /** @throws {TypeError} when an option is invalid */
  constructor(
    options: RoleOptions,
    listeners: LinkListeners,
  ) {
    checkOptions(options);
    const { connection, role } = options;
    this.#listeners = listeners;
    this.#version = new VersionChoice(connection?.protocol ?? options.protocol);
    const client = { role, instance: this.#instanceId };
    this.#newWire = connection
      ? (listeners) => new InProcessWire(connection, client, listeners)
      : this.#overNetwork(options as RoleOptions & UrlOptions);
  }

  #overNetwork(options: RoleOptions & UrlOptions) {
    this.#findRoute = proxyRoute(options);
    if (this.#version.isFree) {
      const { signal } = this.#closed;
      this.#findVersions = () =>
        servedVersions({ options, route: this.#route, signal });
    }
    const target = {
      options,
      route: () => this.#route,
      protocol: () => this.#version.current,
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

  /** Whether there is a connection right now. */
  get isOpen(): boolean {
    return this.#wire?.isOpen === true;
  }

  /** Maximum message size in bytes that the Server accepts, as announced in the handshake. */
  get maxPayload(): number | undefined {
    return this.#maxPayload;
  }

  /** The protocol version of the connection, or of the next attempt. */
  get protocol(): ClientProtocol {
    return this.#version.current;
  }

  /** Creates the error for a request without a connection. */
  offline(): ConnectionError {
    return new ConnectionError("offline", `Not connected: ${this.#whyOffline}`);
  }

  /** Whether `close` was called, which is permanent. */
  get #isClosed(): boolean {
    return this.#closed.signal.aborted;
  }

  get #whyOffline(): string {
    if (this.#isClosed) return CLOSED;
    return this.#state === "reconnecting"
      ? "the connection is being restored"
      : "call connect() first";
  }

  /** Connects; resolves when the Server has accepted this client, immediately if already connected. */
  async connect(): Promise<void> {
    this.#checkOpen();
    if (this.#state === "idle" || this.#state === "closed") {
      this.#opened = this.#open();
    }
    return await this.#opened;
  }

  /**
   * Disconnects permanently; resolves when everything is closed.
   *
   * @param leave leaves the office, if there may be a seat to release; called only while there is a
   * connection
   */
  close(leave: () => Promise<void> | undefined): Promise<void> {
    this.#closed.abort();
    if (this.#wire !== undefined && this.#state !== "closed") {
      this.#closing = this.#leaveAndClose(leave)
        .finally(() => this.#closing = undefined);
    }
    this.#state = "closed";
    return this.#closing ?? Promise.resolve();
  }

  /** Sends a request; resolves with every argument of its ack. */
  async ask(
    event: string,
    payload: object,
    options: RequestOptions,
    onAck?: (args: unknown[]) => void,
  ): Promise<unknown[]> {
    const wire = this.#wire;
    if (!wire?.isOpen) throw this.offline();
    checkRequest(event, payload, this.#maxPayload);
    const leaving = this.#state === "closed";
    const isLost = () => !wire.isOpen || !leaving && this.#state === "closed";
    return await ask(wire, { event, payload, options, isLost, onAck });
  }

  /** Sends without waiting for an answer; returns false without a connection. */
  send(event: string, payload: object): boolean {
    const wire = this.#wire;
    if (!wire?.isOpen) return false;
    checkRequest(event, payload, this.#maxPayload);
    wire.send(event, payload);
    return true;
  }

  /** Fails the first connect; later the source of tokens may be unavailable for a while, so it retries. */
  #authFailed(error: unknown): void {
    const wire = this.#wire;
    if (this.#state !== "reconnecting" || wire === undefined) {
      return this.#end(`the auth function failed: ${reasonOf(error)}`);
    }
    this.#listeners.receiver.onThrow(error);
    wire.pause();
    this.#connectLater(wire);
  }

  async #leaveAndClose(
    leave: () => Promise<void> | undefined,
  ): Promise<void> {
    const wire = this.#wire;
    this.#state = "closed";
    // Leave first: the Server may notice the end of the connection, and release the seat, only later.
    const leaving = wire?.isOpen ? leave() : undefined;
    if (leaving) await leaving.catch(() => {}); // the connection ends anyway
    this.#end("closed by this client");
    await wire?.whenClosed();
  }

  async #open(): Promise<void> {
    this.#state = "connecting";
    this.#version.restart();
    if (this.#findRoute) await this.#takeRoute(this.#findRoute);
    if (this.#findVersions) {
      this.#version.take(await this.#findVersions());
      this.#checkOpen();
    }
    const first = firstOutcome(this.#listeners.events);
    this.#openWire(first.fail);
    await first.done;
  }

  async #takeRoute(find: () => Promise<ProxyRoute>): Promise<void> {
    try {
      this.#route = await find();
    } catch (error) {
      if (!this.#isClosed) this.#state = "idle";
      throw error;
    }
    this.#checkOpen();
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
      receiver: this.#listeners.receiver,
      connected: () => this.#onConnect(),
      disconnected: (reason, isRetrying) => {
        if (this.#wire !== wire) return;
        // Lost in its handshake, which is an attempt that failed.
        if (this.#state === "connecting") {
          void this.#onRefusal(wire, new Error(reason), failed);
        } else this.#onDisconnect(reason, isRetrying);
      },
      refused: (cause) => this.#onRefusal(wire, cause, failed),
      limited: (bytes) => this.#maxPayload = bytes,
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
      if (!wire.isRetrying) this.#connectLater(wire);
      return;
    }
    const error = await failure();
    if (this.#wire !== wire) return; // closed meanwhile
    failed(error);
    this.#end(error.message);
    if (!(error instanceof ConnectionError)) {
      this.#listeners.events.emit("refused", error);
    }
  }

  #onConnect(): void {
    const reconnected = this.#state === "reconnecting";
    this.#state = "connected";
    this.#version.restart();
    this.#retry.reset();
    this.#listeners.events.emit("connected", { reconnected });
    this.#listeners.connected();
  }

  #onDisconnect(reason: string, isRetrying: boolean): void {
    this.#listeners.lost();
    const isClosing = this.#state === "closed";
    if (!isRetrying || isClosing) return this.#end(reason);
    this.#state = "reconnecting";
    this.#listeners.events.emit("disconnected", { reason, reconnecting: true });
  }

  /** Reconnects after a refusal; Socket.IO itself retries only when it reached no Server. */
  #connectLater(wire: Wire): void {
    this.#retry.later(() => wire.connect());
  }

  #end(reason: string): void {
    const wire = this.#wire;
    if (wire === undefined) return;
    this.#wire = undefined;
    this.#state = "closed";
    this.#listeners.ended();
    this.#retry.reset();
    wire.close();
    this.#listeners.events.emit("disconnected", {
      reason,
      reconnecting: false,
    });
  }
}
