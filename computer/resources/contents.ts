import type { ResourceContents } from "../../protocol/mod.ts";

/** Reads contents sent by an MCP server; fields that are not strings are dropped. */
export const readContents = (
  { uri, mimeType, text, blob }: Record<string, unknown>,
): ResourceContents => ({
  ...(typeof uri === "string" && { uri }),
  ...(typeof mimeType === "string" && { mimeType }),
  ...(typeof text === "string" && { text }),
  ...(typeof blob === "string" && { blob }),
});
