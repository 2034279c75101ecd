/**
 * How static texts of pages are answered.
 *
 * @module
 */
import { createHash } from "node:crypto";

/** A request for a page, or for one of its parts. */
export interface PageRequest {
  /** The method of HTTP. */
  readonly method: string;
  /** Undefined for the page itself, otherwise the name of a part such as `ui/element.js`, as it came. */
  readonly part?: string;
  /** The header `If-None-Match`. */
  readonly ifNoneMatch?: string | undefined;
}

/** What a page consists of. */
export interface PageTexts {
  /** The document. */
  readonly document: () => string;
  /** Returns the text of a part; undefined for an unknown name. */
  readonly part: (name: string) => string | undefined;
  /** Of every answer, refusals too. */
  readonly headers: Readonly<Record<string, string>>;
}

/** The media types of the parts, by the end of their names. */
const TYPES: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
  webmanifest: "application/manifest+json",
};

/** The headers of every page, beside the policy of its content. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "Cache-Control": "no-cache",
};

/**
 * Answers a request for a page or one of its parts; no file is read.
 *
 * @returns 200, 304, 404 for an unknown part, or 405
 */
export function answerPage(
  { document, part: partText, headers: always }: PageTexts,
  { method, part, ifNoneMatch }: PageRequest,
): Response {
  const answer = (
    status: number,
    body: string | null,
    headers: Readonly<Record<string, string>> = {},
  ): Response =>
    new Response(body, {
      status,
      headers: { ...always, "Content-Type": "text/plain", ...headers },
    });
  if (method !== "GET" && method !== "HEAD") {
    return answer(405, "Only GET and HEAD", { Allow: "GET, HEAD" });
  }
  const text = part === undefined ? document() : partText(part);
  if (text === undefined) return answer(404, "Not found");
  const type = part === undefined
    ? "text/html; charset=utf-8"
    : TYPES[part.slice(part.lastIndexOf(".") + 1)] ?? "text/plain";
  const etag = `"${createHash("sha256").update(text).digest("base64url")}"`;
  const isKnown = ifNoneMatch?.split(/\s*,\s*/)
    .some((known) => known.replace(/^W\//, "") === etag);
  const headers = { "Content-Type": type, ETag: etag };
  return isKnown
    ? answer(304, null, headers)
    : answer(200, method === "HEAD" ? null : text, headers);
}
