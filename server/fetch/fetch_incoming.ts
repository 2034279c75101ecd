import { Readable } from "node:stream";
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
