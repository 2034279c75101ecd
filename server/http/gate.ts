import { Buffer } from "node:buffer";
import { STATUS_CODES } from "node:http";
import {
  checkVersion,
  ERROR_CODE_HEADER,
  ErrorCode,
  type ErrorPayload,
  type Profile,
  VERSION_PARAMETER,
} from "../../protocol/mod.ts";

/** An HTTP answer that refuses a request; the same over polling and for an upgrade (spec §2). */
export interface Refusal {
  /** The HTTP status. */
  readonly status: 400 | 401 | 403 | 404 | 429 | 500 | 503;
  /** What beside the length belongs to it. */
  readonly headers: Readonly<Record<string, string>>;
  /** A flat error as JSON (spec §6). */
  readonly body: string;
}

/** Makes a refusal of a flat error. */
export function refusal(
  status: Refusal["status"],
  error: ErrorPayload,
): Refusal {
  const mismatch = error.code === ErrorCode.PROTOCOL_VERSION_MISMATCH;
  return {
    status,
    headers: {
      "Content-Type": "application/json",
      ...(mismatch && { [ERROR_CODE_HEADER]: String(error.code) }),
    },
    body: JSON.stringify(error),
  };
}

/** What is refused because nobody answers there. */
export const notFound = (): Refusal =>
  refusal(404, { code: ErrorCode.NOT_FOUND, message: "Not found" });

/** What is refused because nobody can tell what it asks for. */
export const invalidRequest = (): Refusal =>
  refusal(400, { code: ErrorCode.BAD_REQUEST, message: "Invalid request" });

/** A refusal as the web's own class. */
export const toResponse = ({ status, headers, body }: Refusal): Response =>
  new Response(body, { status, headers });

/** A refusal as the bytes of HTTP/1.1, for a connection that no HTTP server answers; it is closed then. */
export const toHttpText = ({ status, headers, body }: Refusal): string => {
  const lines = Object.entries(headers).map(([k, v]) => `${k}: ${v}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}` +
    `Content-Length: ${Buffer.byteLength(body)}\r\n` +
    `Connection: close\r\n\r\n${body}`;
};

/** The path and the query of a request target, in origin form (`/p?q`) or absolute form (`http://h/p?q`). */
export function splitTarget(target: string): { path: string; query: string } {
  const origin = target.replace(/^https?:\/\/[^/?#]*/i, "").split("#", 1)[0] ??
    "";
  const mark = origin.indexOf("?");
  return mark === -1
    ? { path: origin, query: "" }
    : { path: origin.slice(0, mark), query: origin.slice(mark + 1) };
}

/**
 * The version gate: decides about one Engine.IO request before Engine.IO sees it (spec §2).
 *
 * @param query of the request, without `?`
 * @param profile what the server speaks
 * @returns why not, or `undefined` when the request may pass
 */
export function checkGate(
  query: string,
  profile: Profile,
): Refusal | undefined {
  const sent = parametersOf(query).getAll(VERSION_PARAMETER);
  if (sent.length === 0 && !profile.handshake) return undefined;
  const check = checkVersion(sent, profile.version);
  return check.ok ? undefined : refusal(400, check.body);
}

/**
 * Refuses JSONP, Engine.IO's transport for browsers without CORS: any page could load it as a script.
 *
 * @param query of the request, without `?`
 */
export const checkTransport = (query: string): Refusal | undefined =>
  parametersOf(query).has("j")
    ? refusal(400, {
      code: ErrorCode.BAD_REQUEST,
      message: 'JSONP is not supported: leave out the query parameter "j"',
    })
    : undefined;

/** Tells whether a request opens a session rather than belonging to one. */
export const opensSession = (query: string): boolean => !sessionOf(query);

/** The session that a request belongs to; of several `sid` Engine.IO takes the last. */
export const sessionOf = (query: string): string | undefined =>
  parametersOf(query).getAll("sid").at(-1);

/** As Engine.IO reads them, which makes a URL of the request: that leaves out tabs and line ends. */
const parametersOf = (query: string): URLSearchParams =>
  new URL(`?${query}`, "http://server").searchParams;

/** Where Engine.IO answers: each path with and without a trailing slash. */
export const bothForms = (paths: readonly string[]): string[] =>
  paths.flatMap((path) => {
    const bare = path.replace(/\/+$/, "");
    return bare === "" ? ["/"] : [bare, `${bare}/`];
  });
