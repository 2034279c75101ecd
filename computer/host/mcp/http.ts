// @ts-types="@modelcontextprotocol/sdk/client/sse"
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
// @ts-types="@modelcontextprotocol/sdk/client/streamableHttp"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  type HeaderValue,
  type MCPServerStreamableHttpParameters,
  type MCPSSEParameters,
  parseDuration,
} from "../../../protocol/mod.ts";
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport";
import { answeringFetch, RESUME_ATTEMPTS } from "./answering_fetch.ts";
import { HttpTransport } from "./http_transport.ts";
import { sessionFetch } from "./session_fetch.ts";
import { MAX_TIMER_MS } from "../../../shared/async.ts";
import type { HttpTimeouts } from "./fetch_with_timeouts.ts";

/** Reads the timeouts of a Streamable HTTP configuration, which are ISO 8601 durations. */
export const streamableTimeouts = (
  { timeout, sse_read_timeout }: MCPServerStreamableHttpParameters,
): HttpTimeouts => ({
  requestMs: timerMs(parseDuration(timeout)),
  silenceMs: timerMs(parseDuration(sse_read_timeout)),
});

/** Reads the timeouts of an SSE configuration, which are seconds. */
export const sseTimeouts = (
  { timeout, sse_read_timeout }: MCPSSEParameters,
): HttpTimeouts => ({
  requestMs: timerMs(timeout),
  silenceMs: timerMs(sse_read_timeout),
});

const timerMs = (seconds: number): number =>
  Math.min(seconds * 1000, MAX_TIMER_MS);

/** Creates a transport over Streamable HTTP (spec §4). */
export const streamableTransport = (
  parameters: MCPServerStreamableHttpParameters,
  fetch: FetchLike,
): HttpTransport<StreamableHTTPClientTransport> =>
  new HttpTransport(
    (fetch) =>
      new StreamableHTTPClientTransport(new URL(parameters.url), {
        requestInit: { headers: textHeaders(parameters.headers) },
        reconnectionOptions: {
          initialReconnectionDelay: 1_000,
          maxReconnectionDelay: 30_000,
          reconnectionDelayGrowFactor: 1.5,
          maxRetries: RESUME_ATTEMPTS,
        },
        fetch,
      }),
    (pending) => answeringFetch(fetch, pending),
  );

/** Creates a transport over HTTP with SSE (spec §4), for older servers. */
export const sseTransport = (
  parameters: MCPSSEParameters,
  fetch: FetchLike,
): HttpTransport<SSEClientTransport> =>
  new HttpTransport(
    (fetch) =>
      new SSEClientTransport(new URL(parameters.url), {
        requestInit: { headers: textHeaders(parameters.headers) },
        fetch,
      }),
    (_pending, lost) => sessionFetch(fetch, lost),
  );

const textHeaders = (
  headers: Record<string, HeaderValue> | null,
): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers ?? {}).map(([name, value]) => [name, `${value}`]),
  );
