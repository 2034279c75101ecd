import type { IncomingMessage } from "node:http";
import {
  bearerToken,
  isOwnPage,
  isSameToken,
} from "../../../shared/authorization.ts";
import { ProblemError, problemOf } from "../../../shared/http.ts";

/** Any port, since a tunnel may have another one than this server. */
const LOOPBACK_HOST = /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/i;

/**
 * Refuses requests for another host, which a page gets by pointing its name to this machine.
 *
 * @throws {ProblemError} 403
 */
export function checkHost({ headers: { host = "" } }: IncomingMessage): void {
  if (LOOPBACK_HOST.test(host)) return;
  throw problemOf(
    403,
    "Host",
    "this Computer has not that name",
    "use the link that it printed",
  );
}

/**
 * Refuses requests of other pages than its own, and those without the token.
 *
 * @throws {ProblemError} 401, 403
 */
export function checkSender(
  { headers }: IncomingMessage,
  token: string,
): void {
  const { host, origin, "sec-fetch-site": site, authorization } = headers;
  const from = typeof site === "string" ? site : undefined;
  if (!isOwnPage({ origin, site: from }, host)) {
    throw problemOf(
      403,
      "Origin",
      "pages of other sites may not ask",
      "ask from the page of this Computer, or from no page",
    );
  }
  const sent = bearerToken(authorization);
  if (sent !== undefined && isSameToken(sent, token)) return;
  throw new ProblemError(
    401,
    [{
      field: "Authorization",
      problem:
        "it has not the token of this Computer, which is a new one at each start",
      fix: "open the link that it printed last",
    }],
    { "WWW-Authenticate": 'Bearer realm="computer"' },
  );
}
