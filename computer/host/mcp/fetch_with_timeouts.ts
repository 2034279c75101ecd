import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport";
import { requestIdOf } from "./answering_fetch.ts";
import { isEventStream, limitBody } from "./limited_body.ts";
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
export async function fetchOnce(
  url: string | URL,
  init?: RequestInit,
): Promise<Response> {
  const createHttpClient = denoHttpClients();
  if (createHttpClient === undefined) return await fetch(url, init);
  const client = createHttpClient({ poolMaxIdlePerHost: 0 });
  try {
    const withClient: RequestInit & { client: HttpClient } = {
      ...init,
      client,
    };
    return await fetch(url, withClient);
  } finally {
    client.close(); // of no effect on the body
  }
}

/** Returns `Deno.createHttpClient`, on Deno. */
function denoHttpClients(): CreateHttpClient | undefined {
  // Not a use of the Deno global, which Node lacks: a look whether there is one.
  const runtime: unknown = Reflect.get(globalThis, "Deno");
  const create: unknown = runtime instanceof Object
    ? Reflect.get(runtime, "createHttpClient")
    : undefined;
  return isCreateHttpClient(create) ? create : undefined;
}

const isCreateHttpClient = (value: unknown): value is CreateHttpClient =>
  typeof value === "function";

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
