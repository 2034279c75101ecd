/** One item of a resource's contents, as an MCP server returned it: text, or bytes as base64. */
export interface ResourceContents {
  /** URI of the resource, or of a part of it. */
  readonly uri?: string;
  /** Its media type. */
  readonly mimeType?: string;
  /** The text. */
  readonly text?: string;
  /** The bytes, as base64. */
  readonly blob?: string;
}

/** Reads contents sent by an MCP server; fields that are not strings are dropped. */
export const readContents = (
  { uri, mimeType, text, blob }: Record<string, unknown>,
): ResourceContents => ({
  ...(typeof uri === "string" && { uri }),
  ...(typeof mimeType === "string" && { mimeType }),
  ...(typeof text === "string" && { text }),
  ...(typeof blob === "string" && { blob }),
});
