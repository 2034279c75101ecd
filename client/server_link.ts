import type { Socket } from "socket.io-client";
import type { Role } from "../protocol/payloads/offices.ts";
import { ask } from "./ask.ts";
import { Retry } from "./backoff.ts";
import { whenClosed } from "./closing.ts";
import {
  credentialsOf,
  type Dial,
  dial,
  explainRefusal,
  watchMaxPayload,
} from "./dial.ts";
import type { Emitter } from "./emitter.ts";
import { ConnectionError } from "./errors.ts";
import { isFinal, offline, unreachable } from "./failures.ts";
import { reasonOf } from "./reason.ts";
import { checkRequest } from "./message_limits.ts";
import { firstOutcome } from "./next_change.ts";
import type {
  ConnectionEvents,
  ConnectionOptions,
  ConnectionState,
  RequestOptions,
} from "./options.ts";
import { listen, type Receiver } from "./receive.ts";
import { checkTls } from "./tls/tls.ts";
import { parseServerUrl } from "./url.ts";

/** Options of a connection, with the client's role. */
export type SignedOptions = ConnectionOptions & { role: Role };

/** Callbacks of a {@linkcode ServerLink}. */
export interface LinkFollowers {
  /** Hears of each change; the connection's own listeners. */
  readonly events: Emitter<ConnectionEvents>;
  /** Takes what the Server sends. */
  readonly receiver: Receiver;
  /** The Server let this client in, which is known by now. */
  connected(): void;
  /** The connection is gone, which is not known yet. */
  lost(): void;
  /** It will not come back, which is not known yet. */
  ended(): void;
}

/**
 * The socket of a connection: reconnects with backoff and jitter after a loss, but not after a
 * refusal (spec §2, §9).
 */
export class ServerLink {
  readonly #options: SignedOptions;
  readonly #dial: Dial;
  readonly #followers: LinkFollowers;
  /** Says that a later socket is the same instance coming back; shown to nobody (spec §9). */
  readonly #instanceId = crypto.randomUUID();
  readonly #retry = new Retry();
  #socket: Socket | undefined;
  #state: ConnectionState = "idle";
  #maxPayload: number | undefined;
  #opened: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;
  /** Counts calls of `close`: they overtake a `connect` that waits for the one before. */
  #closes = 0;
  #watchHandshake: (() => void) | undefined;

  /** @throws {TypeError} when the URL or the certificates cannot be used */
  constructor(
    options: SignedOptions,
    followers: LinkFollowers,
  ) {
    parseServerUrl(options.url);
    checkTls(options.tls, options.url);
    this.#options = options;
    this.#followers = followers;
    this.#dial = {
      options,
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

  /** Bytes of the largest message that the Server takes, as it said at the handshake. */
  get maxPayload(): number | undefined {
    return this.#maxPayload;
  }

  /** Connects; resolves once the Server accepted this client, at once if already connected. */
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
   * Disconnects for good; resolves when nothing is left open.
   *
   * @param leave leaves the office first, where there may be a seat to give up; asked only while
   * there is a connection
   */
  close(leave: () => Promise<void> | undefined): Promise<void> {
    this.#closes++;
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

  /** Sends without waiting for an answer; returns false without a connection. */
  send(event: string, payload: object): boolean {
    const socket = this.#socket;
    if (!socket?.connected) return false;
    checkRequest(event, payload, this.#maxPayload);
    socket.emit(event, payload);
    return true;
  }

  /** Where tokens come from may be out of order for a while: only the first connect fails of it. */
  #authFailed(error: unknown): void {
    const socket = this.#socket;
    if (this.#state !== "reconnecting" || socket === undefined) {
      return this.#end(`the auth function failed: ${reasonOf(error)}`);
    }
    this.#followers.receiver.onThrow(error);
    socket.disconnect();
    this.#connectLater(socket);
  }

  async #leaveAndClose(
    leave: () => Promise<void> | undefined,
  ): Promise<void> {
    const socket = this.#socket;
    this.#state = "closed";
    // The Server frees the seat of a connection that ends when it notices, and not in this moment.
    const leaving = socket?.connected ? leave() : undefined;
    if (leaving) await leaving.catch(() => {}); // the connection ends all the same
    const gone = whenClosed(socket);
    this.#end("closed by this client");
    await gone;
  }

  async #open(): Promise<void> {
    this.#state = "connecting";
    const socket = dial(this.#dial);
    this.#socket = socket;
    const first = firstOutcome(this.#followers.events);
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
        this.#followers.events.emit("refused", failure);
      }
    });
    listen(socket, this.#followers.receiver);
    socket.connect();
    const found = (bytes: number) => this.#maxPayload = bytes;
    this.#watchHandshake = watchMaxPayload(socket, found);
    await first.done;
  }

  #onConnect(): void {
    const reconnected = this.#state === "reconnecting";
    this.#state = "connected";
    this.#retry.reset();
    this.#followers.events.emit("connected", { reconnected });
    this.#followers.connected();
  }

  #onDisconnect(socket: Socket, reason: string): void {
    if (this.#socket !== socket) return;
    this.#followers.lost();
    // What waits to be sent would go out before this client is back in its office.
    socket.sendBuffer = [];
    const isClosing = this.#state === "closed";
    if (!socket.active || isClosing) return this.#end(reason);
    this.#state = "reconnecting";
    this.#followers.events.emit("disconnected", { reason, reconnecting: true });
  }

  /** Socket.IO tries again by itself only when no Server was reached, not when one said no. */
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
    this.#followers.ended();
    this.#retry.reset();
    socket.disconnect();
    this.#followers.events.emit("disconnected", {
      reason,
      reconnecting: false,
    });
  }
}
