/**
 * What the server needs of the connections and sessions of its clients, from any engine: stock
 * Engine.IO and Socket.IO for `listen()`, and an engine of our own behind `fetch`.
 *
 * @module
 */
import type { Exchange, RequestHead } from "../shared/http.ts";
import type { PacketDecoder, PacketGuard } from "./packet_decoder.ts";
import type { Buffer } from "node:buffer";
import type { IncomingHttpHeaders } from "node:http";
import { EventEmitter } from "node:events";
import type { ByteRange, DecodedText, JsonText } from "./json_text.ts";

/** The data of a packet. */
export type PacketData = string | ArrayBuffer | ArrayBufferView;

/** The events of a {@linkcode WireConnection}. */
export interface ConnectionEvents {
  /** A packet came from the client. */
  packet(packet: { readonly data?: unknown }): void;
  /** A packet was queued. */
  packetCreate(packet: { readonly data?: unknown }): void;
  /** The transport takes all that is queued. */
  flush(): void;
  /** It has taken it. */
  drain(): void;
  /** The client has changed from polling to a WebSocket. */
  upgrade(): void;
  /** It is closed; once. */
  close(reason: string): void;
}

/** A client's connection of Engine.IO, over polling or a WebSocket. */
export interface WireConnection {
  /** The request that opened it. */
  readonly request: RequestHead;
  /** The address of the other end, which may be a proxy. */
  readonly remoteAddress: string;
  /** Whether packets pass in both directions: it is neither closed nor closing. */
  readonly isOpen: boolean;
  /** Whether the transport takes packets right now. */
  readonly isWritable: boolean;
  /** Whether packets wait for the transport. */
  readonly hasQueued: boolean;
  /** Whether a ping was sent without a pong so far. */
  readonly isPongDue: boolean;
  /** Whether it is open, and anything has come from the client since the last ping. */
  readonly isKnownAlive: boolean;
  /** Queues a message; nothing unless it is open. */
  write(data: PacketData): unknown;
  /**
   * Closes it, once all that is queued is sent.
   *
   * @param discard whether nothing more is sent
   */
  close(discard?: boolean): unknown;
  /** Allows messages of full size on its WebSocket; returns that, if it gives and takes bytes. */
  admit(): TapSocket | undefined;
  /**
   * Disconnects the client when more than `maxBytes` are queued in its WebSocket.
   *
   * @returns whether there is one with a queue of its own
   */
  limitQueue(maxBytes: number, cutOff: CutOff): boolean;
  /** Pauses or resumes reading its WebSocket, where that can pause. */
  hold?(held: boolean): void;
  /** Calls back when nothing of the closed connection is left on this side. */
  whenGone(gone: () => void): void;
  /** Returns what its WebSocket has carried, where that is known; `undefined` over polling. */
  carried?(): Carried | undefined;
  /** Adds a listener. */
  on<E extends keyof ConnectionEvents>(
    event: E,
    listener: ConnectionEvents[E],
  ): unknown;
  /** Removes a listener. */
  off<E extends keyof ConnectionEvents>(
    event: E,
    listener: ConnectionEvents[E],
  ): unknown;
}

/** What the connection of a client has carried. */
export interface Carried {
  /** Bytes from the client. */
  readonly received: number;
  /** Bytes to the client. */
  readonly sent: number;
  /** Bytes that wait for the client to read. */
  readonly queued: number;
}

/** A client's socket of Socket.IO, in the namespace of the protocol. */
export interface ClientSocket {
  /** Its id, which is not that of the connection. */
  readonly id: string;
  /** The connection. */
  readonly conn: WireConnection;
  /** Whether it is in the namespace. */
  readonly connected: boolean;
  /** The decoder of the connection, which offers packets to the session. */
  readonly decoder: PacketDecoder | undefined;
  /** Makes the client leave, and closes the connection. */
  disconnect(): void;
  /** Calls back when it has left the namespace. */
  once(event: "disconnect", left: () => void): unknown;
}

/** Why a client gets no session; it gets both. */
interface ConnectError extends Error {
  /** The error as the protocol has it. */
  readonly data?: unknown;
}

/** Checks what a connection sends. */
export interface ConnectionGuard extends PacketGuard {
  /** Returns what checks the body of a POST as it arrives: all of it is decoded in one turn. */
  watch(): (part: string | Uint8Array) => void;
}

/** Decides about clients, and takes them. */
export interface Reception {
  /** Called with each new connection, before it is read; returns its guard. */
  opened(connection: WireConnection): ConnectionGuard;
  /**
   * Decides about a client that asks for the namespace of the protocol.
   *
   * @param auth its credentials, which are not to be kept
   * @returns the error if it gets no session, otherwise what begins it: to be called when it is
   * connected, in the same turn, or events are lost
   */
  admit(
    socket: ClientSocket,
    auth: Record<string, unknown>,
  ): Promise<ConnectError | (() => void)>;
  /** Returns the error for a client that asks for another namespace, and notes it. */
  elsewhere(connection: WireConnection): ConnectError;
  /** Notes a request that Engine.IO refused. */
  refused(request: RequestHead, code: number, message: string): void;
}

/** Pings of the server; both values are sent to clients, which detect a lost server with them. */
export interface Heartbeat {
  /** Milliseconds between two pings. */
  readonly intervalMs: number;
  /** Milliseconds that a client has to answer one. */
  readonly timeoutMs: number;
}

/** Options of every engine. */
export interface EngineOptions {
  /** Maximum size of a client's message. */
  readonly maxMessageBytes: number;
  readonly heartbeat: Heartbeat;
  /** What the ids of sessions begin with, so that they name their node. */
  readonly sessionPrefix: string | undefined;
}

/** What provides connections. */
export interface ClientEngine {
  /** The open connections. */
  readonly connections: Iterable<WireConnection>;
  /** Takes clients from now on; called once, before the first request. */
  serve(reception: Reception): void;
  /**
   * Answers an Engine.IO request that may pass.
   *
   * @param headers of an answer that is not returned, but written to the exchange
   */
  answer(
    exchange: Exchange,
    headers: Readonly<Record<string, string>>,
  ): Response | Promise<Response>;
  /** Ends all sessions, then all connections. */
  close(): Promise<void>;
}

/** A text message to many peers. */
export interface SharedText {
  readonly text: string;
  /** The message as a frame, which the first socket that writes frames adds; never changed. */
  frame?: Buffer;
}

/** Called with the limit for which a peer is disconnected. */
export type CutOff = (limit: "queuedBytes" | "unfinishedBytes") => void;

/** Maximum bytes queued for a peer without a session, which gets little more than pongs. */
const MAX_EARLY_QUEUE_BYTES = 65_536;

/** A connection with a queue, such as a socket. */
interface Outlet {
  /** Whether something can be sent. */
  readonly writable: boolean;
  /** Bytes that are queued. */
  readonly writableLength: number;
  /** Queues a message; calls back when it was taken, or the connection has failed. */
  write(message: string | Uint8Array, sent?: () => void): unknown;
  /** Ends the connection. */
  destroy(): unknown;
  /** Holds what is written, until `uncork` sends it together. */
  cork?(): void;
  uncork?(): void;
}

/** The connections whose messages are held until the end of this turn. */
const corked = new Set<{ uncork?(): void }>();

function uncork(): void {
  for (const socket of corked) socket.uncork?.();
  corked.clear();
}

/**
 * The server's end of a WebSocket, with the interface of `ws` that Engine.IO expects, and a way around
 * Engine.IO for the messages of a session. Limits the size of messages, and the bytes queued for a peer
 * that does not read.
 */
export abstract class TapSocket extends EventEmitter {
  /** Handles a text message ahead of Engine.IO; returns whether it did. */
  tap: ((message: ByteRange | DecodedText) => boolean) | undefined;
  /** Called when a part of an unfinished message arrives. */
  progress: (() => void) | undefined;
  /** Maximum size of a message in bytes; smaller before the peer has a session. */
  maxPayload: number;
  /** What carries the messages; Engine.IO reads the peer's address from the field of this name. */
  abstract readonly _socket: Outlet;
  /** Whether nothing more is sent. */
  protected isClosing = false;
  /** Called once, just before the disconnect. */
  protected cutOff: CutOff | undefined = nothing;
  readonly #maxAdmitted: number;
  #maxQueued = MAX_EARLY_QUEUE_BYTES;

  constructor(maxPayload: number, earlyPayload: number) {
    super();
    this.maxPayload = Math.min(maxPayload, earlyPayload);
    this.#maxAdmitted = maxPayload;
    // Do not read yet: Engine.IO adds its listeners later, and earlier messages would be lost.
    this.on("newListener", startReading);
  }

  /** Passes on messages from now on, never synchronously. */
  abstract start(): void;

  /** Sends a text message of `head`, which is ASCII, `body` and `]`. */
  abstract sendJson(head: string, body: JsonText): void;

  /** Sends a message that others get too; it is encoded once. */
  abstract sendShared(message: SharedText): void;

  /** Allows messages of full size: the peer has a session. */
  admit(): void {
    this.maxPayload = this.#maxAdmitted;
  }

  /**
   * Disconnects the peer when more than `maxBytes` are queued; a single message may be larger. Until
   * this is called, the limit is 64 KiB.
   *
   * @param cutOff called once, just before the disconnect
   */
  limitQueue(maxBytes: number, cutOff: CutOff): void {
    this.#maxQueued = maxBytes;
    this.cutOff = cutOff;
  }

  /**
   * Sends a message, or drops it if the connection is closing.
   *
   * @param length its bytes
   * @param sent called when the connection has taken it or has failed; not for a dropped message
   */
  protected write(
    message: string | Uint8Array,
    length: number = message.length,
    sent?: () => void,
  ): void {
    const socket = this._socket;
    if (this.isClosing || !socket.writable) return;
    const waiting = socket.writableLength;
    if (waiting > 0 && waiting + length > this.#maxQueued) {
      return this.#overflow();
    }
    // Sends in one write what is written while one chunk is read: writes cost most.
    if (socket.cork && !corked.has(socket)) {
      socket.cork();
      if (corked.size === 0) queueMicrotask(uncork);
      corked.add(socket);
    }
    socket.write(message, sent);
  }

  /** A function of its own, so that a message which fits creates no closure. */
  #overflow(): void {
    const { cutOff } = this;
    this.cutOff = undefined;
    // Deferred: the code that sends this message does not expect the connection to close meanwhile.
    if (cutOff) {
      queueMicrotask(() => {
        cutOff("queuedBytes");
        this._socket.destroy();
      });
    }
  }
}

// Shared functions instead of closures save memory for each of many sockets.
function startReading(this: TapSocket, event: string | symbol): void {
  if (event !== "message") return;
  this.off("newListener", startReading);
  this.start();
}
function nothing(): void {}

/** A key: 16 bytes in Base64. */
const KEY = /^[+/0-9A-Za-z]{22}==$/;

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** Returns whether a request asks for a WebSocket as RFC 6455 §4.2.1 defines it. */
export function asksForWebSocket(
  method: string | undefined,
  headers: IncomingHttpHeaders,
): boolean {
  const key = headers["sec-websocket-key"];
  return method === "GET" &&
    headers.upgrade?.toLowerCase() === "websocket" &&
    key !== undefined && KEY.test(key) &&
    headers["sec-websocket-version"] === "13";
}

/** Returns the first valid subprotocol; browsers expect one of those that they offered. */
export const firstProtocol = (
  offered: string | undefined,
): string | undefined =>
  offered?.split(",").map((each) => each.trim()).find((each) =>
    TOKEN.test(each)
  );
