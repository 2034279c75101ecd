/**
 * The API behind a page, at a Server and at a Computer: guards of host, origin and token, problems, and
 * streams of server-sent events, as middleware of Hono.
 *
 * @module
 */
import type { IncomingMessage } from "node:http";
import type { HttpBindings } from "@hono/node-server";
import type { Context, ErrorHandler, MiddlewareHandler } from "hono";
import { bearerToken, isOwnPage, type PageHeaders } from "./authorization.ts";
import { ProblemError, problemOf, toProblemResponse } from "./http.ts";

/** The Hono environment of these APIs: `c.env` has the request and response of `node:http`. */
export interface PageEnv {
  /** The type of `c.env`. */
  Bindings: HttpBindings;
}

/** Creates middleware that sets a header of all answers, refusals too. */
export const answerHeader =
  (name: string, value: string): MiddlewareHandler => async (c, next) => {
    await next();
    c.res.headers.set(name, value);
  };

/** Creates the error handler of an API: sends problems, and what `unexpected` makes of other errors. */
export const sendProblems = <E extends PageEnv>(
  unexpected: (error: unknown) => ProblemError,
): ErrorHandler<E> =>
(error, c) => {
  c.env.incoming.resume(); // an unread body would hold the connection open
  const problem = error instanceof ProblemError ? error : unexpected(error);
  return toProblemResponse(problem);
};

/**
 * Creates middleware that refuses requests for other hosts, which another site gets by pointing its name
 * to this machine.
 *
 * @param isOwn whether a request is for a host of this server
 * @param fix lists known names
 */
export const hostGuard = (
  isOwn: (incoming: IncomingMessage) => boolean,
  fix: string,
): MiddlewareHandler<PageEnv> =>
async (c, next) => {
  if (isOwn(c.env.incoming)) return await next();
  throw problemOf(403, "Host", "unknown host name", fix);
};

/** Which pages may use an API. */
interface OriginRule {
  /** How to send an accepted request. */
  readonly fix: string;
  /** Returns the hosts of the API's own pages. */
  hosts(incoming: IncomingMessage): readonly (string | undefined)[];
  /** Records a refused page. */
  onRefused?(page: PageHeaders, incoming: IncomingMessage): void;
}

/** Creates middleware that refuses requests of pages of other origins. */
export const originGuard =
  ({ fix, hosts, onRefused }: OriginRule): MiddlewareHandler<PageEnv> =>
  async (c, next) => {
    const { incoming } = c.env;
    const { origin, "sec-fetch-site": site } = incoming.headers;
    const page = {
      origin,
      site: typeof site === "string" ? site : undefined,
    };
    if (hosts(incoming).some((host) => isOwnPage(page, host))) {
      return await next();
    }
    onRefused?.(page, incoming);
    throw problemOf(403, "Origin", "pages of other origins are refused", fix);
  };

/** Which tokens an API accepts. */
interface TokenRule<E extends PageEnv> {
  /** The realm of the challenge. */
  readonly realm: string;
  /** How to get a valid token. */
  readonly fix: string;
  /**
   * Checks the token of a request.
   *
   * @returns the problem of a request without a valid token
   */
  check(
    token: string | undefined,
    c: Context<E>,
  ): string | undefined | Promise<string | undefined>;
}

/**
 * Creates middleware that requires a token in the header `Authorization`. No cookie and no other header
 * counts: pages of other sites cannot make a browser send this one.
 */
export const tokenGuard = <E extends PageEnv>(
  { realm, fix, check }: TokenRule<E>,
): MiddlewareHandler<E> =>
async (c, next) => {
  const { authorization } = c.env.incoming.headers;
  const problem = await check(bearerToken(authorization), c);
  if (problem === undefined) return await next();
  throw new ProblemError(401, [{ field: "Authorization", problem, fix }], {
    "WWW-Authenticate": `Bearer realm="${realm}"`,
  });
};

/** How often an idle stream gets a comment: proxies close silent connections after a minute. */
export const COMMENT_INTERVAL_MS = 15_000;

const encoder = new TextEncoder();

/** A comment, which keeps a stream of server-sent events open. */
export const SSE_COMMENT: Uint8Array = encoder.encode(":\n\n");

/** Formats a server-sent event; JSON has no line breaks. */
export const sseText = (id: string, kind: string, json: string): string =>
  `id: ${id}\nevent: ${kind}\ndata: ${json}\n\n`;

/** Encodes a server-sent event. */
export const sseBytes = (id: string, kind: string, data: unknown): Uint8Array =>
  encoder.encode(sseText(id, kind, JSON.stringify(data)));

/** Answers with a stream of server-sent events. */
export const toEventStream = (
  events: ReadableStream<Uint8Array>,
  headers: Readonly<Record<string, string>>,
): Response =>
  new Response(events, {
    headers: { "Content-Type": "text/event-stream", ...headers },
  });

/** The problem of a stream beyond the limit, or during a shutdown. */
export const noMoreStreams = (problem: string): ProblemError =>
  new ProblemError(
    503,
    [{ field: "events", problem, fix: "close one, or try again later" }],
    { "Retry-After": "5" },
  );
