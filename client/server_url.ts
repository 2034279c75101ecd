/**
 * The URL of a Server: its parts, and whether it requires TLS.
 *
 * @module
 */
import { VERSION_PARAMETER } from "../protocol/version.ts";

/** The parts of a Server's URL. */
interface ServerAddress {
  /** Scheme, host and port; a path in the URL is not part of it. */
  readonly origin: string;
  /** The parameters of the URL's query, without that of the protocol (protocol §2). */
  readonly query: Record<string, string>;
}

/**
 * Parses the URL of a Server; the version cannot be set through it (protocol §2).
 *
 * @throws {TypeError} with an example of a valid URL
 */
export function parseServerUrl(url: string): ServerAddress {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (!parsed || !/^(https?|wss?):$/.test(parsed.protocol)) {
    const shown = JSON.stringify(url);
    throw new TypeError(
      `Cannot connect to ${shown}: expected a URL such as "http://127.0.0.1:8787" or "https://smcp.example.com"`,
    );
  }
  const query = Object.fromEntries(parsed.searchParams);
  delete query[VERSION_PARAMETER];
  return { origin: `${parsed.protocol}//${parsed.host}`, query };
}

/** Returns whether a URL requires TLS. */
export const isTls = (url: string): boolean => /^(https|wss):/i.test(url);
