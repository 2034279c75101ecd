/**
 * What the server needs of the connections and sessions of its clients, whoever provides them: stock
 * Engine.IO and Socket.IO for `listen()`, and an engine of our own behind `fetch`.
 *
 * @module
 */
import type { Exchange, RequestHead } from "../shared/http.ts";
import type { PacketDecoder, PacketGuard } from "./packet/packet_decoder.ts";
import type { CutOff } from "./websocket/send_queue.ts";
import type { TapSocket } from "./websocket/tap_socket.ts";

/** The data of a packet. */
export type PacketData = string | ArrayBuffer | ArrayBufferView;

/** The events of a {@linkcode Connection}. */
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
export interface Connection {
  /** The request that opened it. */
  readonly request: RequestHead;
  /** The address of the other end, which may be a proxy. */
  readonly remoteAddress: string;
  /** Whether packets pass in both directions: it is neither closed nor told to close. */
  readonly isOpen: boolean;
  /** Whether the transport takes packets right now. */
  readonly isWritable: boolean;
  /** Whether packets wait for the transport. */
  readonly hasQueued: boolean;
  /** Whether a ping was sent without a pong so far. */
  readonly isPongDue: boolean;
  /** Whether anything has come from the client since the last ping. */
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
  readonly conn: Connection;
  /** Whether it is in the namespace. */
  readonly connected: boolean;
  /** The decoder of the connection, which offers packets to the session. */
  readonly decoder: PacketDecoder | undefined;
  /** Tells the client to leave, and closes the connection. */
  disconnect(): void;
  /** Calls back when it has left the namespace. */
  once(event: "disconnect", left: () => void): unknown;
}

/** Why a client gets no session; it gets both. */
export interface ConnectError extends Error {
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
  opened(connection: Connection): ConnectionGuard;
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
  elsewhere(connection: Connection): ConnectError;
  /** Notes a request that Engine.IO refused. */
  refused(request: RequestHead, code: number, message: string): void;
}

/** What provides connections. */
export interface ClientEngine {
  /** The open connections. */
  readonly connections: Iterable<Connection>;
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
