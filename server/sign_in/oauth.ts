/**
 * What all endpoints of sign-in share: errors, parameters that are given once, bodies, and the address of
 * a request.
 *
 * @module
 */
import type { Context, MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import type { SmcpEnv } from "../http/http_app.ts";
import { addressOf } from "../limits/limits.ts";
import { Tries } from "../limits/tries.ts";
import type { Exchange } from "../shared/http.ts";

/** The codes of errors (RFC 6749, 7591, 8707, OpenID Connect Core). */
export type OAuthCode =
  | "invalid_request"
  | "invalid_client"
  | "invalid_grant"
  | "invalid_target"
  | "invalid_client_metadata"
  | "invalid_redirect_uri"
  | "unsupported_grant_type"
  | "unsupported_response_type"
  | "request_not_supported"
  | "interaction_required"
  | "access_denied"
  | "temporarily_unavailable";

/** A request that is refused. */
export class OAuthFault extends Error {
  readonly code: OAuthCode;

  /** @param message for the developer of the program, without secrets */
  constructor(code: OAuthCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** The statuses of errors that are not 400. */
const STATUSES: Partial<Record<OAuthCode, number>> = {
  // At this status programs register again.
  invalid_client: 401,
  temporarily_unavailable: 429,
};

/** What is counted of an address, with the most of it in a minute. */
const MOST_TRIES = {
  /** Keys that were refused. */
  key: 10,
  /** Requests for a token that were refused; further ones get less of an answer, and no line in the audit log. */
  token: 300,
  /** Registrations, of which nothing is kept. */
  register: 300,
  /** Requests for the page that were refused; then no document is fetched. */
  authorize: 120,
};

/** What an address may do in a minute. */
export class SignInTries extends Tries<keyof typeof MOST_TRIES> {
  constructor() {
    super(MOST_TRIES);
  }
}

/** The headers of answers that hold secrets, or depend on what changes. */
export const NO_STORE = { "Cache-Control": "no-store" } as const;

/** Answers with an error. */
export const toErrorResponse = ({ code, message }: OAuthFault): Response =>
  Response.json({ error: code, error_description: message }, {
    status: STATUSES[code] ?? 400,
    headers: {
      ...NO_STORE,
      ...(code === "temporarily_unavailable" && { "Retry-After": "60" }),
    },
  });

/** Parameters of a query or a form. An empty one is as none (RFC 6749 §3.1), and each may be given once. */
export class Parameters {
  readonly #all: URLSearchParams;

  constructor(text: string) {
    this.#all = new URLSearchParams(text);
  }

  /** @throws {OAuthFault} for one that is given twice */
  get(name: string): string | undefined {
    const [value, ...more] = this.#all.getAll(name);
    if (more.length === 0) return value || undefined;
    throw new OAuthFault("invalid_request", `${name} is given twice`);
  }

  /** All values of one that may be given more than once. */
  getAll(name: string): string[] {
    return this.#all.getAll(name);
  }
}

const FORM = /^application\/x-www-form-urlencoded *(;|$)/i;

/**
 * Reads a form.
 *
 * @throws {OAuthFault} for another type, and where the client goes before its end
 */
export async function readForm(c: Context<SmcpEnv>): Promise<Parameters> {
  if (FORM.test(c.req.header("content-type") ?? "")) {
    const text = await c.req.text().catch(() => {
      throw brokenOff();
    });
    return new Parameters(text);
  }
  throw new OAuthFault(
    "invalid_request",
    "Content-Type: expected application/x-www-form-urlencoded",
  );
}

/** A page that cannot be shown, or a form that cannot be taken. */
export class PageFault extends Error {
  readonly status: number;

  /** @param message for the person */
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** @throws {PageFault} for a form of another site than the issuer's */
export function checkForm(c: Context<SmcpEnv>, issuer: string): void {
  const { origin } = new URL(issuer);
  const site = c.req.header("sec-fetch-site") ?? "same-origin";
  const from = c.req.header("origin") ?? origin;
  if (site === "same-origin" && from === origin) return;
  throw new PageFault(403, "This form came from another site.");
}

/** Makes middleware that refuses bodies that are larger, or that break off before their size is known. */
export function maxBody(maxSize: number): MiddlewareHandler<SmcpEnv> {
  const limit = bodyLimit({
    maxSize,
    onError: (c) => {
      const { incoming }: Partial<Exchange> = c.env ?? {};
      incoming?.resume(); // an unread body would hold the connection open
      return Response.json({
        error: "invalid_request",
        error_description: `the body has more than ${maxSize} bytes`,
      }, { status: 413, headers: NO_STORE });
    },
  });
  return async (c, next) => {
    let isRead = false;
    try {
      return await limit(c, () => {
        isRead = true;
        return next();
      });
    } catch (error) {
      if (isRead) throw error;
      return toErrorResponse(brokenOff());
    }
  };
}

/** Its client is gone; in the log that would look like a failure of the Server. */
const brokenOff = (): OAuthFault =>
  new OAuthFault("invalid_request", "the body broke off");

/** Returns the address that a request came from; empty where there is none, as in a call of the app. */
export function clientOf(c: Context<SmcpEnv>, proxies: number): string {
  const { incoming }: Partial<Exchange> = c.env ?? {};
  return incoming === undefined ? "" : addressOf(incoming, { proxies });
}
