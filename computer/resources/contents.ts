/** One of the contents that an MCP server gives for a resource: text, or bytes as base64. */
export interface ResourceContents {
  /** What it is the contents of: the resource, or a part of it. */
  readonly uri?: string;
  /** Its media type. */
  readonly mimeType?: string;
  /** Text. */
  readonly text?: string;
  /** Bytes, as base64. */
  readonly blob?: string;
}

/** Reads contents as an MCP server sent them: a field that is no string is not there. */
export const readContents = (
  { uri, mimeType, text, blob }: Record<string, unknown>,
): ResourceContents => ({
  ...(typeof uri === "string" && { uri }),
  ...(typeof mimeType === "string" && { mimeType }),
  ...(typeof text === "string" && { text }),
  ...(typeof blob === "string" && { blob }),
});
