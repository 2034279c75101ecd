/**
 * The `fetch` of both HTTP transports, which ensures that no request waits for an answer that
 * cannot come: a stream that ends without an answer gets one, and a forgotten session is
 * recognised.
 *
 * @module
 */
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport";
import {
  CONNECTION_CLOSED,
  MessageTooLargeError,
  PARSE_ERROR,
  SessionForgottenError,
} from "./errors.ts";
import {
  contentError,
  type Hide,
  noMessageError,
  statusError,
} from "./http_answers.ts";
import {
  EventScanner,
  isEventStream,
  mediaTypeOf,
  passOn,
  requestIdOf,
} from "./limited_fetch.ts";

/** The requests without an answer by id, and whether the rest of it is in the body of the HTTP response. */
export type PendingRequests = Map<string | number, boolean>;

/** How often the MCP SDK tries to resume an interrupted answer. */
export const RESUME_ATTEMPTS = 2;
/** Maximum number of interrupted answers to remember. */
const MAX_RESUMABLE = 1_000;

/** How a session over HTTP takes the answers to its requests. */
export interface AnswerOptions {
  /** Hides secrets in what the server answers. */
  readonly hide: Hide;
  /** Called when the server has answered a request, with anything. */
  readonly answered: () => void;
}

/** An interrupted answer. */
interface CutAnswer {
  readonly id: number;
  failures: number;
}

/**
 * Wraps `fetch` for Streamable HTTP so that no request waits for an answer that cannot come.
 *
 * The MCP SDK resumes an interrupted answer if its events have ids. Without ids, or when that
 * fails, the request would wait for its timeout; instead, an error is appended to the stream.
 *
 * @param lost answers a request by an error
 * @throws {SessionForgottenError} for a request that was answered with 404
 * @throws {HttpAnswerError} for a message that was answered with something that is not MCP
 */
export function answeringFetch(
  fetch: FetchLike,
  pending: PendingRequests,
  { hide, answered, lost }: AnswerOptions & {
    readonly lost: (id: number) => void;
  },
): FetchLike {
  const streams = new AnswerStreams(fetch, pending, lost);
  return async (url, init = {}) => {
    const headers = new Headers(init.headers);
    const eventId = headers.get("last-event-id");
    // A timer of the MCP SDK may outlive its transport, and would try again after an error.
    if (init.method === "GET" && init.signal?.aborted) return noStream();
    if (eventId !== null && streams.isCut(eventId)) {
      return await streams.resume(eventId, url, init);
    }
    const response = await fetch(url, init);
    const id = requestIdOf(init);
    if (id !== undefined) {
      answered();
      if (response.status === 404 && headers.has("mcp-session-id")) {
        throw new SessionForgottenError(await statusError(response, hide));
      }
    }
    if (init.method === "POST" && response.status >= 400) {
      throw await statusError(response, hide);
    }
    if (id === undefined) return response;
    // Statuses for what is no request: they have no message, and none comes later.
    if (response.status === 202 || response.status === 204) {
      throw await noMessageError(response);
    }
    const isWhole = response.ok && !isEventStream(response);
    if (isWhole && mediaTypeOf(response) !== "application/json") {
      throw await contentError(response, hide);
    }
    if (isWhole && pending.has(id)) pending.set(id, true);
    return streams.ending(response, id);
  };
}

/** The answers of a session as streams of events, and those that were cut. */
class AnswerStreams {
  readonly #fetch: FetchLike;
  readonly #pending: PendingRequests;
  readonly #lost: (id: number) => void;
  /** The interrupted answers by their last event. */
  readonly #cuts = new Map<string, CutAnswer>();

  constructor(
    fetch: FetchLike,
    pending: PendingRequests,
    lost: (id: number) => void,
  ) {
    this.#fetch = fetch;
    this.#pending = pending;
    this.#lost = lost;
  }

  /** Returns whether an answer was cut after this event. */
  isCut(eventId: string): boolean {
    return this.#cuts.has(eventId);
  }

  /** Forwards the events; appends an error for the request if they end and cannot be resumed. */
  ending(response: Response, id: number): Response {
    if (!response.body || !isEventStream(response)) return response;
    const events = new EventScanner();
    const onChunk = (chunk: Uint8Array) => events.push(chunk);
    const onEnd = (error?: unknown) => this.#ended(id, events.lastId, error);
    return new Response(passOn(response.body, { onChunk, onEnd }), response);
  }

  /** Requests the rest of an answer that was cut. */
  async resume(
    eventId: string,
    ...request: Parameters<FetchLike>
  ): Promise<Response> {
    const cut = this.#cuts.get(eventId);
    if (!cut || !this.#pending.has(cut.id)) return this.#giveUp(eventId);
    let response: Response;
    try {
      response = await this.#fetch(...request);
    } catch (error) {
      if (++cut.failures >= RESUME_ATTEMPTS) return this.#giveUp(eventId);
      throw error;
    }
    if (response.ok) {
      this.#cuts.delete(eventId);
      return this.ending(response, cut.id);
    }
    if (response.status < 500 || ++cut.failures >= RESUME_ATTEMPTS) {
      await response.body?.cancel();
      return this.#giveUp(eventId);
    }
    return response;
  }

  /** Answers the request by an error; returns what ends the attempts of the MCP SDK. */
  #giveUp(eventId: string): Response {
    const cut = this.#cuts.get(eventId);
    this.#cuts.delete(eventId);
    if (cut) this.#lost(cut.id);
    return noStream();
  }

  /** Returns the bytes to append to a stream that ended, if its request is not answered and cannot be. */
  #ended(
    id: number,
    lastId: string | undefined,
    error: unknown,
  ): Uint8Array<ArrayBuffer> | undefined {
    if (!this.#pending.has(id)) return undefined;
    if (lastId !== undefined) {
      this.#cuts.set(lastId, { id, failures: 0 });
      const [oldest] = this.#cuts.keys();
      if (this.#cuts.size > MAX_RESUMABLE && oldest) this.#cuts.delete(oldest);
    }
    const tooLarge = error instanceof MessageTooLargeError ? error : undefined;
    return lastId === undefined || tooLarge
      ? errorEvent(id, tooLarge)
      : undefined;
  }
}

/** The answer to a GET after which the MCP SDK does not try again. */
const noStream = () => new Response(null, { status: 405 });

/** Returns an event that answers a request with an error, after the end of an interrupted event. */
function errorEvent(
  id: number,
  tooLarge?: MessageTooLargeError,
): Uint8Array<ArrayBuffer> {
  const error = tooLarge
    ? { code: PARSE_ERROR, message: `The MCP server ${tooLarge.message}` }
    : { code: CONNECTION_CLOSED, message: "Connection closed" };
  const answer = JSON.stringify({ jsonrpc: "2.0", id, error });
  return new TextEncoder().encode(`\n\ndata: ${answer}\n\n`);
}

/**
 * Creates a `fetch` for HTTP with SSE, where the session is one stream of events: when the stream
 * ends, all pending answers are lost.
 *
 * @param lost called when the stream ended
 * @throws {SessionForgottenError} for a request that was answered with 404
 * @throws {HttpAnswerError} for a message that was answered with a status of failure
 */
export const sessionFetch = (
  fetch: FetchLike,
  { hide, answered, lost }: AnswerOptions & { readonly lost: () => void },
): FetchLike =>
async (url, init = {}) => {
  const response = await fetch(url, init);
  if (init.method === "POST" && response.status >= 400) {
    answered();
    const error = await statusError(response, hide);
    throw response.status === 404 && isUnderway(init)
      ? new SessionForgottenError(error)
      : error;
  }
  if (!response.ok || !response.body || !isEventStream(response)) {
    return response;
  }
  const onEnd = () => queueMicrotask(lost);
  return new Response(passOn(response.body, { onEnd }), response);
};

/** Returns whether a request is part of an open session; before, a 404 means a wrong address. */
const isUnderway = (init: RequestInit): boolean =>
  requestIdOf(init) !== undefined &&
  !String(init.body).startsWith('{"method":"initialize"');
