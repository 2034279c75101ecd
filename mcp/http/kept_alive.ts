/**
 * Answers that take long, for clients of MCP 2026-07-28.
 *
 * The MCP SDK begins such an answer once there is something to send, which for a call without a
 * progress token is its result; proxies, and clients, cancel a request that is silent for a minute.
 * So an answer that takes longer begins as a stream of events with comments, as those of sessions do,
 * and the result is the event after them.
 *
 * @module
 */
import { acceptedTypes } from "./guards.ts";

const EVENT_STREAM = "text/event-stream";
const encoder = new TextEncoder();

/** A sign of life in a stream of events. */
export const COMMENT = encoder.encode(": keepalive\n\n");

/** The headers of a stream of events. */
export const STREAM_HEADERS: Readonly<Record<string, string>> = {
  "content-type": EVENT_STREAM,
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

/** Writes a message of JSON as an event. */
export const eventOf = (message: string): string =>
  `event: message\ndata: ${message}\n\n`;

/** Reads a response as events, of which one that is none has a single one. */
export function eventsOf(response: Response): ReadableStream<Uint8Array> {
  const { headers, body } = response;
  if (headers.get("content-type") === EVENT_STREAM && body) return body;
  return new ReadableStream({
    async start(controller) {
      const message = await response.text();
      if (message !== "") controller.enqueue(encoder.encode(eventOf(message)));
      controller.close();
    },
  });
}

/**
 * Answers a request whose body was read; after a time without an answer, by a stream of events.
 *
 * A stream that is cancelled aborts the request.
 *
 * @param everyMs the time until the stream begins, and between two comments in it
 */
export async function keptAlive(
  { url, method, headers, signal }: Request,
  answer: (request: Request) => Promise<Response>,
  everyMs: number,
): Promise<Response> {
  const left = new AbortController();
  const answering = answer(
    new Request(url, {
      method,
      headers,
      signal: AbortSignal.any([signal, left.signal]),
    }),
  );
  if (!acceptedTypes(headers.get("accept")).includes(EVENT_STREAM)) {
    return await answering;
  }
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), everyMs);
  try {
    const response = await Promise.race([answering, late]);
    if (response) return response;
  } finally {
    clearTimeout(timer);
  }
  const { readable, writable } = new TransformStream<Uint8Array>();
  void send(answering, writable, everyMs).catch(() => left.abort());
  return new Response(readable, { headers: { ...STREAM_HEADERS } });
}

/**
 * Writes comments until the answer comes, and then that.
 *
 * @throws {Error} there is none, or the client has closed the stream
 */
async function send(
  answering: Promise<Response>,
  stream: WritableStream<Uint8Array>,
  everyMs: number,
): Promise<void> {
  const writer = stream.getWriter();
  // One that is not read is seen by the next one.
  const comment = () => void writer.write(COMMENT).catch(() => {});
  comment();
  const timer = setInterval(comment, everyMs);
  let response: Response;
  try {
    response = await Promise.race([answering, rejectAtEnd(writer)]);
  } catch (error) {
    await writer.abort(error);
    throw error;
  } finally {
    clearInterval(timer);
  }
  writer.releaseLock();
  await eventsOf(response).pipeTo(stream);
}

/** Rejects when the client has closed the stream. */
const rejectAtEnd = (writer: WritableStreamDefaultWriter): Promise<never> =>
  writer.closed.then(() => {
    throw new Error("The client has closed the stream");
  });
