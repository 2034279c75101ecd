/**
 * The page of a person's device, `/approve`: how it is served, and written to a folder.
 *
 * A module of its own, so that a Server without approvals loads none of it.
 *
 * @module
 */
import { answerPage, PAGE_HEADERS, type PageRequest } from "./answer.ts";
import { APPROVE_PARTS } from "./approve_assets.ts";

/** The rules of the page's content that a document can state, too. */
const RULES: readonly string[] = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "manifest-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "require-trusted-types-for 'script'",
  // The policy of the page's script names the one script of the service worker, whatever it is given.
  "trusted-types approve",
];

/** Of every answer, refusals too; the worker's script may be for the page above its folder. */
const HEADERS: Readonly<Record<string, string>> = {
  "Content-Security-Policy": [
    ...RULES,
    "connect-src 'self'",
    "frame-ancestors 'none'",
  ].join("; "),
  ...PAGE_HEADERS,
  "Service-Worker-Allowed": "../approve",
};

/**
 * Answers a request for `/approve` (without `part`) or one of its parts, `/approve/NAME`; none of them holds
 * data, so that they need no token.
 *
 * The page sends its requests to `approve/v1/OFFICE/COMPUTER` beside itself, whatever the address in its
 * link: where it is served under a host name of its own, these are to be served there, too.
 *
 * @returns 200, 304, 404 for an unknown part, or 405
 */
export const answerApprove = (request: PageRequest): Response =>
  answerPage({
    document: () => documentText("approve/"),
    part: (name) =>
      name === MANIFEST
        ? manifestText("../approve")
        : Object.hasOwn(APPROVE_PARTS, name)
        ? APPROVE_PARTS[name]
        : undefined,
    headers: HEADERS,
  }, request);

/**
 * Returns the files of the page for a static host, by their names: its policy is in its document, and the
 * one Server that it reaches.
 *
 * @param server the address of the Server, such as `https://smcp.example`
 */
export function approveFolder(
  server: string,
): Readonly<Record<string, string>> {
  const api = `${server.replace(/\/$/, "")}/approve/v1/`;
  const policy = [...RULES, `connect-src ${api}`].join("; ");
  const head = `
    <meta http-equiv="Content-Security-Policy" content="${policy}">
    <meta name="referrer" content="no-referrer">
    <meta name="server" content="${server.replace(/\/$/, "")}">`;
  return {
    "index.html": documentText("", head),
    [MANIFEST]: manifestText("./"),
    ...APPROVE_PARTS,
  };
}

const MANIFEST = "manifest.webmanifest";

/** All URLs are relative to the page, so that a proxy may mount it below a path. */
const documentText = (folder: string, head = ""): string =>
  `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">${head}
    <meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
    <meta name="color-scheme" content="light dark">
    <meta name="apple-mobile-web-app-title" content="Approvals">
    <title>Approvals</title>
    <link rel="icon" href="${folder}icon.svg">
    <link rel="manifest" href="${folder}${MANIFEST}">
    <link rel="stylesheet" href="${folder}approve.css">
    <script type="module" src="${folder}approve.js"></script>
  </head>
  <body>
    <noscript>This page needs JavaScript.</noscript>
  </body>
</html>
`;

/** @param page the address of the page, from that of the manifest */
const manifestText = (page: string): string =>
  JSON.stringify({
    name: "Approvals",
    short_name: "Approvals",
    description: "Answers tool calls that wait for a person",
    id: page,
    start_url: page,
    scope: page,
    display: "standalone",
    background_color: "#14161a",
    theme_color: "#14161a",
    icons: [{ src: "icon.svg", sizes: "any", type: "image/svg+xml" }],
  });
