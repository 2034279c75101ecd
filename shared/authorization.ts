import { createHash, timingSafeEqual } from "node:crypto";

/** The page that a request comes from, according to the browser. */
export interface PageHeaders {
  /** The `Origin` header. */
  readonly origin: string | undefined;
  /** The `Sec-Fetch-Site` header. */
  readonly site: string | undefined;
}

/**
 * Decides whether a request comes from no page, or from a page of the server itself.
 *
 * Unlike for clients, no other page can be allowed: operators use the pages of this server only.
 *
 * @param host the `Host` header, which was found to be this server's
 */
export function isOwnPage(
  { origin, site }: PageHeaders,
  host: string | undefined,
): boolean {
  if (site !== undefined && site !== "same-origin" && site !== "none") {
    return false;
  }
  if (origin === undefined) return true;
  // A proxy may have taken TLS off, so the scheme is no evidence.
  return host !== undefined && URL.canParse(origin) &&
    new URL(origin).host === host.toLowerCase().replace(/:(80|443)$/, "");
}

/** Returns the token of an `Authorization` header of the scheme Bearer. */
export const bearerToken = (
  authorization: string | null | undefined,
): string | undefined => /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1];

/** Compares tokens in a time that does not depend on them: their digests have one length. */
export const isSameToken = (sent: string, token: string): boolean =>
  timingSafeEqual(digest(sent), digest(token));

const digest = (text: string): Uint8Array =>
  createHash("sha256").update(text).digest();
