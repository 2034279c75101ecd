/**
 * The Server on Bun behind `fetch`: `Bun.serve`.
 *
 * ```ts
 * import { createSmcpServer } from "@a2c-smcp/sdk/server";
 * import { bun } from "@a2c-smcp/sdk/server/bun";
 *
 * const platform = bun();
 * const smcp = createSmcpServer({ adapter: platform });
 *
 * const main = { port: 8787, fetch: smcp.fetch, websocket: platform.websocket };
 * export { main as default }; // bun run main.ts
 * ```
 *
 * `Bun.serve` takes the same options. At the end close `smcp` first, then stop Bun's server: polling
 * clients need it to read their last answers.
 *
 * Bun also has `node:http`, so `createSmcpServer()` without an adapter listens there as on Node, and
 * keeps all limits.
 *
 * @module
 */
import "../../shared/check_runtime.ts";
import type { PlatformSocket } from "../wire/fetch_engine.ts";
import type { Adapter, Upgraded, UpgradeOptions } from "./fetch_requests.ts";
export type { Adapter, PlatformSocket, Upgraded, UpgradeOptions };

/** What Bun passes to a handler beside the request: the part of `Bun.Server` that is used. */
export interface BunServer {
  /** Where it listens. */
  readonly url: URL;
  /** Returns the other end of a request; `null` where it has no address. */
  requestIP(request: Request): { readonly address: string } | null;
  /** Sets the seconds without traffic after which the connection of a request is closed; 0 for none. */
  timeout(request: Request, seconds: number): void;
  /** Makes a WebSocket of a request; returns `false` when that is no valid upgrade. */
  upgrade(
    request: Request,
    options: {
      readonly data: BunSession;
      readonly headers: Readonly<Record<string, string>>;
    },
  ): boolean;
}

/** The part of `Bun.ServerWebSocket` that is used. */
export interface BunWebSocket {
  /** What {@linkcode BunServer.upgrade} was given. */
  readonly data: BunSession;
  /** 1 open, 2 closing, 3 closed. */
  readonly readyState: number;
  /** How binary messages are handed over. */
  binaryType?: string;
  /** Returns how many bytes are queued. */
  getBufferedAmount(): number;
  /** Queues a message; returns 0 when it was dropped, or is empty. */
  send(data: string | Uint8Array<ArrayBuffer>): number;
  /** Queues a close frame. */
  close(code?: number): void;
  /** Ends the connection immediately. */
  terminate(): void;
}

/** The handlers and limits of all WebSockets, for the option `websocket` of `Bun.serve`. */
export interface BunWebSocketHandler {
  /** Called with each new WebSocket. */
  open(ws: BunWebSocket): void;
  /** Called with each message. */
  message(ws: BunWebSocket, data: string | ArrayBuffer | Uint8Array): void;
  /** Called when it is closed. */
  close(ws: BunWebSocket, code: number): void;
  /** Maximum bytes of a message: 16 MiB, Bun's own default. */
  readonly maxPayloadLength: number;
  /** Bytes that may be queued: more than the server lets queue up. */
  readonly backpressureLimit: number;
  /** Seconds after which an idle WebSocket is closed: 0 for never, Engine.IO has pings of its own. */
  readonly idleTimeout: number;
  /** Whether Bun sends pings. */
  readonly sendPings: boolean;
  /** Whether messages are compressed. */
  readonly perMessageDeflate: boolean;
}

/** A WebSocket of Bun as the server sees it. */
export interface BunSession {
  /** Notes that it is open. */
  opened(ws: BunWebSocket): void;
  /** Passes on a message. */
  received(data: unknown): void;
  /** Notes that it is closed. */
  closed(code: number): void;
}

/** The adapter for Bun. */
export interface BunAdapter extends Adapter<BunServer> {
  /** The option `websocket` of `Bun.serve`. */
  readonly websocket: BunWebSocketHandler;
}

/** Bun's own default. */
const MAX_MESSAGE_BYTES = 16 * 2 ** 20;

/** The largest value that Bun takes. */
const ANY_BACKPRESSURE = 2 ** 31 - 1;

/**
 * Returns the adapter for Bun, whose `websocket` is the option of that name of `Bun.serve`.
 */
export function bun(): BunAdapter {
  return {
    name: "Bun",
    maxMessageBytes: MAX_MESSAGE_BYTES,
    websocket: {
      open: (ws) => ws.data.opened(ws),
      message: (ws, data) => ws.data.received(data),
      close: (ws, code) => ws.data.closed(code),
      maxPayloadLength: MAX_MESSAGE_BYTES,
      backpressureLimit: ANY_BACKPRESSURE,
      idleTimeout: 0,
      sendPings: false,
      perMessageDeflate: false,
    },
    addressOf(request, info) {
      if (info?.url.protocol === "unix:") return "localhost";
      return info?.requestIP(request)?.address ?? "";
    },
    // Polls, streams and calls wait longer than the 10 seconds that Bun allows.
    hold: (request, info) => info?.timeout(request, 0),
    upgrade(request, { protocol }, info) {
      const socket = new BunSocket();
      const headers: Record<string, string> = protocol
        ? { "Sec-WebSocket-Protocol": protocol }
        : {};
      // Bun takes a request without this header, too.
      const asks = /\bupgrade\b/i.test(request.headers.get("connection") ?? "");
      if (!info) {
        throw new TypeError(
          "Cannot make a WebSocket without the second argument of Bun's handler: pass it on to fetch",
        );
      }
      if (!asks || !info.upgrade(request, { data: socket, headers })) {
        throw new TypeError("Cannot make a WebSocket of the request");
      }
      // Bun has answered, and ignores what the handler returns.
      return { socket, response: new Response(null, { status: 101 }) };
    },
  };
}

/** A WebSocket of Bun, whose events are functions of all of them, with the interface of the web. */
class BunSocket implements PlatformSocket, BunSession {
  onopen: PlatformSocket["onopen"] = null;
  onmessage: PlatformSocket["onmessage"] = null;
  onerror: PlatformSocket["onerror"] = null;
  onclose: PlatformSocket["onclose"] = null;
  binaryType = "arraybuffer";
  #ws: BunWebSocket | undefined;

  get readyState(): number {
    return this.#ws?.readyState ?? 0;
  }

  get bufferedAmount(): number {
    return this.#ws?.getBufferedAmount() ?? 0;
  }

  send(data: string | Uint8Array<ArrayBuffer>): void {
    // A message that was dropped must not be missing in what the peer goes on to read.
    if (this.#ws?.send(data) === 0 && data.length > 0) this.terminate();
  }

  close(code?: number): void {
    this.#ws?.close(code);
  }

  terminate(): void {
    this.#ws?.terminate();
  }

  opened(ws: BunWebSocket): void {
    ws.binaryType = "arraybuffer";
    this.#ws = ws;
    // Bun calls this in the middle of the upgrade.
    queueMicrotask(() => this.onopen?.());
  }

  received(data: unknown): void {
    this.onmessage?.({ data });
  }

  closed(code: number): void {
    // Bun calls this in the middle of close(), too.
    queueMicrotask(() => this.onclose?.({ code }));
  }
}
