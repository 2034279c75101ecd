/**
 * The transports over HTTP: those of the MCP SDK, wrapped so that each request is settled, and
 * their settings from the configuration.
 *
 * @module
 */
import type {
  FetchLike,
  Transport,
  TransportSendOptions,
} from "@modelcontextprotocol/sdk/shared/transport";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types";
// @ts-types="@modelcontextprotocol/sdk/client/sse"
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
// @ts-types="@modelcontextprotocol/sdk/client/streamableHttp"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  answeringFetch,
  type PendingRequests,
  RESUME_ATTEMPTS,
  sessionFetch,
} from "./answering_fetch.ts";
import { CONNECTION_CLOSED } from "./errors.ts";
import type { HttpTimeouts } from "./limited_fetch.ts";
import { isRecord } from "../../util/values.ts";
import {
  type HeaderValue,
  type MCPServerStreamableHttpParameters,
  type MCPSSEParameters,
  parseDuration,
} from "../../../protocol/mod.ts";
import { MAX_TIMER_MS } from "../../../shared/async.ts";

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

/** Maximum number of replies in flight to an MCP server, which could ask without end. */
const MAX_PENDING_REPLIES = 100;

/**
 * A transport of the MCP SDK that settles every request it accepted, and never throws for a message.
 */
class HttpTransport<T extends Transport> implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Exclude<Transport["onmessage"], undefined>;

  /** The transport of the MCP SDK. */
  readonly inner: T;
  /** Pending requests by id, and whether the rest of the answer is in the current response. */
  readonly #pending = new Map<string | number, boolean>();
  /** Requests that wait for their HTTP response. */
  readonly #unheard = new Set<Promise<void>>();
  #replies = 0;

  /**
   * @param make creates the transport of the MCP SDK
   * @param wrap creates the `fetch` of the transport
   */
  constructor(
    make: (fetch: FetchLike) => T,
    wrap: (pending: PendingRequests, lost: () => void) => FetchLike,
  ) {
    this.inner = make(wrap({
      has: (id) => this.#pending.has(id),
      answeredWhole: (id) => {
        if (this.#pending.has(id)) this.#pending.set(id, true);
      },
    }, () => void this.close().catch(() => {})));
  }

  get sessionId(): string | undefined {
    return this.inner.sessionId;
  }

  setProtocolVersion(version: string): void {
    this.inner.setProtocolVersion?.(version);
  }

  async start(): Promise<void> {
    this.inner.onclose = () => this.onclose?.();
    this.inner.onerror = (error) => this.onerror?.(error);
    this.inner.onmessage = (message, extra) => this.#receive(message, extra);
    await this.inner.start();
  }

  async send(
    message: JSONRPCMessage,
    options?: TransportSendOptions,
  ): Promise<void> {
    if (!("method" in message)) return await this.#reply(message);
    if (!("id" in message)) {
      const { params } = message;
      const given = isRecord(params) ? params.requestId : undefined;
      if (
        message.method === "notifications/cancelled" &&
        (typeof given === "number" || typeof given === "string")
      ) this.#pending.delete(given);
      return await this.inner.send(message, options);
    }
    const { id } = message;
    this.#pending.set(id, false);
    const sent = this.inner.send(message, options);
    this.#unheard.add(sent);
    try {
      await sent;
    } catch (error) {
      this.#pending.delete(id);
      throw error;
    } finally {
      this.#unheard.delete(sent);
    }
    if (this.#pending.get(id) !== true) return;
    // The response does not answer the request, and nothing else will.
    this.#receive({
      jsonrpc: "2.0",
      id,
      error: { code: CONNECTION_CLOSED, message: "Connection closed" },
    });
  }

  /** Resolves when each request so far has its HTTP response, or has failed. */
  async responded(): Promise<void> {
    await Promise.allSettled(this.#unheard);
  }

  close(): Promise<void> {
    this.#pending.clear();
    return this.inner.close();
  }

  async #reply(message: JSONRPCMessage): Promise<void> {
    if (this.#replies >= MAX_PENDING_REPLIES) {
      throw new Error("The MCP server asks faster than it takes answers");
    }
    this.#replies++;
    try {
      await this.inner.send(message);
    } finally {
      this.#replies--;
    }
  }

  /** Forwards a message; drops second answers, which the MCP SDK would take for a connection error. */
  #receive(
    message: JSONRPCMessage,
    extra?: Parameters<NonNullable<Transport["onmessage"]>>[1],
  ): void {
    const isAnswer = !("method" in message);
    if (isAnswer && !this.#pending.delete(Number(message.id))) return;
    try {
      this.onmessage?.(message, extra);
    } catch (error) {
      this.onerror?.(error as Error);
    }
  }
}
