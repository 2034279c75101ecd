import { VERSION_PARAMETER } from "../protocol/version.ts";

/** Where to connect: the address without its query, and the query's parameters. */
export interface ServerAddress {
  /** Scheme, host and port; a path in the URL is not part of it. */
  readonly origin: string;
  /** What the URL's query says, the protocol's own parameter left out (spec §2). */
  readonly query: Record<string, string>;
}

/**
 * Reads the URL of a Server; the version cannot be set through it (spec §2).
 *
 * @throws {TypeError} that shows the URL's problem and a right one
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
