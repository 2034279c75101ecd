import { EventEmitter } from "node:events";
import type { IncomingHttpHeaders } from "node:http";
import {
  type ByteCount,
  FetchSocket,
  type PlatformSocket,
} from "./fetch_socket.ts";
import type { WsOption } from "../websocket/frame_engine.ts";
import { asksForWebSocket, firstProtocol } from "../websocket/tap_socket.ts";

/** Makes a WebSocket of a request. */
type Upgrade = (
  options: { readonly protocol?: string },
) => { readonly socket: PlatformSocket; readonly response: Response };

/**
 * Stands for the TCP socket of an upgrade request, on which Engine.IO answers: turns what is written
 * into a `Response`, and emits `close` when the request was refused or its WebSocket is gone.
 */
export class UpgradeCarrier extends EventEmitter {
  /** The address of the other end. */
  readonly remoteAddress: string;
  /** The address of this end, if it is known. */
  readonly localAddress: string | undefined;
  readonly #upgrade: Upgrade;
  #ws: PlatformSocket | undefined;
  #response: Response | undefined;
  #isClosed = false;

  /**
   * @param ends the addresses of the connection
   * @param upgrade makes the WebSocket
   */
  constructor(
    ends: {
      readonly remoteAddress: string;
      readonly localAddress: string | undefined;
    },
    upgrade: Upgrade,
  ) {
    super();
    this.remoteAddress = ends.remoteAddress;
    this.localAddress = ends.localAddress;
    this.#upgrade = upgrade;
  }

  /** Whether nothing of it is left. */
  get closed(): boolean {
    return this.#isClosed;
  }

  /** Whether Engine.IO may still write an answer. */
  get writable(): boolean {
    return this.#response === undefined;
  }

  /** Returns the answer to the request; what nobody has answered was no valid upgrade. */
  respond(): Response {
    const response = this.#response ?? refused("Bad Request");
    if (this.#ws === undefined) queueMicrotask(() => this.end());
    return response;
  }

  /**
   * Makes the WebSocket of the request.
   *
   * @throws {TypeError} when it is no valid upgrade
   */
  upgrade(protocol: string | undefined): PlatformSocket {
    const { socket, response } = this.#upgrade(
      protocol === undefined ? {} : { protocol },
    );
    this.#response = response;
    return this.#ws = socket;
  }

  /** Takes an answer of Engine.IO, which is the text of an HTTP response with status 400. */
  write(text: string): void {
    if (!this.writable) return;
    this.#response = refused(text.slice(text.indexOf(BODY) + BODY.length));
  }

  /** Ends the WebSocket, if there is one. */
  destroy(): void {
    this.#ws?.close();
  }

  /** Notes that nothing of it is left. */
  end(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.emit("close");
  }
}

/** What precedes the body of an HTTP response. */
const BODY = "\r\n\r\n";

/** The answer to an upgrade that Engine.IO refuses. */
const refused = (text: string): Response =>
  new Response(text, {
    status: 400,
    headers: { "Content-Type": "text/plain", "Connection": "close" },
  });

/**
 * Returns the option of Engine.IO that selects the platform's WebSockets.
 *
 * @param earlyPayload maximum bytes of a message without a session
 * @param bytes counts the bytes of messages
 */
export const fetchWsOption = (
  earlyPayload: number,
  bytes: ByteCount,
): WsOption => ({
  wsEngine: class {
    readonly #maxPayload: number;

    /** @param options `maxPayload`: maximum size of a message in bytes */
    constructor({ maxPayload }: { maxPayload: number }) {
      this.#maxPayload = maxPayload;
    }

    /** Answers an upgrade request; `upgraded` is called when the WebSocket is open. */
    handleUpgrade(
      { method, headers }: {
        readonly method?: string | undefined;
        readonly headers: IncomingHttpHeaders;
      },
      carrier: UpgradeCarrier,
      _head: Uint8Array,
      upgraded: (socket: FetchSocket) => void,
    ): void {
      if (!asksForWebSocket(method, headers)) return;
      const ws = carrier.upgrade(
        firstProtocol(headers["sec-websocket-protocol"]),
      );
      // Synchronous: a listener that is added later would miss the first events.
      const socket = new FetchSocket(ws, carrier, {
        maxPayload: this.#maxPayload,
        ...{ earlyPayload, bytes },
      });
      ws.onopen = () => upgraded(socket);
      socket.whenGone(() => carrier.end());
    }

    /** Called by Engine.IO at its close. */
    close(): void {}
  },
});
