/**
 * The pages that a Server and a Computer show to observers: how they are served.
 *
 * @module
 */
import { answerPage, PAGE_HEADERS, type PageRequest } from "./answer.ts";
import { COMMON_PARTS, COMPUTER_PARTS, SERVER_PARTS } from "./assets.ts";

/** A page, each in a constant of its own, so that a role loads one alone. */
export interface ConsolePage {
  /** The title of its documents. */
  readonly title: string;
  /** The name of its script. */
  readonly script: string;
  /** Its own style sheets, which follow those of all pages. */
  readonly styles: readonly string[];
  /** Its own parts by their names. */
  readonly parts: Readonly<Record<string, string>>;
}

const STYLES = ["console", "parts", "narrow", "calls", "tools"];

/** The console of a Server. */
export const SERVER_PAGE: ConsolePage = {
  title: "A2C-SMCP",
  script: "server.js",
  styles: [],
  parts: SERVER_PARTS,
};

/** The page of one Computer. */
export const COMPUTER_PAGE: ConsolePage = {
  title: "A2C-SMCP Computer",
  script: "computer.js",
  styles: ["computer"],
  parts: COMPUTER_PARTS,
};

/** A request for a page, or for one of its parts. */
export type ConsoleRequest = PageRequest;

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
  ...PAGE_HEADERS,
};

/**
 * Answers a request for a page or one of its parts; none of them holds data, so that they need no token. A name is looked up among the parts, and no file is read.
 *
 * @returns 200, 304, 404 for an unknown part, or 405
 */
export const answerConsole = (
  page: ConsolePage,
  request: ConsoleRequest,
): Response =>
  answerPage({
    document: () => pageText(page),
    part: (name) =>
      [page.parts, COMMON_PARTS].find((parts) => Object.hasOwn(parts, name))
        ?.[name],
    headers: HEADERS,
  }, request);

/** All URLs are relative to the page, so that a proxy may mount it below a path. */
const pageText = ({ title, script, styles }: ConsolePage): string =>
  `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${title}</title>
    <link rel="icon" href="console/icon.svg">
    ${[...STYLES, ...styles].map(styleLink).join("\n    ")}
    <script type="module" src="console/${script}"></script>
  </head>
  <body>
    <noscript>This page needs JavaScript.</noscript>
  </body>
</html>
`;

const styleLink = (name: string): string =>
  `<link rel="stylesheet" href="console/style/${name}.css">`;
