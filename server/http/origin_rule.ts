import { ErrorCode } from "../../protocol/mod.ts";
import { type Refusal, refusal } from "../shared/refusal.ts";

/** Web origins whose pages may connect. */
export type Origins = "*" | readonly string[];

/** What a browser says of the page that makes a request. */
export interface Provenance {
  /** The `Origin` header. */
  readonly origin: string | undefined;
  /** The `Sec-Fetch-Site` header. */
  readonly site: string | undefined;
}

/** Requests of no page, and of a page that the server's own address has served. */
const OWN_SITES: readonly (string | undefined)[] = [
  undefined,
  "none",
  "same-origin",
];

/**
 * Decides whether a request may come from where it says (spec §10).
 *
 * CORS does not guard WebSockets: a page of any origin can open one, and only this check stops it.
 * Nor does it guard what a page merely loads: an `<img>` sends no `Origin`, but the browser says
 * that another site asks for it. Who sends neither header is no browser, and may pass.
 */
export function checkOrigin(
  { origin, site }: Provenance,
  origins: Origins,
): Refusal | undefined {
  if (origins === "*") return undefined;
  const isAllowed = origin === undefined
    ? OWN_SITES.includes(site)
    : origins.includes(origin);
  return isAllowed ? undefined : refusal(403, {
    code: ErrorCode.FORBIDDEN,
    message: "Origin not allowed",
  });
}
