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

async function fetchHead(
  url: string | URL,
  init: RequestInit,
  ms: number,
): Promise<Response> {
  const late = new AbortController();
  const timer = setTimeout(() => {
    late.abort(
      new Error(`The MCP server did not answer within ${ms / 1000} s`),
    );
  }, ms);
  try {
    const signals = [late.signal, ...(init.signal ? [init.signal] : [])];
    return await fetch(url, { ...init, signal: AbortSignal.any(signals) });
  } finally {
    clearTimeout(timer);
  }
}

function endSilence(
  body: ReadableStream<Uint8Array>,
  ms: number,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream({
    async pull(controller) {
      const silence = Promise.withResolvers<never>();
      const timer = setTimeout(() => {
        silence.reject(
          new Error(`The event stream was silent for ${ms / 1000} s`),
        );
      }, ms);
      try {
        const { done, value } = await Promise.race([
          reader.read(),
          silence.promise,
        ]);
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        controller.error(error);
        reader.cancel(error).catch(() => {});
      } finally {
        clearTimeout(timer);
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
