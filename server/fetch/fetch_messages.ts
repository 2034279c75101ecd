import { EventEmitter } from "node:events";
import type { Incoming, Outgoing } from "../shared/http.ts";
import type { ByteCount } from "../wire/fetch/mod.ts";

/** The two ends of a connection, as far as they are known. */
export interface Ends {
  /** The address of the other end. */
  readonly remoteAddress: string;
  /** The address of this end. */
  readonly localAddress: string | undefined;
  /** Whether the client used HTTPS. */
  readonly encrypted: boolean;
}

/** Returns what is kept of a request: its headers as `node:http` has them, not its body. */
export const headOf = (request: Request, socket: Ends) => ({
  method: request.method,
  url: request.url,
  headers: Object.fromEntries(request.headers),
  socket,
});

/** A `Request` with a body that is read once, by whoever iterates over it, if not by the request itself. */
export class FetchIncoming implements Incoming {
  readonly method: string;
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly socket: Ends;
  readonly #body: ReadableStream<Uint8Array> | null;
  readonly #bytes: ByteCount;
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  #isDropped = false;

  /** @param bytes counts those of the body */
  constructor(request: Request, ends: Ends, bytes: ByteCount) {
    const { method, url, headers, socket } = headOf(request, ends);
    this.method = method;
    this.url = url;
    this.headers = headers;
    this.socket = socket;
    this.#body = request.body;
    this.#bytes = bytes;
  }

  /**
   * Reads the body.
   *
   * @throws when its client is gone, or it was dropped
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void> {
    this.#reader ??= this.#body?.getReader();
    try {
      while (true) {
        const { value } = await this.#reader?.read() ?? {};
        if (this.#isDropped) throw new Error("The body was dropped");
        if (value === undefined) return;
        this.#bytes.received += value.length;
        yield value;
      }
    } finally {
      this.resume();
    }
  }

  resume(): void {
    this.#isDropped = true;
    const left = this.#reader ?? this.#body;
    left?.cancel().catch(() => {}); // whoever reads it has it
  }
}

/** The type of responses that last. */
const EVENT_STREAM = "text/event-stream";

/** The end of a response, or of the WebSocket of an upgrade. */
export class FetchOutgoing extends EventEmitter implements Outgoing {
  /** Ends it early. */
  destroy: () => void = () => this.close();
  /** Whether the body of the response is not complete yet. */
  #lasts = false;
  #isClosed = false;

  readonly lasts = (): void => {
    this.#lasts = true;
  };

  get closed(): boolean {
    return this.#isClosed;
  }

  /** Notes that it has come. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.emit("close");
  }

  /**
   * Passes a response on, and closes with it: with the end of its body, if that lasts.
   *
   * @param bytes counts those of a body that lasts
   */
  passed(response: Response, bytes: ByteCount): Response {
    const { status, headers } = response;
    const lasts = this.#lasts ||
      headers.get("content-type")?.startsWith(EVENT_STREAM);
    // Of others the body is not touched: the platform would send it in chunks.
    const body = lasts ? response.body : null;
    if (body === null) {
      this.close();
      return response;
    }
    const reader = body.getReader();
    const stream = new ReadableStream<Uint8Array<ArrayBuffer>>({
      start: (controller) => {
        this.destroy = () => {
          if (!this.#isClosed) {
            controller.error(new Error("The server ended the response"));
            reader.cancel().catch(() => {});
          }
          this.close();
        };
      },
      pull: async (controller) => {
        const { value, done } = await reader.read();
        if (this.#isClosed) return;
        if (value !== undefined) {
          bytes.sent += value.length;
          return controller.enqueue(value);
        }
        if (!done) return;
        controller.close();
        this.close();
      },
      cancel: (reason) => {
        this.close();
        return reader.cancel(reason);
      },
    });
    return new Response(stream, { status, headers });
  }
}
