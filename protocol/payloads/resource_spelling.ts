import type { Resource } from "./resources.ts";

/** Fields that MCP and the protocol spell differently: MCP's name → the protocol's. */
type Twins = readonly [mcp: string, wire: string];

const MIME_TYPE: Twins = ["mimeType", "mime_type"];
const LAST_MODIFIED: Twins = ["lastModified", "last_modified"];

/**
 * Adds the protocol's spelling of fields to that of MCP. SDKs differ in which one they read, and some
 * Servers drop the one that they do not know (0.4 §9).
 */
export const inBothSpellings = (resource: Resource): Resource =>
  spelled(resource, add);

/** Returns a resource in the spelling of MCP, whichever its Computer used (0.4 §9). */
export const inMcpSpelling = (resource: Resource): Resource =>
  spelled(resource, merge);

function spelled(
  resource: Resource,
  spell: <T extends Record<string, unknown>>(fields: T, twins: Twins) => T,
): Resource {
  const own = spell(resource, MIME_TYPE);
  const { annotations } = own;
  if (typeof annotations !== "object" || annotations === null) return own;
  const spelt = spell(annotations, LAST_MODIFIED);
  return spelt === annotations ? own : { ...own, annotations: spelt };
}

function add<T extends Record<string, unknown>>(
  fields: T,
  [mcp, wire]: Twins,
): T {
  const value = fields[mcp];
  return typeof value !== "string" || wire in fields
    ? fields
    : { ...fields, [wire]: value };
}

function merge<T extends Record<string, unknown>>(
  fields: T,
  [mcp, wire]: Twins,
): T {
  const { [wire]: value, ...rest } = fields;
  // Another value is a field of the MCP server's own.
  const isTwin = fields[mcp] === undefined || fields[mcp] === value;
  return typeof value !== "string" || !isTwin
    ? fields
    : { ...rest, [mcp]: value } as unknown as T;
}
