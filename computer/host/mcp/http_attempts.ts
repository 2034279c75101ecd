/**
 * Attempts to connect to an MCP server over HTTP.
 *
 * Streamable HTTP is tried first; a server that answers its first message with 400, 404 or 405 may be
 * an older one, to which MCP has clients connect over HTTP with SSE. A failure is explained to the
 * user, with what the server answered to each attempt.
 *
 * @module
 */
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport";
import { withDeadline } from "../../../shared/async.ts";
import { redactUrl } from "../../util/secrets.ts";
import { reasonOf } from "../../util/values.ts";
import {
  AuthorizationError,
  authorizedFetch,
  type Authorizer,
} from "../oauth/authorized_fetch.ts";
import { openConnection } from "./client_connection.ts";
import type {
  ClientConnectionOptions,
  McpConnection,
} from "./mcp_connection.ts";
import { DEFAULT_MESSAGE_BYTES, HttpAnswerError } from "./errors.ts";
import { type HttpConfig, httpTimeouts, HttpTransport } from "./http.ts";
import { type Hide, quotingFetch } from "./http_answers.ts";
import { fetchWithTimeouts, type HttpTimeouts } from "./limited_fetch.ts";

/** Options of {@linkcode HttpAttempts}. */
export interface HttpOptions extends ClientConnectionOptions {
  /** Maximum bytes of one message of an MCP server; default 64 MiB. */
  readonly maxMessageBytes?: number | undefined;
  /** Returns the source of tokens for an MCP server over HTTP without credentials. */
  readonly authorizer?:
    | ((
      server: string,
      place: HttpConfig["server_parameters"],
    ) => Authorizer | undefined)
    | undefined;
  /** Hides secrets in what the server answers. */
  readonly hide: Hide;
}

/** Maximum time for an attempt over HTTP with SSE after one over Streamable HTTP. */
const FALLBACK_MS = 10_000;

/** The attempts to connect to one MCP server. */
export class HttpAttempts {
  readonly #config: HttpConfig;
  readonly #options: HttpOptions;
  readonly #timeouts: HttpTimeouts;
  readonly #fetch: FetchLike;
  /** The last error of a request: over SSE it does not reach the caller. */
  #refusal: unknown;
  /** The refusal of the stream of events, with its words. */
  #refusedStream: HttpAnswerError | undefined;

  /** Prepares the attempts. */
  constructor(config: HttpConfig, options: HttpOptions) {
    const { hide, authorizer, maxMessageBytes = DEFAULT_MESSAGE_BYTES } =
      options;
    const { headers } = config.server_parameters;
    this.#config = config;
    this.#options = options;
    this.#timeouts = httpTimeouts(config.server_parameters);
    const names = Object.keys(headers ?? {});
    const hasCredentials = names.some((name) =>
      name.toLowerCase() === "authorization"
    );
    const limited = fetchWithTimeouts(this.#timeouts, maxMessageBytes);
    const quoting = quotingFetch(limited, {
      hide,
      hasHeaders: names.length > 0,
      refused: (error) => this.#refusedStream = error,
    });
    this.#fetch = authorizedFetch(
      quoting,
      hasCredentials
        ? undefined
        : authorizer?.(config.name, config.server_parameters),
      (error) => this.#refusal = error,
    );
  }

  /**
   * Connects as configured, and to an older server over HTTP with SSE.
   *
   * @throws {AuthorizationError} when the server denies the Computer access
   * @throws {Error} that names the address and what was answered
   */
  async connect(): Promise<McpConnection> {
    const { type } = this.#config;
    const { requestMs } = this.#timeouts;
    try {
      return await this.#open(type, requestMs);
    } catch (error) {
      const { aborted } = this.#options.signal;
      if (type === "sse" || aborted || !isOfOlderServer(error)) {
        throw this.#explain(error);
      }
      try {
        return await this.#open("sse", Math.min(requestMs, FALLBACK_MS));
      } catch (second) {
        throw this.#explain(error, second);
      }
    }
  }

  async #open(type: HttpConfig["type"], ms: number): Promise<McpConnection> {
    const { signal } = this.#options;
    const limit = ms < this.#timeouts.requestMs ? "" : ' (its "timeout")';
    const error = () =>
      new Error(`it did not answer within ${ms / 1000} s${limit}`);
    try {
      return await withDeadline(ms, (signal) => this.#attempt(type, signal), {
        signal,
        error,
      });
    } catch (error) {
      throw type === "sse" && !signal.aborted
        ? this.#refusedStream ?? error
        : error;
    }
  }

  #attempt(
    type: HttpConfig["type"],
    signal: AbortSignal,
  ): Promise<McpConnection> {
    const { hide, ...options } = this.#options;
    const { requestMs, silenceMs } = this.#timeouts;
    const transport = new HttpTransport(type, this.#config, this.#fetch, hide);
    return openConnection(transport, {
      ...options,
      requestMs,
      pingEveryMs: silenceMs / 2,
      answers: () => transport.answers,
      signal,
      ...(type !== "sse" && {
        asksInAnswers: true,
        keepsNoSession: () => transport.keepsNoSession,
        responded: () => transport.responded(),
        terminate: transport.terminate,
      }),
    });
  }

  #explain(error: unknown, second?: unknown): unknown {
    if (this.#refusal instanceof AuthorizationError) return this.#refusal;
    if (this.#options.signal.aborted) return error;
    const first = httpReason(error);
    const reason = second === undefined
      ? first
      : `${first}; over HTTP with SSE, as older servers have it, ${
        httpReason(second)
      }`;
    const url = redactUrl(this.#config.server_parameters.url);
    return new Error(`cannot connect to ${url}: ${reason}`, { cause: error });
  }
}

/** Statuses with which a server of HTTP with SSE answers the first message of Streamable HTTP (MCP). */
const OF_OLDER_SERVERS: ReadonlySet<number> = new Set([400, 404, 405]);

/** A JSON-RPC error with HTTP 400 is an answer of Streamable HTTP. */
const isOfOlderServer = (error: unknown): boolean =>
  error instanceof HttpAnswerError && OF_OLDER_SERVERS.has(error.code) &&
  !(error.code === 400 && error.rpc);

/** Matches the beginning of Deno's reason: the address, with all that is secret in it. */
const DENO_PREFIX = /^error sending request for url \([^)]*\): /;

/** Finds the reason of a failed connection over HTTP: Node's "fetch failed" has it as its cause. */
function httpReason(error: unknown): string {
  if (error instanceof HttpAnswerError) return `it ${error.what}`;
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && /^fetch failed$/i.test(reasonOf(error))
    ? httpReason(cause)
    : reasonOf(error).replace(
      /^SSE error: (TypeError: fetch failed: )?/,
      "",
    ).replace(DENO_PREFIX, "");
}
