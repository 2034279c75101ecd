import type { ResolvedOptions } from "../options.ts";
import { isOwnOrigin } from "./guards.ts";

/** Headers of responses that a page needs: to go on with its session, and to find out where to sign in. */
const EXPOSED = "Mcp-Session-Id, WWW-Authenticate";

/**
 * Returns the headers by which a browser lets a page read a response: for a request of another origin,
 * which has passed `checkHeaders()`. Others get none.
 */
export function corsHeaders(
  headers: Headers,
  { origins }: Pick<ResolvedOptions, "origins">,
): Readonly<Record<string, string>> | undefined {
  const origin = headers.get("origin");
  if (origin === null || isOwnOrigin(origin, headers.get("host"))) {
    return undefined;
  }
  return {
    "Access-Control-Expose-Headers": EXPOSED,
    ...(origins === "*"
      ? { "Access-Control-Allow-Origin": "*" }
      : { "Access-Control-Allow-Origin": origin, "Vary": "Origin" }),
  };
}

/**
 * Answers what a browser asks before it sends a page's request.
 *
 * @param headers of the question
 * @param shared from {@linkcode corsHeaders}
 */
export function preflight(
  headers: Headers,
  shared: Readonly<Record<string, string>>,
): Response {
  // Clients send headers of MCP that are named after the arguments of tools, too.
  const asked = headers.get("access-control-request-headers");
  return new Response(null, {
    status: 204,
    headers: {
      ...shared,
      "Access-Control-Allow-Methods": "GET, POST, DELETE",
      ...(asked !== null && { "Access-Control-Allow-Headers": asked }),
    },
  });
}
