/**
 * MCP Apps, an extension of MCP: pages that MCP servers have for their tools, as resources whose URIs begin with
 * `ui://`. A Computer declares it to its MCP servers, an office to its clients; both pass pages on and show none.
 *
 * @module
 */
import { isRecord } from "../names.ts";

/** The extension in `capabilities.extensions` of both sides. */
export const UI_EXTENSION = "io.modelcontextprotocol/ui";

/** The media types of pages that are passed on. */
export const UI_CAPABILITY: { mimeTypes: string[] } = {
  mimeTypes: ["text/html;profile=mcp-app"],
};

/** Whether a URI is that of a page. */
export const isPageUri = (uri: string): boolean => /^ui:\/\//i.test(uri);

/** The keys of a tool's `_meta` whose values are URIs of pages: an older one of the extension, and ChatGPT's. */
const FLAT_KEYS = ["ui/resourceUri", "openai/outputTemplate"] as const;

/**
 * Returns a tool's `_meta` with other URIs of its pages; the same object where it has none.
 *
 * @param rename returns the new URI of a page
 */
export function withPageUris(
  meta: Record<string, unknown>,
  rename: (uri: string) => string,
): Record<string, unknown> {
  const renamed = FLAT_KEYS.flatMap((key): [string, unknown][] => {
    const uri = meta[key];
    return typeof uri === "string" && isPageUri(uri)
      ? [[key, rename(uri)]]
      : [];
  });
  const { ui } = meta;
  if (isRecord(ui)) {
    const { resourceUri } = ui;
    if (typeof resourceUri === "string" && isPageUri(resourceUri)) {
      renamed.push(["ui", { ...ui, resourceUri: rename(resourceUri) }]);
    }
  }
  return renamed.length === 0
    ? meta
    : { ...meta, ...Object.fromEntries(renamed) };
}
