/**
 * The pages that a Server and a Computer show to those who look on: how they are served.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { ASSETS } from "./assets.ts";

/** Whose page it is: the console of a Server, or that of one Computer. */
export type ConsolePage = "server" | "computer";

/** A request for a page, or for one of its parts. */
export interface ConsoleRequest {
  /** The method of HTTP. */
  readonly method: string;
  /** Undefined for the page itself, otherwise the name of a part such as `ui/element.js`, as it came. */
  readonly part?: string;
  /** The header `If-None-Match`. */
  readonly ifNoneMatch?: string | undefined;
}

const TITLES: Readonly<Record<ConsolePage, string>> = {
  server: "A2C-SMCP",
  computer: "A2C-SMCP Computer",
};

/** The style sheets of each page, one after the other. */
const STYLES: Readonly<Record<ConsolePage, readonly string[]>> = {
  server: ["console", "parts", "narrow", "calls", "tools"],
  computer: ["console", "parts", "narrow", "calls", "tools", "computer"],
};

/** The media types of the parts, by the end of their names. */
const TYPES: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
};

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "media-src blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/** Of every answer, refusals too. */
const HEADERS: Readonly<Record<string, string>> = {
  "Content-Security-Policy": POLICY,
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "Cache-Control": "no-cache",
};

/**
 * Answers a request for a page or one of its parts; none of them holds data, so that anybody may have
 * them. The parts are those in {@linkcode ASSETS}: a name is looked up there, and no file is read.
 *
 * @param page whose page it is
 * @returns 200, 304, 404 for an unknown part, or 405
 */
export function answerConsole(
  page: ConsolePage,
  { method, part, ifNoneMatch }: ConsoleRequest,
): Response {
  if (method !== "GET" && method !== "HEAD") {
    return answer(405, "Only GET and HEAD", { Allow: "GET, HEAD" });
  }
  const text = part === undefined
    ? pageText(page)
    : Object.hasOwn(ASSETS, part)
    ? ASSETS[part]
    : undefined;
  if (text === undefined) return answer(404, "Not found");
  const type = part === undefined
    ? "text/html; charset=utf-8"
    : TYPES[part.slice(part.lastIndexOf(".") + 1)] ?? "text/plain";
  const etag = `"${createHash("sha256").update(text).digest("base64url")}"`;
  const isKnown = ifNoneMatch?.split(/\s*,\s*/)
    .some((known) => known.replace(/^W\//, "") === etag);
  const headers = { "Content-Type": type, ETag: etag };
  if (isKnown) {
    return new Response(null, {
      status: 304,
      headers: { ...HEADERS, ...headers },
    });
  }
  return answer(200, method === "HEAD" ? null : text, headers);
}

const answer = (
  status: number,
  body: string | null,
  headers: Readonly<Record<string, string>> = {},
): Response =>
  new Response(body, {
    status,
    headers: { ...HEADERS, "Content-Type": "text/plain", ...headers },
  });

/** What a page loads is relative to it, so that a proxy may mount it below a path. */
const pageText = (page: ConsolePage): string =>
  `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${TITLES[page]}</title>
    <link rel="icon" href="console/icon.svg">
    ${STYLES[page].map(styleLink).join("\n    ")}
    <script type="module" src="console/${page}.js"></script>
  </head>
  <body>
    <noscript>This page needs JavaScript.</noscript>
  </body>
</html>
`;

const styleLink = (name: string): string =>
  `<link rel="stylesheet" href="console/style/${name}.css">`;
