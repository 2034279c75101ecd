import type { AgentCallData } from "./tools.ts";
import { buildUri, readUri } from "../uri.ts";
import * as z from "../validation.ts";

/** A window's identity: `window://HOST[/SEG…]` (protocol §8.1). */
export interface WindowUri {
  /** The namespace of the MCP server's windows, such as `com.example.editor`. */
  readonly host: string;
  /** Decoded path segments; may be empty. */
  readonly path: readonly string[];
}

/** A parsed URI of a listed resource, with the problems that were corrected. */
export interface ParsedWindowUri {
  /** The window. */
  readonly uri: WindowUri;
  /** One sentence per problem, for warnings in the log. */
  readonly warnings: readonly string[];
}

/**
 * Parses a `window://` URI; drops a query or fragment with a warning (protocol §8.1).
 *
 * @throws {TypeError} for an invalid scheme, host or escape, or an empty segment
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
 * Formats a `window://` URI; URL-encodes each segment (protocol §8.1).
 *
 * @throws {TypeError} when the host or a segment is empty or cannot be encoded
 */
export function buildWindowUri({ host, path }: WindowUri): string {
  return buildUri("window", host, path);
}

/** One rendered window: `URI\n\nBODY`, or the URI alone (protocol §8.1). */
export type Desktop = string;

/** Requests a Computer's desktop (protocol §4, §8.1). */
export interface GetDeskTopReq extends AgentCallData {
  /** Name of the target Computer. */
  computer: string;
  /** Maximum number of windows of all MCP servers; absent: no limit, 0 or less: no windows. */
  desktop_size?: number;
  /** Only the window with exactly this URI. */
  window?: string;
}

/** The desktop of one Computer (protocol §4, §8.1). */
export interface GetDeskTopRet {
  /** The windows, most relevant first. */
  desktops: Desktop[];
  /** The `req_id` of the request. */
  req_id: string;
}

/** The parsers of `client:get_desktop`. */
export const getDesktop = z.routed(
  z.computerCall({
    desktop_size: z.exactOptional(z.int()),
    window: z.exactOptional(z.string()),
  }),
  z.answer({ desktops: z.listOf(z.string()) }),
);
