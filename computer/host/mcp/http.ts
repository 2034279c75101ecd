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
  type AnswerOptions,
  type PendingRequests,
  RESUME_ATTEMPTS,
  sessionFetch,
} from "./answering_fetch.ts";
import { CONNECTION_CLOSED, PARSE_ERROR } from "./errors.ts";
import { explainAnswer, type Hide, isOddMessage } from "./http_answers.ts";
import type { HttpTimeouts } from "./limited_fetch.ts";
import { ModernRequests } from "./modern_requests.ts";
import {
  type MCPServerStreamableHttpConfig,
  type MCPSSEConfig,
  parseDuration,
} from "../../../protocol/mod.ts";
import { MAX_TIMER_MS } from "../../../shared/async.ts";

/** The configuration of an MCP server over HTTP (protocol §4). */
export type HttpConfig = MCPServerStreamableHttpConfig | MCPSSEConfig;

/** Reads timeouts: ISO 8601 durations for Streamable HTTP, seconds for SSE. */
export const httpTimeouts = (
  { timeout, sse_read_timeout }: Pick<
    HttpConfig["server_parameters"],
    "timeout" | "sse_read_timeout"
  >,
): HttpTimeouts => ({
  requestMs: timerMs(timeout),
  silenceMs: timerMs(sse_read_timeout),
});

const timerMs = (given: string | number): number => {
  const seconds = typeof given === "string" ? parseDuration(given) : given;
  return Math.min(seconds * 1000, MAX_TIMER_MS);
};

/** Maximum number of replies in flight to an MCP server, which could ask without end. */
const MAX_PENDING_REPLIES = 100;

/** In place of an answer: a whole HTTP response has none. */
const NO_ANSWER = {
  code: PARSE_ERROR,
  message: "The response of the MCP server does not answer the request",
};

/**
 * A transport of the MCP SDK that settles every request it accepted, and never throws for a message:
 * over Streamable HTTP, or over HTTP with SSE for older servers (protocol §4).
 */
export class HttpTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Exclude<Transport["onmessage"], undefined>;

  readonly #inner: Transport;
  readonly #hide: Hide;
  readonly #pending: PendingRequests = new Map();
  readonly #modern = new ModernRequests();
  /** Requests that wait for their HTTP response. */
  readonly #unanswered = new Set<Promise<void>>();
  #replies = 0;
  #answers = 0;
  /** Ends the session on the server, if it has one and the configuration has that set. */
  readonly terminate?: () => Promise<void>;

  /**
   * Creates a transport above a `fetch`.
   *
   * @param type which of the two, whatever the configuration has
   * @param hide hides secrets in what the server answers
   */
  constructor(
    type: HttpConfig["type"],
    { server_parameters }: HttpConfig,
    fetch: FetchLike,
    hide: Hide,
  ) {
    this.#hide = hide;
    const url = new URL(server_parameters.url);
    const answer: AnswerOptions = { hide, answered: () => this.#answers++ };
    const headers = Object.entries(server_parameters.headers ?? {})
      .map(([name, value]) => [name, `${value}`]);
    const requestInit = { headers: Object.fromEntries(headers) };
    if (type === "sse") {
      const lost = () => void this.close().catch(() => {});
      this.#inner = new SSEClientTransport(url, {
        requestInit,
        fetch: sessionFetch(fetch, { ...answer, lost }),
      });
      return;
    }
    const inner = new StreamableHTTPClientTransport(url, {
      requestInit,
      reconnectionOptions: {
        initialReconnectionDelay: 1_000,
        maxReconnectionDelay: 30_000,
        reconnectionDelayGrowFactor: 1.5,
        maxRetries: RESUME_ATTEMPTS,
      },
      fetch: answeringFetch(this.#modern.sending(fetch), this.#pending, {
        ...answer,
        lost: (id) => this.#lose(id),
      }),
    });
    this.#inner = inner;
    if (
      "terminate_on_close" in server_parameters &&
      server_parameters.terminate_on_close
    ) {
      this.terminate = () => inner.terminateSession();
    }
  }

  /** Whether the server keeps no session, as its answer to the first message shows. */
  get keepsNoSession(): boolean {
    const inner = this.#inner;
    return inner instanceof StreamableHTTPClientTransport &&
      inner.sessionId === undefined;
  }

  /** How often the server has answered so far: with a message or, to a request, with anything else. */
  get answers(): number {
    return this.#answers;
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion?.(version);
  }

  async start(): Promise<void> {
    this.#inner.onclose = () => this.onclose?.();
    this.#inner.onerror = (error) => {
      if (isOddMessage(error)) this.#answers++;
      this.onerror?.(error);
    };
    this.#inner.onmessage = (message, extra) => this.#receive(message, extra);
    await this.#inner.start();
  }

  async send(
    message: JSONRPCMessage,
    options?: TransportSendOptions,
  ): Promise<void> {
    if (!("method" in message)) {
      if (this.#replies >= MAX_PENDING_REPLIES) {
        throw new Error("The MCP server asks faster than it takes answers");
      }
      this.#replies++;
      return await this.#inner.send(message).finally(() => this.#replies--);
    }
    if (!("id" in message)) {
      if (message.method === "notifications/cancelled") {
        const id = message.params?.requestId;
        this.#pending.delete(Number(id));
        if (this.#modern.cancel(id)) return;
      }
      return await this.#inner.send(message, options);
    }
    const { id } = message;
    this.#pending.set(id, false);
    if (this.#inner instanceof StreamableHTTPClientTransport) {
      this.#modern.begin(message);
    }
    const sent = this.#inner.send(message, options);
    this.#unanswered.add(sent);
    try {
      await sent;
    } catch (error) {
      this.#pending.delete(id);
      this.#modern.cancel(id);
      throw explainAnswer(error, this.#hide);
    } finally {
      this.#unanswered.delete(sent);
    }
    if (this.#pending.get(id) !== true) return;
    // The response does not answer the request, and nothing else will.
    this.#receive({ jsonrpc: "2.0", id, error: NO_ANSWER });
  }

  #lose(id: string | number): void {
    const error = { code: CONNECTION_CLOSED, message: "Connection closed" };
    this.#receive({ jsonrpc: "2.0", id, error });
  }

  /** Resolves when each request so far has its HTTP response, or has failed. */
  async responded(): Promise<void> {
    await Promise.allSettled(this.#unanswered);
  }

  close(): Promise<void> {
    this.#pending.clear();
    return this.#inner.close();
  }

  /** Forwards a message; drops second answers, which the MCP SDK would take for a connection error. */
  #receive(
    message: JSONRPCMessage,
    extra?: Parameters<NonNullable<Transport["onmessage"]>>[1],
  ): void {
    this.#answers++;
    this.#modern.answered(message);
    const isAnswer = !("method" in message);
    if (isAnswer && !this.#pending.delete(Number(message.id))) return;
    try {
      this.onmessage?.(message, extra);
    } catch (error) {
      this.onerror?.(error as Error);
    }
  }
}
