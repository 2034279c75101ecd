import type { Buffer } from "node:buffer";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
// @ts-types="npm:@types/ws@^8.18.2"
import { type WebSocket, WebSocketServer } from "ws";

/** Ends the early limit of a WebSocket that has a session now. */
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
   * @param options of Engine.IO
   * @param earlyBytes that a peer may send while it has no session
   */
  constructor(
    options: ConstructorParameters<typeof WebSocketServer>[0],
    earlyBytes: number,
  ) {
    super(options);
    this.#earlyBytes = earlyBytes;
  }

  /** Answers a request to upgrade, and counts what comes then. */
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

/** Lets a WebSocket of {@linkcode StockEngine} send messages of full size; any other value is left alone. */
export function admitStock(client: unknown): void {
  if (typeof client === "object" && client !== null) {
    admissions.get(client)?.();
  }
}
