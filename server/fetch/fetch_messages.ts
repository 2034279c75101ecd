import { Readable } from "node:stream";
import { Buffer } from "node:buffer";
import { EventEmitter } from "node:events";
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

/** Returns the headers of a request as `node:http` has them. */
export const headersOf = (request: Request): Record<string, string> =>
  Object.fromEntries(request.headers);

/** A `Request` as what Engine.IO reads of an `IncomingMessage`. */
export class FetchIncoming extends Readable {
  /** The method. */
  readonly method: string;
  /** The URL, in absolute form. */
  readonly url: string;
  /** The headers, with names in lower case. */
  readonly headers: Record<string, string>;
  /** The connection. */
  readonly socket: Ends;
  readonly #body: ReadableStream<Uint8Array> | null;
  readonly #bytes: ByteCount;
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;

  /** @param bytes counts those of the body */
  constructor(request: Request, ends: Ends, bytes: ByteCount) {
    super();
    this.method = request.method;
    this.url = request.url;
    this.headers = headersOf(request);
    this.socket = ends;
    this.#body = request.body;
    this.#bytes = bytes;
  }

  /** The connection, under the name that Engine.IO uses. */
  get connection(): Ends {
    return this.socket;
  }

  override _read(): void {
    // Who reads the request itself reads its body.
    const isOurs = this.#reader !== undefined || this.#body?.locked === false;
    if (this.#body === null || !isOurs) return void this.push(null);
    this.#reader ??= this.#body.getReader();
    this.#reader.read().then(
      ({ value }) => {
        this.#bytes.received += value?.length ?? 0;
        this.push(value ?? null);
      },
      // The client is gone: `close` without `end` says so, as in node:http.
      () => this.destroy(),
    );
  }

  override _destroy(
    error: Error | null,
    done: (error: Error | null) => void,
  ): void {
    // What is left of the body must not wait for a reader.
    const left = this.#reader ?? this.#body;
    left?.cancel().catch(() => {});
    done(error);
  }
}

/** The type of responses that last. */
const EVENT_STREAM = "text/event-stream";

/** What ends a response. */
type Body = string | Uint8Array<ArrayBuffer> | undefined;

/**
 * What Engine.IO writes to a `ServerResponse`, as a `Response`. Emits `close` when it is written, or
 * when its client is gone.
 */
export class FetchOutgoing extends EventEmitter {
  /** Whether the head is written. */
  headersSent = false;
  /** Whether the body is written. */
  writableEnded = false;
  readonly #headers = new Headers();
  readonly #bytes: ByteCount;
  #status = 200;
  #body: Body;
  #isClosed = false;
  /** Ends the body of a response that is passed on. */
  #cut: (() => void) | undefined;
  /** Takes the body of a response that has begun. */
  #ended: (() => void) | undefined;

  /** @param bytes counts those of the body */
  constructor(bytes: ByteCount) {
    super();
    this.#bytes = bytes;
  }

  /** Sets a header. */
  setHeader(name: string, value: string): void {
    this.#headers.set(name, value);
  }

  /** Sets the status, and more headers. */
  writeHead(
    status: number,
    headers: Readonly<Record<string, string | number>> = {},
  ): this {
    this.#status = status;
    this.headersSent = true;
    for (const [name, value] of Object.entries(headers)) {
      this.#headers.set(name, String(value));
    }
    return this;
  }

  /** Ends the response. */
  end(body?: Body): void {
    if (this.writableEnded) return;
    this.writableEnded = true;
    this.#body = body;
    if (body !== undefined) this.#bytes.sent += Buffer.byteLength(body);
    this.#ended?.();
    this.close();
  }

  /** Notes that nobody waits for it any more. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    // Deferred: Engine.IO answers a handshake before it says that there is a connection.
    queueMicrotask(() => this.emit("close"));
  }

  /** Whether nobody waits for it any more. */
  get closed(): boolean {
    return this.#isClosed;
  }

  /** Ends it early. */
  destroy(): void {
    this.#cut?.();
    this.close();
  }

  /**
   * Passes a response on, and closes with it: with the end of its body, if that is a stream.
   *
   * @param isHead whether nobody reads its body
   */
  passed(response: Response, isHead: boolean): Response {
    const { status, headers } = response;
    const isStream = headers.get("content-type")?.startsWith(EVENT_STREAM);
    // Of others the body is not touched: the platform would send it in chunks.
    const body = isStream && !isHead ? response.body : null;
    if (body === null) {
      this.close();
      return response;
    }
    const reader = body.getReader();
    const stream = new ReadableStream<Uint8Array<ArrayBuffer>>({
      start: (controller) => {
        this.#cut = () => {
          controller.error(new Error("The server ended the response"));
          reader.cancel().catch(() => {});
        };
      },
      pull: async (controller) => {
        const { value, done } = await reader.read();
        if (this.#isClosed) return;
        if (value !== undefined) {
          this.#bytes.sent += value.length;
          return controller.enqueue(value);
        }
        if (!done) return;
        controller.close();
        this.#cut = undefined;
        this.close();
      },
      cancel: (reason) => {
        this.#cut = undefined;
        this.close();
        return reader.cancel(reason);
      },
    });
    return new Response(stream, { status, headers });
  }

  /** Returns the response once it is written; 400 when it never will be. */
  async written(): Promise<Response> {
    if (!this.#isClosed) {
      await new Promise<void>((resolve) => this.once("close", resolve));
    }
    if (!this.writableEnded) this.writeHead(400);
    return this.#toResponse(this.#body ?? null);
  }

  /**
   * Returns the response to a poll, at once: the platform tells that a client is gone only by a body
   * that it waits for.
   */
  streamed(): Response {
    if (this.writableEnded) return this.#toResponse(this.#body ?? null);
    const stream = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#ended = () => {
          if (this.#body !== undefined) {
            controller.enqueue(Buffer.from(this.#body));
          }
          controller.close();
        };
      },
      cancel: () => {
        this.#ended = undefined;
        this.close();
      },
    });
    this.#headers.set("Content-Type", "text/plain; charset=UTF-8");
    this.#headers.set("Cache-Control", "no-store");
    return this.#toResponse(stream);
  }

  #toResponse(body: BodyInit | null): Response {
    const headers = this.#headers;
    // The platform knows it better, which may compress the body.
    headers.delete("Content-Length");
    return new Response(body, { status: this.#status, headers });
  }
}
