import type { IncomingHttpHeaders } from "node:http";
import { ErrorCode, type ErrorPayload } from "../../protocol/errors.ts";
import { ERROR_CODE_HEADER } from "../../protocol/version.ts";

/** What is kept of a request, of `node:http` or of a platform's `fetch`. */
export interface RequestHead {
  /** The method. */
  readonly method?: string | undefined;
  /** The target. */
  readonly url?: string | undefined;
  /** The headers. */
  readonly headers: IncomingHttpHeaders;
  /** The connection. */
  readonly socket: {
    readonly remoteAddress?: string | undefined;
    readonly localAddress?: string | undefined;
    /** Whether it has TLS. */
    readonly encrypted?: boolean | undefined;
  };
}

/** A request with its body. */
export interface Incoming extends RequestHead, AsyncIterable<Uint8Array> {
  /** Drops what is left of the body, which would hold the connection open. */
  resume(): unknown;
}

/** The end of a response: its body is sent, or its client is gone. */
export interface Outgoing {
  /** Whether it has come. */
  readonly closed: boolean;
  /** Calls back when it comes. */
  on(event: "close", listener: () => void): unknown;
  /** The same as {@linkcode Outgoing.on}. */
  once(event: "close", listener: () => void): unknown;
  /** Marks that the body is not complete when the response is returned; `node:http` sees that by itself. */
  readonly lasts?: () => void;
  /** Ends the response early. */
  destroy(): unknown;
}

/** A request and its response, which `c.env` of the app has: those of `node:http`, or the like. */
export interface Exchange {
  /** The request. */
  readonly incoming: Incoming;
  /** The response. */
  readonly outgoing: Outgoing;
}

/** The WebSocket implementations. */
export const WS_ENGINES: readonly WsEngine[] = ["fast", "stock"];

/** The WebSocket implementation: this package's own (`fast`), or the package `ws` (`stock`). */
export type WsEngine = "fast" | "stock";

/**
 * Returns whether a URL is percent-encoded UTF-8. Routers leave what is not as it is, so that a name that
 * cannot be encoded would be another one.
 */
export function isEncoded(url: string): boolean {
  try {
    decodeURIComponent(url);
    return true;
  } catch {
    return false;
  }
}

/** Splits a request target into path and query, in origin form (`/p?q`) or absolute form (`http://h/p?q`). */
export function splitTarget(target: string): { path: string; query: string } {
  const [, path = "", query = ""] =
    /^(?:https?:\/\/[^/?#]*)?([^?#]*)\??([^#]*)/i.exec(target) ?? [];
  return { path, query };
}

/** Returns whether a request opens a session rather than belonging to one. */
export const opensSession = (query: string): boolean => !sessionOf(query);

/** Returns the session that a request belongs to; of several `sid` Engine.IO takes the last. */
export const sessionOf = (query: string): string | undefined =>
  parametersOf(query).getAll("sid").at(-1);

/** Parses a query like Engine.IO, which makes a URL of the request: tabs and line ends are dropped. */
export const parametersOf = (query: string): URLSearchParams =>
  new URL(`?${query}`, "http://server").searchParams;

/** An HTTP response that refuses a request; the same over polling and for an upgrade (protocol §2). */
export interface Refusal {
  /** The HTTP status. */
  readonly status: 400 | 401 | 403 | 404 | 413 | 429 | 500 | 503;
  /** Headers except for the length. */
  readonly headers: Readonly<Record<string, string>>;
  /** A flat error as JSON (protocol §6). */
  readonly body: string;
}

/**
 * Creates a refusal.
 *
 * @param error a flat error, or the message of one whose code is the status
 */
export function refusal(
  status: Refusal["status"],
  error: ErrorPayload | string,
): Refusal {
  const body = typeof error === "string"
    ? { code: status, message: error }
    : error;
  const mismatch = body.code === ErrorCode.PROTOCOL_VERSION_MISMATCH;
  return {
    status,
    headers: {
      "Content-Type": "application/json",
      ...(mismatch && { [ERROR_CODE_HEADER]: String(body.code) }),
    },
    body: JSON.stringify(body),
  };
}

/** The refusal for an unknown path. */
export const notFound = (message = "Not found"): Refusal =>
  refusal(404, message);

/** The refusal for a malformed request. */
export const invalidRequest = (): Refusal => refusal(400, "Invalid request");

/** Converts a refusal to a `Response`. */
export const toResponse = ({ status, headers, body }: Refusal): Response =>
  new Response(body, { status, headers });
