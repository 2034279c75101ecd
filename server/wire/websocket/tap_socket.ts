import { EventEmitter } from "node:events";
import type { ByteRange, JsonText } from "../json/json_text.ts";
import type { CutOff } from "./send_queue.ts";

/** Handles a text message ahead of Engine.IO; returns whether it did. */
export type Tap = (message: ByteRange) => boolean;

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
