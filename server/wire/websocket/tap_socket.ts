import type { Buffer } from "node:buffer";
import { EventEmitter } from "node:events";
import type { IncomingHttpHeaders } from "node:http";
import type { ByteRange, DecodedText, JsonText } from "../json/text_packet.ts";
import type { CutOff } from "./send_queue.ts";

/** Handles a text message ahead of Engine.IO; returns whether it did. */
type Tap = (message: ByteRange | DecodedText) => boolean;

/** A text message to many peers. */
export interface SharedText {
  readonly text: string;
  /** The message as a frame, which the first socket that writes frames adds; never changed. */
  frame?: Buffer;
}

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

  /** Sends a message that others get too; it is encoded once. */
  abstract sendShared(message: SharedText): void;
}

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
