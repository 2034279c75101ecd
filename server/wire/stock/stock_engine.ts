import type { Buffer } from "node:buffer";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
// @ts-types="npm:@types/ws@^8.18.2"
import { type WebSocket, WebSocketServer } from "ws";

/** Key of the function that ends the early limit of a WebSocket. */
const admissions = new WeakMap<object, () => void>();

/**
 * The server of the package `ws`, with a limit on what a peer may send before it has a session.
 *
 * `ws` has one size limit for all peers, and collects a whole message before it can be refused. So the
 * bytes are counted below it, and a peer that sends too many is disconnected.
 */
export class StockEngine extends WebSocketServer {
  readonly #earlyBytes: number;

  /**
   * @param options options of Engine.IO
   * @param earlyBytes maximum number of bytes that a peer may send without a session
   */
  constructor(
    options: ConstructorParameters<typeof WebSocketServer>[0],
    earlyBytes: number,
  ) {
    super(options);
    this.#earlyBytes = earlyBytes;
  }

  /** Answers an upgrade request, and counts the bytes that follow. */
  override handleUpgrade(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    upgraded: (client: WebSocket, request: IncomingMessage) => void,
  ): void {
    super.handleUpgrade(request, socket, head, (client: WebSocket) => {
      let left = this.#earlyBytes;
      const count = (chunk: Uint8Array) => {
        left -= chunk.length;
        if (left < 0) client.terminate();
      };
      socket.on("data", count);
      admissions.set(client, () => socket.off("data", count));
      upgraded(client, request);
    });
  }
}

/** Allows messages of full size on a WebSocket of {@linkcode StockEngine}; ignores any other value. */
export function admitStock(client: unknown): void {
  if (typeof client === "object" && client !== null) {
    admissions.get(client)?.();
  }
}
