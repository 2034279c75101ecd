import type { Socket } from "socket.io-client";
import type { Role } from "../protocol/payloads/offices.ts";
import { ask } from "./ask.ts";
import { Retry } from "./backoff.ts";
import { whenClosed } from "./closing.ts";
import { checkOptions } from "./check_options.ts";
import {
  credentialsOf,
  type Dial,
  dial,
  explainRefusal,
  watchEngine,
} from "./dial.ts";
import type { Emitter } from "./emitter.ts";
import { ConnectionError } from "./errors.ts";
import { isFinal, unreachable } from "./failures.ts";
import { reasonOf } from "./reason.ts";
import { checkRequest } from "./message_limits.ts";
import { firstOutcome } from "./next_change.ts";
import type {
  ConnectionOptions,
  ConnectionState,
  LinkEvents,
  RequestOptions,
} from "./options.ts";
import { type ProxyRoute, proxyRoute } from "./proxy.ts";
import { listen, type Receiver } from "./receive.ts";
import { type ClientProtocol, VersionChoice } from "./version_choice.ts";

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
 * The socket of a connection: reconnects with backoff and jitter after a loss, but not after a
 * refusal (spec §2, §9).
 */
export class ServerLink {
  readonly #options: RoleOptions;
  readonly #dial: Dial;
  readonly #listeners: LinkListeners;
  /** Identifies this client after a reconnect; not shown to other members (spec §9). */
  readonly #instanceId = crypto.randomUUID();
  readonly #retry = new Retry();
  readonly #version: VersionChoice;
  readonly #findRoute: ReturnType<typeof proxyRoute>;
  #route: ProxyRoute | undefined;
  #socket: Socket | undefined;
  #state: ConnectionState = "idle";
  #maxPayload: number | undefined;
  #opened: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;
  /** Whether `close` was called, which is permanent. */
  #isClosed = false;
  #watchHandshake: (() => void) | undefined;

  /** @throws {TypeError} when an option is invalid */
  constructor(
    options: RoleOptions,
    listeners: LinkListeners,
  ) {
    checkOptions(options);
    this.#findRoute = proxyRoute(options);
    this.#options = options;
    this.#listeners = listeners;
    this.#version = new VersionChoice(options.protocol);
    this.#dial = {
      options,
      route: () => this.#route,
      protocol: () => this.#version.current,
      credentials: (give) =>
        credentialsOf(options, this.#instanceId).then(
          give,
          (error) => this.#authFailed(error),
        ),
    };
  }

  /** The state of the connection. */
  get state(): ConnectionState {
    return this.#state;
  }

  /** Whether there is a connection right now. */
  get isOpen(): boolean {
    return this.#socket?.connected === true;
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

  get #whyOffline(): string {
    if (this.#isClosed) return CLOSED;
    return this.#state === "reconnecting"
      ? "the connection is being restored"
      : "call connect() first";
  }

  /** Connects; resolves when the Server has accepted this client, immediately if already connected. */
  async connect(): Promise<void> {
    if (this.#isClosed) {
      throw new ConnectionError("closed", `Cannot connect: ${CLOSED}`);
    }
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
    this.#isClosed = true;
    if (this.#socket !== undefined && this.#state !== "closed") {
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
    const socket = this.#socket;
    if (!socket?.connected) throw this.offline();
    checkRequest(event, payload, this.#maxPayload);
    const leaving = this.#state === "closed";
    const isLost = () =>
      !socket.connected || !leaving && this.#state === "closed";
    return await ask(socket, event, payload, options, isLost, onAck);
  }

  /** Sends without waiting for an answer; returns false without a connection. */
  send(event: string, payload: object): boolean {
    const socket = this.#socket;
    if (!socket?.connected) return false;
    checkRequest(event, payload, this.#maxPayload);
    socket.emit(event, payload);
    return true;
  }

  /** Fails the first connect; later the source of tokens may be unavailable for a while, so it retries. */
  #authFailed(error: unknown): void {
    const socket = this.#socket;
    if (this.#state !== "reconnecting" || socket === undefined) {
      return this.#end(`the auth function failed: ${reasonOf(error)}`);
    }
    this.#listeners.receiver.onThrow(error);
    socket.disconnect();
    this.#connectLater(socket);
  }

  async #leaveAndClose(
    leave: () => Promise<void> | undefined,
  ): Promise<void> {
    const socket = this.#socket;
    this.#state = "closed";
    // Leave first: the Server may notice the end of the connection, and release the seat, only later.
    const leaving = socket?.connected ? leave() : undefined;
    if (leaving) await leaving.catch(() => {}); // the connection ends anyway
    const gone = whenClosed(socket);
    this.#end("closed by this client");
    await gone;
  }

  async #open(): Promise<void> {
    this.#state = "connecting";
    this.#version.restart();
    if (this.#findRoute) await this.#takeRoute(this.#findRoute);
    const first = firstOutcome(this.#listeners.events);
    this.#openSocket(first.fail);
    await first.done;
  }

  async #takeRoute(find: () => Promise<ProxyRoute>): Promise<void> {
    try {
      this.#route = await find();
    } catch (error) {
      if (!this.#isClosed) this.#state = "idle";
      throw error;
    }
    if (this.#isClosed) {
      throw new ConnectionError("closed", `Cannot connect: ${CLOSED}`);
    }
  }

  /** @param failed called when the attempt fails permanently */
  #openSocket(failed: (error: Error) => void): void {
    const socket = dial(this.#dial);
    this.#socket = socket;
    socket.on("connect", () => this.#onConnect());
    socket.on("disconnect", (reason) => this.#onDisconnect(socket, reason));
    const refused = async (error: unknown) => {
      // The first attempt is the only one, even if its explanation takes longer than a retry's delay.
      if (this.#state === "connecting") socket.io.reconnection(false);
      const { known, cause } = await explainRefusal(this.#dial, error);
      if (this.#socket !== socket || socket.connected) return;
      if (this.#state === "closed") return; // by a call of close() meanwhile
      if (this.#version.refused(known)) {
        socket.removeAllListeners().disconnect();
        return this.#openSocket(failed);
      }
      if (this.#state === "reconnecting" && !isFinal(known)) {
        if (!socket.active) this.#connectLater(socket);
        return;
      }
      const failure = known ??
        await unreachable(this.#options, cause, this.#route);
      if (this.#socket !== socket) return; // closed meanwhile
      failed(failure);
      this.#end(failure.message);
      if (!(failure instanceof ConnectionError)) {
        this.#listeners.events.emit("refused", failure);
      }
    };
    socket.on("connect_error", refused);
    listen(socket, this.#listeners.receiver);
    socket.connect();
    this.#watchHandshake = watchEngine(socket, {
      found: (bytes) => this.#maxPayload = bytes,
      mismatched: refused,
    });
  }

  #onConnect(): void {
    const reconnected = this.#state === "reconnecting";
    this.#state = "connected";
    this.#version.restart();
    this.#retry.reset();
    this.#listeners.events.emit("connected", { reconnected });
    this.#listeners.connected();
  }

  #onDisconnect(socket: Socket, reason: string): void {
    if (this.#socket !== socket) return;
    this.#listeners.lost();
    // Queued packets would be sent before this client is back in its office.
    socket.sendBuffer = [];
    const isClosing = this.#state === "closed";
    if (!socket.active || isClosing) return this.#end(reason);
    this.#state = "reconnecting";
    this.#listeners.events.emit("disconnected", { reason, reconnecting: true });
  }

  /** Reconnects after a refusal; Socket.IO itself retries only when it reached no Server. */
  #connectLater(socket: Socket): void {
    this.#retry.later(() => {
      socket.connect();
      this.#watchHandshake?.();
    });
  }

  #end(reason: string): void {
    const socket = this.#socket;
    if (socket === undefined) return;
    this.#socket = undefined;
    this.#state = "closed";
    this.#listeners.ended();
    this.#retry.reset();
    socket.disconnect();
    this.#listeners.events.emit("disconnected", {
      reason,
      reconnecting: false,
    });
  }
}
