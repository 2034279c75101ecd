import { Buffer } from "node:buffer";
import { EventEmitter } from "node:events";
import type { ByteCount } from "../wire/fetch/mod.ts";

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
