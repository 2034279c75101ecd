import type { IncomingHttpHeaders } from "node:http";
import type { WsOption } from "../websocket/frame_engine.ts";
import {
  asksForWebSocket,
  firstProtocol,
} from "../websocket/upgrade_request.ts";
import { type ByteCount, FetchSocket } from "./fetch_socket.ts";
import type { UpgradeCarrier } from "./upgrade_carrier.ts";

/** Accepts WebSocket upgrades for Engine.IO through the platform. */
export class FetchEngine {
  readonly #maxPayload: number;
  readonly #earlyPayload: number;
  readonly #bytes: ByteCount;

  /**
   * @param options `maxPayload`: maximum size of a message in bytes
   * @param earlyPayload maximum size of a message in bytes before there is a session
   * @param bytes counts the bytes of messages
   */
  constructor(
    { maxPayload }: { maxPayload: number },
    earlyPayload: number,
    bytes: ByteCount,
  ) {
    this.#maxPayload = maxPayload;
    this.#earlyPayload = earlyPayload;
    this.#bytes = bytes;
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
      earlyPayload: this.#earlyPayload,
      bytes: this.#bytes,
    });
    ws.onopen = () => upgraded(socket);
    socket.whenGone(() => carrier.end());
  }

  /** Called by Engine.IO at its close. */
  close(): void {}
}

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
  wsEngine: class extends FetchEngine {
    constructor(options: { maxPayload: number }) {
      super(options, earlyPayload, bytes);
    }
  },
});
