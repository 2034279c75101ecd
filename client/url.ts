import { VERSION_PARAMETER } from "../protocol/version.ts";

/** The parts of a Server's URL. */
export interface ServerAddress {
  /** Scheme, host and port; a path in the URL is not part of it. */
  readonly origin: string;
  /** The parameters of the URL's query, without that of the protocol (spec §2). */
  readonly query: Record<string, string>;
}

/**
 * Parses the URL of a Server; the version cannot be set through it (spec §2).
 *
 * @throws {TypeError} with an example of a valid URL
 */
export function parseServerUrl(url: string): ServerAddress {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (!parsed || !/^(https?|wss?):$/.test(parsed.protocol)) {
    throw new TypeError(
      `Cannot connect to ${
        JSON.stringify(url)
      }: expected a URL such as "http://127.0.0.1:8787" or "https://smcp.example.com"`,
    );
  }
  const query = Object.fromEntries(parsed.searchParams);
  delete query[VERSION_PARAMETER];
  return { origin: `${parsed.protocol}//${parsed.host}`, query };
}
