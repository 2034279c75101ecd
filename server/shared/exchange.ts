import type { IncomingHttpHeaders } from "node:http";

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
  /** Says that the body is not complete when the response is returned; `node:http` sees that by itself. */
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
