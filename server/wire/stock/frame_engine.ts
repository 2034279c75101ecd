import type { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { endSocket } from "../../shared/end_socket.ts";
import { FrameSocket } from "../websocket/frame_socket.ts";
import { stockEngine } from "./private_fields.ts";
import { asksForWebSocket, firstProtocol } from "../websocket/tap_socket.ts";
import type { WsEngine } from "../../shared/http.ts";
import { type UploadLimits, UploadWatch } from "../websocket/upload_watch.ts";

/** The string that RFC 6455 §4.2.2 appends to the key. */
const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/**
 * Returns what accepts WebSocket upgrades for Engine.IO, in place of the server of the package `ws`.
 *
 * @param uploads watches the unfinished messages of all engines together
 * @param earlyPayload maximum size of a message in bytes before there is a session
 */
const frameEngine = (
  uploads: UploadWatch,
  earlyPayload: number,
): WsOption["wsEngine"] =>
  class {
    readonly #maxPayload: number;

    /** @param options `maxPayload`: maximum size of a message in bytes */
    constructor({ maxPayload }: { maxPayload: number }) {
      this.#maxPayload = maxPayload;
    }

    /** Answers an upgrade request; refuses an invalid one with 400 (RFC 6455 §4.2). */
    handleUpgrade(
      { method, headers }: IncomingMessage,
      socket: Duplex,
      head: Buffer,
      upgraded: (socket: FrameSocket) => void,
    ): void {
      if (!asksForWebSocket(method, headers)) return refuse(socket);
      if (!socket.readable || !socket.writable) return void socket.destroy();
      const accept = createHash("sha1").update(
        headers["sec-websocket-key"] + GUID,
      ).digest("base64");
      const protocol = firstProtocol(headers["sec-websocket-protocol"]);
      socket.write(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n" +
          `Connection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n` +
          `${protocol ? `Sec-WebSocket-Protocol: ${protocol}\r\n` : ""}\r\n`,
      );
      if (socket instanceof Socket) socket.setTimeout(0).setNoDelay();
      // Bytes that came with the request are read together with later ones, once there is a listener.
      if (head.length > 0) socket.unshift(head);
      const maxPayload = this.#maxPayload;
      upgraded(new FrameSocket(socket, maxPayload, uploads, earlyPayload));
    }

    /** Stops watching unfinished messages. */
    close(): void {
      uploads.close();
    }
  };

/** The option of Engine.IO that selects the WebSocket implementation. */
export interface WsOption {
  /** Created by each engine. */
  readonly wsEngine: new (options: { maxPayload: number }) => object;
}

/**
 * Returns the option of Engine.IO that selects the WebSocket implementation; all engines that get the
 * same one share the limits.
 *
 * @param limits limits of unfinished messages; used by the fast engine only
 * @param earlyPayload maximum bytes of a message without a session; with the stock engine, of about all
 * messages together
 * @throws {TypeError} when the engine is unknown, or the rate is invalid
 */
export function wsEngineOption(
  name: WsEngine,
  limits: UploadLimits,
  earlyPayload: number,
): WsOption {
  if (name === "stock") return { wsEngine: stockEngine(2 * earlyPayload) };
  if (name !== "fast") {
    throw new TypeError(
      `Cannot use wsEngine ${JSON.stringify(name)}: expected "fast" or "stock"`,
    );
  }
  if (!(limits.bytesPerSecond > 0)) {
    throw new TypeError(
      `Cannot use minUploadRate ${limits.bytesPerSecond}: expected a number above 0`,
    );
  }
  return { wsEngine: frameEngine(new UploadWatch(limits), earlyPayload) };
}

function refuse(socket: Duplex): void {
  const body = "Bad Request";
  endSocket(
    socket,
    "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n" +
      "Sec-WebSocket-Version: 13\r\nContent-Type: text/plain\r\n" +
      `Content-Length: ${body.length}\r\n\r\n${body}`,
  );
}
