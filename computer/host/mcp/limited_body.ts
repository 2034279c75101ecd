import { EventScanner } from "./event_scanner.ts";
import { ContainerCounter, MessageTooLargeError } from "./message_limit.ts";

/** Maximum bytes of an HTTP error response, which is read by people. */
const MAX_ERROR_BYTES = 65_536;

/** Returns whether a response is a stream of server-sent events. */
export const isEventStream = ({ headers }: Response): boolean =>
  (headers.get("content-type") ?? "").startsWith("text/event-stream");

/**
 * Limits the size of a response: each event of a stream, or the whole body; an error response is
 * truncated after 64 KiB.
 *
 * @param limit in bytes; reading more fails with a {@linkcode MessageTooLargeError}
 * @param signal the request's; Deno drops it once the original response is garbage-collected
 */
export function limitBody(
  response: Response,
  limit: number,
  signal?: AbortSignal | null,
): Response {
  const { body } = response;
  if (!body || response.status < 200) return response;
  const bounded = response.ok
    ? body.pipeThrough(failAbove(limit, counter(response)), until(signal))
    : body.pipeThrough(cutAt(MAX_ERROR_BYTES), until(signal));
  return new Response(bounded, response);
}

const until = (signal: AbortSignal | null | undefined): StreamPipeOptions =>
  signal ? { signal } : {};

/**
 * Counts the bytes of the current message, and its lists and objects.
 */
function counter(response: Response): (chunk: Uint8Array) => number {
  const containers = new ContainerCounter();
  if (isEventStream(response)) {
    const events = new EventScanner();
    return (chunk) => {
      const before = events.size;
      events.push(chunk);
      const { size } = events;
      const isSame = size >= before + chunk.length; // no event ended in this chunk
      if (!isSame) containers.reset();
      containers.push(isSame ? chunk : chunk.subarray(chunk.length - size));
      return size;
    };
  }
  let bytes = 0;
  return (chunk) => {
    containers.push(chunk);
    return bytes += chunk.length;
  };
}

const failAbove = (
  limit: number,
  count: (chunk: Uint8Array) => number,
): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> =>
  new TransformStream({
    transform(chunk, controller) {
      if (count(chunk) > limit) throw new MessageTooLargeError(limit);
      controller.enqueue(chunk);
    },
  });

function cutAt(
  most: number,
): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  let room = most;
  return new TransformStream({
    transform(chunk, controller) {
      controller.enqueue(chunk.subarray(0, room));
      room -= chunk.length;
      if (room <= 0) controller.terminate();
    },
  });
}
