import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport";
import { requestIdOf, SessionForgottenError } from "./answering_fetch.ts";
import { isEventStream } from "./limited_body.ts";

/**
 * Creates a `fetch` for HTTP with SSE, where the session is one stream of events: when the stream
 * ends, all pending answers are lost.
 *
 * @param lost called when the stream ended
 * @throws {SessionForgottenError} for a request that was answered with 404
 */
export const sessionFetch =
  (fetch: FetchLike, lost: () => void): FetchLike => async (url, init = {}) => {
    const response = await fetch(url, init);
    if (response.status === 404 && isUnderway(init)) {
      await response.body?.cancel();
      throw new SessionForgottenError();
    }
    if (!response.ok || !response.body || !isEventStream(response)) {
      return response;
    }
    return new Response(tellEnd(response.body, lost), response);
  };

/** Returns whether a request is part of an open session; before, a 404 means a wrong address. */
const isUnderway = (init: RequestInit): boolean =>
  requestIdOf(init) !== undefined &&
  !String(init.body).startsWith('{"method":"initialize"');

function tellEnd(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  lost: () => void,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const reader = body.getReader();
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        controller.close();
      } catch (error) {
        controller.error(error);
      }
      lost();
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
