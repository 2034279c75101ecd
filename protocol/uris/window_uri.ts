import { buildUri, readUri } from "./uri.ts";

/** A window's identity: `window://HOST[/SEG…]` (spec §8.1). */
export interface WindowUri {
  /** The namespace of the MCP server's windows, such as `com.example.editor`. */
  readonly host: string;
  /** Decoded path segments; may be empty. */
  readonly path: readonly string[];
}

/** A URI out of a resource list, with what was wrong but could be mended. */
export interface ParsedWindowUri {
  /** The window. */
  readonly uri: WindowUri;
  /** One sentence each, for a WARN in the log. */
  readonly warnings: readonly string[];
}

/**
 * Reads a `window://` URI; a query or fragment is dropped with a warning (spec §8.1).
 *
 * @throws {TypeError} that says what is wrong: scheme, host, an empty segment, a broken escape
 */
export function parseWindowUri(text: string): ParsedWindowUri {
  const { host, path, dropped } = readUri("window", text);
  return {
    uri: { host, path },
    warnings: dropped.map((part) =>
      `A window URI has no ${part}; it is dropped: ${text}`
    ),
  };
}

/**
 * Writes a `window://` URI, each segment URL-encoded (spec §8.1).
 *
 * @throws {TypeError} when the host or a segment is empty or cannot be written
 */
export function buildWindowUri({ host, path }: WindowUri): string {
  return buildUri("window", host, path);
}
