import { withDeadline, withTimeout } from "../../../shared/async.ts";
import { fetchOnce } from "../../../shared/http/fetch_once.ts";
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport";
import { requestIdOf } from "./answering_fetch.ts";
import { isEventStream, limitBody } from "./limited_body.ts";

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
 * Creates a `fetch` with the configured timeouts (spec §4: `timeout`, `sse_read_timeout`).
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
    const response = limitBody(
      isRequest
        ? await fetchOnce(url, init)
        : await fetchHead(url, init, requestMs),
      maxMessageBytes,
      init.signal,
    );
    if (!response.body || !isEventStream(response)) return response;
    const ms = isRequest ? Math.max(silenceMs, MAX_CALL_MS) : silenceMs;
    return new Response(endSilence(response.body, ms), response);
  };
}

const fetchHead = (
  url: string | URL,
  init: RequestInit,
  ms: number,
): Promise<Response> =>
  withDeadline(ms, (signal) => fetch(url, { ...init, signal }), {
    signal: init.signal ?? undefined,
    error: () =>
      new Error(`The MCP server did not answer within ${ms / 1000} s`),
  });

function endSilence(
  body: ReadableStream<Uint8Array>,
  ms: number,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await withTimeout(ms, () => reader.read(), {
          error: () =>
            new Error(`The event stream was silent for ${ms / 1000} s`),
        });
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        controller.error(error);
        reader.cancel(error).catch(() => {});
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
