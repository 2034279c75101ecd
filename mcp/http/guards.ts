/**
 * What every HTTP request passes, and every response is made with.
 *
 * The headers `Host` and `Origin` are checked before anything reads a request; pages of allowed
 * origins get the headers of CORS. A failure before any method is a JSON-RPC error. `untilEnd()`
 * calls back when a response has been sent to its end, which holds sessions, views and seats; of these there
 * is a limited number, and the idle one that was used longest ago gives way to a new one.
 *
 * @module
 */
import { isIP } from "node:net";
import type { ResolvedOptions } from "../options.ts";

/**
 * Refuses what a page of the web could make a browser send: requests of a foreign origin, and those
 * for a foreign name that its owner points to this machine (DNS rebinding).
 *
 * @returns why, for the person who runs the client
 */
export function checkHeaders(
  headers: Headers,
  { hosts, origins }: Pick<ResolvedOptions, "hosts" | "origins">,
): string | undefined {
  const host = headers.get("host");
  if (host !== null && hosts !== "*" && !isOurs(host, hosts)) {
    return "Host not allowed";
  }
  const origin = headers.get("origin");
  if (origin === null || origins === "*" || origins.includes(origin)) {
    return undefined;
  }
  // Where any host passes, a page of the same name may be anybody's.
  const isOwn = hosts !== "*" && isOwnOrigin(origin, host);
  return isOwn ? undefined : "Origin not allowed";
}

/** Whether a page is of the name that its request is for. */
const isOwnOrigin = (origin: string, host: string | null): boolean =>
  host !== null && [`http://${host}`, `https://${host}`].includes(origin);

function isOurs(host: string, hosts: readonly string[]): boolean {
  const url = `http://${host}`;
  if (!URL.canParse(url)) return false;
  const name = new URL(url).hostname.replace(/\.$/, "")
    .replace(/^\[(.*)\]$/, "$1");
  return hosts.includes(name) || isThisMachine(name);
}

const isThisMachine = (name: string): boolean =>
  name === "localhost" || name.endsWith(".localhost") || name === "::1" ||
  isIP(name) === 4 && name.startsWith("127.");

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

/** JSON-RPC codes of errors that belong to no request. */
export const RpcError = {
  /** The body is no JSON. */
  PARSE: -32700,
  /** The request cannot be served as it is. */
  REFUSED: -32000,
  /** There is no such session (2025): the client begins another. */
  NO_SESSION: -32001,
  /** Headers differ from the body (2026-07-28). */
  HEADER_MISMATCH: -32020,
} as const;

/** Makes a response with a JSON-RPC error, as clients of MCP expect for all that fails before a method. */
export const refusal = (
  status: number,
  message: string,
  code: number = RpcError.REFUSED,
  id: string | number | null = null,
): Response =>
  Response.json({ jsonrpc: "2.0", error: { code, message }, id }, { status });

/** The media types of responses. */
const RESPONSE_TYPES = ["application/json", "text/event-stream"];

/**
 * Lists the media types of responses that a client takes (RFC 9110 §12.5.1): of the ranges that match
 * one, the most specific counts. Without the header it takes all.
 */
export function acceptedTypes(accept: string | null): string[] {
  if (accept === null) return [...RESPONSE_TYPES];
  const ranges = new Map(
    accept.toLowerCase().split(",").map((range) => {
      const [type = "", ...parameters] = range.split(";")
        .map((part) => part.trim());
      const isRefused = parameters.some((one) => /^q=0(\.0*)?$/.test(one));
      return [type, !isRefused];
    }),
  );
  return RESPONSE_TYPES.filter((type) => {
    const group = type.replace(/[^/]+$/, "*");
    return ranges.get(type) ?? ranges.get(group) ?? ranges.get("*/*") ?? false;
  });
}

/** Whether a client takes both types of responses, as it must. */
export const acceptsBoth = (accept: string | undefined): boolean =>
  accept === RESPONSE_TYPES.join(", ") ||
  acceptedTypes(accept ?? null).length === RESPONSE_TYPES.length;

/** Returns a request, whose body was read, with the types that its client takes by their names: the MCP SDK searches for them. */
export function withPlainAccept(request: Request): Request {
  const { url, method, headers, signal } = request;
  const given = headers.get("accept");
  const accept = acceptedTypes(given).join(", ");
  if (accept === given) return request;
  const plain = new Headers(headers);
  plain.set("accept", accept);
  return new Request(url, { method, headers: plain, signal });
}

/**
 * Answers a request, and calls a function once when the body of the response has ended, however it
 * ended; immediately where there is none.
 *
 * @param isHeld whether the body is waited for; default always
 */
export async function untilEnd(
  answer: () => Promise<Response>,
  ended: () => void,
  isHeld: (response: Response) => boolean = () => true,
): Promise<Response> {
  let response: Response | undefined;
  try {
    response = await answer();
  } finally {
    if (!response?.body || !isHeld(response)) ended();
  }
  const { body, status, statusText, headers } = response;
  if (body === null || !isHeld(response)) return response;
  let isOver = false;
  const over = () => {
    if (!isOver) ended();
    isOver = true;
  };
  const reader = body.getReader();
  const watched = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        over();
        controller.close();
      } catch (error) {
        over();
        controller.error(error);
      }
    },
    async cancel(reason) {
      over();
      await reader.cancel(reason);
    },
  }, { highWaterMark: 0 });
  return new Response(watched, { status, statusText, headers });
}
