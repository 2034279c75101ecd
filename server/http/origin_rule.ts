import { ErrorCode } from "../../protocol/mod.ts";
import { type Refusal, refusal } from "../shared/refusal.ts";

/** Web origins whose pages may connect. */
export type Origins = "*" | readonly string[];

/** The page that a request comes from, according to the browser. */
export interface Provenance {
  /** The `Origin` header. */
  readonly origin: string | undefined;
  /** The `Sec-Fetch-Site` header. */
  readonly site: string | undefined;
}

/** Values of `Sec-Fetch-Site` for requests of no page, and of the server's own origin. */
const OWN_SITES: readonly (string | undefined)[] = [
  undefined,
  "none",
  "same-origin",
];

/**
 * Decides whether the origin of a request is allowed (spec §10).
 *
 * CORS does not cover WebSockets, which a page of any origin can open, nor resources that a page
 * loads: an `<img>` sends no `Origin`, but `Sec-Fetch-Site` reveals another site. Clients that send
 * neither header are not browsers, and may pass.
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
