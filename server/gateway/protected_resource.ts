import type { IncomingMessage } from "node:http";

/** Where OAuth clients look for what protects a resource (RFC 9728). */
export const METADATA_ROOT = "/.well-known/oauth-protected-resource";

/** A name or an address, with an optional port: a URL may hold more, such as the quote that ends a header's text. */
const HOST = /^[\w.:[\]-]+$/;

/** A resource of a gateway, as its clients see it. */
export interface ResourceUrls {
  /** Its own URL. */
  readonly resource: string;
  /** Where its metadata is. */
  readonly metadata: string;
}

/**
 * Returns the URLs of a gateway's office, as the client that asks must name them.
 *
 * @param path of the office, encoded
 * @param proxies number of trusted proxies, of which the first says whether the client used HTTPS
 * @returns `undefined` when the request names no usable host
 */
export function resourceUrls(
  { headers, socket }: Pick<IncomingMessage, "headers" | "socket">,
  path: string,
  proxies: number,
): ResourceUrls | undefined {
  const forwarded = proxies > 0 ? headers["x-forwarded-proto"] : undefined;
  const isSecure = forwarded === undefined
    ? "encrypted" in socket && socket.encrypted === true
    : /^https\b/i.test(String(forwarded));
  const base = `${isSecure ? "https" : "http"}://${headers.host}`;
  if (!URL.canParse(base)) return undefined;
  const { origin, host } = new URL(base);
  if (headers.host === undefined || !HOST.test(host)) return undefined;
  return {
    resource: `${origin}${path}`,
    metadata: `${origin}${METADATA_ROOT}${path}`,
  };
}

/** The metadata of a resource. */
export const resourceMetadata = (
  { resource }: ResourceUrls,
  issuers: readonly string[],
): Record<string, unknown> => ({
  resource,
  authorization_servers: issuers,
  bearer_methods_supported: ["header"],
});

/**
 * Makes the challenge of a 401.
 *
 * @param urls where the metadata is, if there is any
 * @param isTold whether the request had credentials, which were refused
 */
export const challenge = (
  urls: ResourceUrls | undefined,
  isTold: boolean,
): string =>
  [
    "Bearer",
    [
      ...(isTold ? ['error="invalid_token"'] : []),
      ...(urls ? [`resource_metadata="${urls.metadata}"`] : []),
    ].join(", "),
  ].join(" ").trim();
