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
import type { Patience } from "./patient_fetch.ts";

/** The times of a Streamable HTTP configuration, ISO 8601 as it is. */
export const streamablePatience = (
  { timeout, sse_read_timeout }: MCPServerStreamableHttpParameters,
): Patience => ({
  requestMs: timerMs(parseDuration(timeout)),
  silenceMs: timerMs(parseDuration(sse_read_timeout)),
});

/** The times of a SSE configuration, in seconds as it is. */
export const ssePatience = (
  { timeout, sse_read_timeout }: MCPSSEParameters,
): Patience => ({
  requestMs: timerMs(timeout),
  silenceMs: timerMs(sse_read_timeout),
});

const timerMs = (seconds: number): number =>
  Math.min(seconds * 1000, MAX_TIMER_MS);

/** Reaches an MCP server over Streamable HTTP (spec §4). */
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

/** Reaches an MCP server over HTTP with SSE (spec §4); older servers offer nothing else. */
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
