import * as z from "../validation/schema.ts";
import { isPlainObject, plainObject } from "../validation/plain_values.ts";

/** What every piece of a result may have beside its own fields. */
export interface BlockBase {
  /** For whom it is, and how important. */
  annotations?: Record<string, unknown> | null;
  /** Metadata under the name of MCP. */
  _meta?: Record<string, unknown> | null;
  /** The same as the Python SDK writes it. */
  meta?: Record<string, unknown> | null;
}

/** A text, for models and people. */
export interface TextBlock extends BlockBase {
  /** Which kind of block it is. */
  type: "text";
  /** The text. */
  text: string;
}

/** An image. */
export interface ImageBlock extends BlockBase {
  /** Never there, so that `block.text` can be read of any block. */
  text?: never;
  /** Which kind of block it is. */
  type: "image";
  /** The image as base64. */
  data: string;
  /** Such as `image/png`. */
  mimeType: string;
}

/** A sound. */
export interface AudioBlock extends BlockBase {
  /** Never there, so that `block.text` can be read of any block. */
  text?: never;
  /** Which kind of block it is. */
  type: "audio";
  /** The sound as base64. */
  data: string;
  /** Such as `audio/wav`. */
  mimeType: string;
}

/** Names a resource of the MCP server, without its contents. */
export interface ResourceLinkBlock extends BlockBase {
  /** Never there, so that `block.text` can be read of any block. */
  text?: never;
  /** Which kind of block it is. */
  type: "resource_link";
  /** Where it is. */
  uri: string;
  /** Its name. */
  name: string;
  /** Its name for people. */
  title?: string | null;
  /** What it is. */
  description?: string | null;
  /** Such as `text/plain`. */
  mimeType?: string | null;
  /** Bytes. */
  size?: number | null;
}

/** A resource with its contents. */
export interface ResourceBlock extends BlockBase {
  /** Never there, so that `block.text` can be read of any block. */
  text?: never;
  /** Which kind of block it is. */
  type: "resource";
  /** The resource: `text` or `blob` (base64) holds what is in it. */
  resource: {
    uri: string;
    mimeType?: string | null;
    text?: string;
    blob?: string;
    _meta?: Record<string, unknown> | null;
  };
}

/**
 * One piece of a result, as MCP defines it: `switch (block.type)` knows the fields of each.
 *
 * A later version of MCP may bring further types. They pass through as they are and end up in the
 * `default` branch, although this union does not name them: a type for "anything else" in it would
 * take the fields of the others away.
 */
export type ContentBlock =
  | TextBlock
  | ImageBlock
  | AudioBlock
  | ResourceLinkBlock
  | ResourceBlock;

/** The fields without which a block of a type is none, and what they are. */
const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  text: ["text"],
  image: ["data", "mimeType"],
  audio: ["data", "mimeType"],
  resource_link: ["uri", "name"],
};

/** @internal */
export const contentBlockSchema = z.pipe(
  plainObject,
  z.transform((block, context): ContentBlock => {
    const path = missingString(block);
    if (path === undefined) return block as unknown as ContentBlock;
    context.issues.push({
      code: "custom",
      input: block,
      path,
      message: "Invalid input: expected string",
    });
    return z.NEVER;
  }),
);

/** Where a block has no string although its type promises one. */
function missingString(block: Record<string, unknown>): string[] | undefined {
  const { type, resource } = block;
  if (typeof type !== "string") return ["type"];
  if (type === "resource") {
    const isWhole = isPlainObject(resource) && typeof resource.uri === "string";
    return isWhole ? undefined : ["resource", "uri"];
  }
  const required = Object.hasOwn(REQUIRED, type) ? REQUIRED[type] : undefined;
  const missing = required?.find((field) => typeof block[field] !== "string");
  return missing === undefined ? undefined : [missing];
}
