/**
 * The `fetch` below both HTTP transports, with limits of time and size: timeouts, the silence of a
 * stream, and the size of each message.
 *
 * @module
 */
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport";
import { MAX_MESSAGE_VALUES, MessageTooLargeError } from "./errors.ts";
import { ValueCounter } from "../../../shared/json/values.ts";
import { withDeadline, withTimeout } from "../../../shared/async.ts";

/** What Deno makes for requests that share no connection with others. */
interface HttpClient {
  close(): void;
}

type CreateHttpClient = (
  options: { readonly poolMaxIdlePerHost: number },
) => HttpClient;

/**
 * Sends a request at most once.
 *
 * Deno's own `fetch` repeats a request when its connection was used before and ends without an answer,
 * since it may have been closed meanwhile; but the server may have run the request, too. So each gets a
 * connection of its own there. Other platforms repeat no request with a body.
 */
async function fetchOnce(
  url: string | URL,
  init: RequestInit,
): Promise<Response> {
  // Not a use of the Deno global, which Node lacks: a look whether there is one.
  const createHttpClient: CreateHttpClient | undefined = Reflect.get(
    Reflect.get(globalThis, "Deno") ?? {},
    "createHttpClient",
  );
  if (!createHttpClient) return await fetch(url, init);
  const client = createHttpClient({ poolMaxIdlePerHost: 0 });
  try {
    const once: RequestInit & { client: HttpClient } = { ...init, client };
    return await fetch(url, once);
  } finally {
    client.close(); // of no effect on the body
  }
}

/** Timeouts of an MCP server over HTTP. */
export interface HttpTimeouts {
  /** Until the response headers; not for tool calls, which have their own timeout. */
  readonly requestMs: number;
  /** Between two chunks of an event stream, unless it answers a request. */
  readonly silenceMs: number;
}

/** Maximum duration of a tool call. */
const MAX_CALL_MS = 3_600_000;

/**
 * Creates a `fetch` with the configured timeouts (protocol §4: `timeout`, `sse_read_timeout`).
 *
 * A POST with a JSON-RPC request has no timeout of its own, since its caller has one, and is sent at
 * most once.
 *
 * @param maxMessageBytes see `limitBody`
 */
export function fetchWithTimeouts(
  { requestMs, silenceMs }: HttpTimeouts,
  maxMessageBytes: number,
): FetchLike {
  return async (url, init = {}) => {
    const isRequest = requestIdOf(init) !== undefined;
    const late = () =>
      new Error(`The MCP server did not answer within ${requestMs / 1000} s`);
    const head = isRequest ? await fetchOnce(url, init) : await withDeadline(
      requestMs,
      (signal) => fetch(url, { ...init, signal }),
      { signal: init.signal ?? undefined, error: late },
    );
    const response = limitBody(head, maxMessageBytes, init.signal);
    if (!response.body || !isEventStream(response)) return response;
    const most = isRequest ? Math.max(silenceMs, MAX_CALL_MS) : silenceMs;
    const { status, statusText } = response;
    // As the reader of events compares it: without parameters, in lower case.
    const headers = new Headers(response.headers);
    headers.set("content-type", EVENT_STREAM);
    return new Response(
      passOn(response.body, { silenceMs: most }),
      { status, statusText, headers },
    );
  };
}

/** Callbacks of {@linkcode passOn}. */
interface PassOnOptions {
  /** Ends the stream with an error when it is silent for so long. */
  readonly silenceMs?: number;
  /** Called with each chunk. */
  readonly onChunk?: (chunk: Uint8Array) => void;
  /** Called at the end, with the error if there is one; may return a last chunk in its place. */
  readonly onEnd?: (error?: unknown) => Uint8Array<ArrayBuffer> | void;
}

/** Passes a stream on, chunk by chunk, as it is read. */
export function passOn(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  { silenceMs, onChunk, onEnd }: PassOnOptions,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const reader = body.getReader();
  const error = () =>
    new Error(`The event stream was silent for ${Number(silenceMs) / 1000} s`);
  return new ReadableStream({
    async pull(controller) {
      let failure: { readonly error: unknown } | undefined;
      try {
        const { done, value } = silenceMs === undefined
          ? await reader.read()
          : await withTimeout(silenceMs, () => reader.read(), { error });
        if (!done) {
          onChunk?.(value);
          return controller.enqueue(value);
        }
      } catch (error) {
        failure = { error };
        reader.cancel(error).catch(() => {});
      }
      const last = onEnd?.(failure?.error);
      if (last) controller.enqueue(last);
      if (failure && !last) controller.error(failure.error);
      else controller.close();
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/** Maximum bytes of an HTTP error response, which is read by people. */
export const MAX_ERROR_BYTES = 65_536;

/** Returns the media type of a response in lower case, without parameters; empty if there is none. */
export const mediaTypeOf = ({ headers }: Response): string =>
  (headers.get("content-type") ?? "").replace(/;[^]*/, "").trim().toLowerCase();

const EVENT_STREAM = "text/event-stream";

/** Returns whether a response is a stream of server-sent events. */
export const isEventStream = (response: Response): boolean =>
  mediaTypeOf(response) === EVENT_STREAM;

/**
 * Limits the size of a response: each event of a stream, or the whole body; an error response is
 * truncated after 64 KiB.
 *
 * @param limit in bytes; reading more fails with a {@linkcode MessageTooLargeError}
 * @param signal the request's; Deno drops it once the original response is garbage-collected
 */
function limitBody(
  response: Response,
  limit: number,
  signal?: AbortSignal | null,
): Response {
  const { body, ok, status } = response;
  if (!body || status < 200) return response;
  const count = counter(response);
  let room = MAX_ERROR_BYTES;
  const bounded = new TransformStream<
    Uint8Array<ArrayBuffer>,
    Uint8Array<ArrayBuffer>
  >({
    transform(chunk, controller) {
      if (ok) {
        if (count(chunk) > limit) throw new MessageTooLargeError(limit);
        return controller.enqueue(chunk);
      }
      controller.enqueue(chunk.subarray(0, room));
      room -= chunk.length;
      if (room <= 0) controller.terminate();
    },
  });
  return new Response(
    body.pipeThrough(bounded, signal ? { signal } : {}),
    response,
  );
}

/** Counts the bytes of the current message, and refuses too many values. */
function counter(response: Response): (chunk: Uint8Array) => number {
  const values = new ValueCounter();
  const count = (chunk: Uint8Array) => {
    if (values.push(chunk) <= MAX_MESSAGE_VALUES) return;
    throw new MessageTooLargeError();
  };
  if (isEventStream(response)) {
    const events = new EventScanner();
    return (chunk) => {
      const before = events.size;
      events.push(chunk);
      const { size } = events;
      const isSame = size >= before + chunk.length; // no event ended in this chunk
      if (!isSame) values.reset();
      count(isSame ? chunk : chunk.subarray(chunk.length - size));
      return size;
    };
  }
  let bytes = 0;
  return (chunk) => {
    count(chunk);
    return bytes += chunk.length;
  };
}

/**
 * Returns the id of the JSON-RPC request in a body.
 *
 * The MCP SDK writes the method first and the numeric id last; only the two ends of the text are
 * read, since the parameters may contain anything.
 */
export function requestIdOf(
  { method, body }: RequestInit,
): number | undefined {
  if (method !== "POST" || typeof body !== "string") return undefined;
  if (!body.startsWith('{"method":')) return undefined;
  const [, id] = /"id":(\d+)\}$/.exec(body.slice(-40)) ?? [];
  return id === undefined ? undefined : Number(id);
}

const LF = 0x0a;
const CR = 0x0d;
/** Number of characters of a line to keep: the field's name and an id. */
const MAX_LINE_HEAD = 1_024;

/** Scans a stream of server-sent events for the size of the unfinished event and the last id. */
export class EventScanner {
  /** The bytes of the unfinished event. */
  size = 0;
  /** The id of the last event with an id and data; an event without data does not count. */
  lastId: string | undefined;
  #line = "";
  #lineLength = 0;
  #afterCr = false;
  #id: string | undefined;
  #hasData = false;

  /** Scans the next bytes. */
  push(chunk: Uint8Array): void {
    // The next of each kind of line end, searched for once: a line may be as long as a message.
    let feed = -1;
    let carriageReturn = -1;
    for (let at = 0; at < chunk.length;) {
      if (feed < at) feed = indexIn(chunk, LF, at);
      if (carriageReturn < at) carriageReturn = indexIn(chunk, CR, at);
      const end = Math.min(feed, carriageReturn);
      const isPair = this.#afterCr && end === at && chunk[at] === LF;
      this.#take(chunk.subarray(at, end));
      if (end < chunk.length && !isPair) this.#endLine();
      this.#afterCr = chunk[end] === CR;
      at = end + 1;
    }
  }

  #take(bytes: Uint8Array): void {
    this.size += bytes.length;
    this.#lineLength += bytes.length;
    const room = MAX_LINE_HEAD - this.#line.length;
    if (room > 0) this.#line += String.fromCharCode(...bytes.subarray(0, room));
  }

  #endLine(): void {
    this.size++;
    const [, field, value = ""] =
      /^(id|data)(?:$|: ?([^]*))/.exec(this.#line) ?? [];
    if (field === "id" && this.#lineLength <= MAX_LINE_HEAD) this.#id = value;
    if (field === "data") this.#hasData = true;
    if (this.#lineLength === 0) {
      if (this.#hasData && this.#id) this.lastId = this.#id;
      this.#id = undefined;
      this.#hasData = false;
      this.size = 0;
    }
    this.#line = "";
    this.#lineLength = 0;
  }
}

/** Returns the index of a byte in a chunk from an index on, or the chunk's length. */
function indexIn(chunk: Uint8Array, byte: number, from: number): number {
  const at = chunk.indexOf(byte, from);
  return at === -1 ? chunk.length : at;
}
