import { EventEmitter } from "node:events";
import type { Socket as Connection } from "engine.io";
import { Socket } from "node:net";
import type { IncomingHttpHeaders } from "node:http";
import type { ByteRange, JsonText } from "../json/text_packet.ts";
import type { CutOff } from "./frame_socket.ts";
import { carrierOf, webSocketOf } from "../stock.ts";

/** Handles a text message ahead of Engine.IO; returns whether it did. */
type Tap = (message: ByteRange) => boolean;

/**
 * The server's end of a WebSocket, with the interface of `ws` that Engine.IO expects, and a way around
 * Engine.IO for the messages of a session.
 */
export abstract class TapSocket extends EventEmitter {
  /** Handles text messages ahead of Engine.IO. */
  tap: Tap | undefined;
  /** Called when a part of an unfinished message arrives. */
  progress: (() => void) | undefined;

  /** Allows messages of full size: the peer has a session. */
  abstract admit(): void;

  /**
   * Disconnects the peer when more than `maxBytes` are queued; a single message may be larger.
   *
   * @param cutOff called once, just before the disconnect
   */
  abstract limitQueue(maxBytes: number, cutOff: CutOff): void;

  /** Sends a text message of `head` and `tail`, both ASCII, around `body`. */
  abstract sendJson(head: string, body: JsonText, tail: string): void;

  /** Calls back when the closed connection takes nothing of this process any more. */
  abstract whenGone(gone: () => void): void;
}

/**
 * Disconnects the client of a WebSocket when more than `maxBytes` are queued.
 *
 * @param cutOff called once, just before the disconnect
 * @returns whether it is a WebSocket with a queue of its own; other transports have their queue in Engine.IO
 */
export function limitQueue(
  transport: Connection["transport"],
  maxBytes: number,
  cutOff: CutOff,
): boolean {
  const socket = webSocketOf(transport);
  if (!(socket instanceof TapSocket)) return false;
  socket.limitQueue(maxBytes, cutOff);
  return true;
}

/**
 * Calls back when nothing of a closed transport is left on this side: at once, unless it is a WebSocket
 * that the platform does not let the server cut off.
 */
export function whenGone(
  transport: Connection["transport"],
  gone: () => void,
): void {
  const socket = webSocketOf(transport);
  if (socket instanceof TapSocket) socket.whenGone(gone);
  else gone();
}

/**
 * Pauses or resumes reading a connection.
 *
 * Works for WebSockets of either engine; over polling, each POST is limited anyway.
 */
export function holdReading({ transport }: Connection, held: boolean): void {
  const socket = webSocketOf(transport);
  if (!isPausable(socket)) return;
  if (held) socket.pause();
  else socket.resume();
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

/**
 * Returns what the connection of a WebSocket has carried; `undefined` over polling, whose connections
 * come and go. The runtime counts it at no other cost.
 */
export function carriedBy({ transport }: Connection): Carried | undefined {
  const carrier = carrierOf(webSocketOf(transport));
  return carrier instanceof Socket
    ? {
      received: carrier.bytesRead,
      sent: carrier.bytesWritten,
      queued: carrier.writableLength,
    }
    : undefined;
}

const isPausable = (
  socket: unknown,
): socket is { pause(): void; resume(): void } =>
  socket instanceof Object && "pause" in socket && "resume" in socket;

/** A key: 16 bytes in Base64. */
const KEY = /^[+/0-9A-Za-z]{22}==$/;

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** Returns whether a request asks for a WebSocket as RFC 6455 §4.2.1 says. */
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
