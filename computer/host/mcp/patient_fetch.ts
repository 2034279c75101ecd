import { withDeadline, withTimeout } from "../../../shared/async.ts";
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport";
import { requestIdOf } from "./answering_fetch.ts";
import { isEventStream, limitBody } from "./limited_body.ts";

/** How long an MCP server may keep quiet over HTTP, in milliseconds. */
export interface Patience {
  /** Until the head of an answer; not for tool calls, which have a time of their own. */
  readonly requestMs: number;
  /** Between two pieces of an event stream; not of one that answers a request. */
  readonly silenceMs: number;
}

/** Milliseconds after which nobody waits for the answer to a request: no call may take longer. */
const LONGEST_CALL = 3_600_000;

/**
 * Makes a `fetch` that gives up on a server that keeps quiet (spec §4: `timeout`, `sse_read_timeout`).
 *
 * A POST with a JSON-RPC request may take as long as its caller waits for it.
 *
 * @param maxMessageBytes see `limitBody`
 */
export function patientFetch(
  { requestMs, silenceMs }: Patience,
  maxMessageBytes: number,
): FetchLike {
  return async (url, init = {}) => {
    const isRequest = requestIdOf(init) !== undefined;
    const response = limitBody(
      isRequest
        ? await fetch(url, init)
        : await fetchHead(url, init, requestMs),
      maxMessageBytes,
      init.signal,
    );
    if (!response.body || !isEventStream(response)) return response;
    const ms = isRequest ? Math.max(silenceMs, LONGEST_CALL) : silenceMs;
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
