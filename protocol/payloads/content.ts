import * as z from "../validation/schema.ts";
import { isPlainObject, plainObject } from "../validation/plain_values.ts";

/** The optional fields of all content blocks. */
export interface BlockBase {
  /** Its audience and priority. */
  annotations?: Record<string, unknown> | null;
  /** Metadata under the name of MCP. */
  _meta?: Record<string, unknown> | null;
  /** The same, under the name that the Python SDK writes. */
  meta?: Record<string, unknown> | null;
}

/** A text block. */
export interface TextBlock extends BlockBase {
  /** The discriminator. */
  type: "text";
  /** The text. */
  text: string;
}

/** An image block. */
export interface ImageBlock extends BlockBase {
  /** Always absent; declared so that `block.text` can be read from any block. */
  text?: never;
  /** The discriminator. */
  type: "image";
  /** The image as base64. */
  data: string;
  /** Such as `image/png`. */
  mimeType: string;
}

/** An audio block. */
export interface AudioBlock extends BlockBase {
  /** Always absent; declared so that `block.text` can be read from any block. */
  text?: never;
  /** The discriminator. */
  type: "audio";
  /** The audio data as base64. */
  data: string;
  /** Such as `audio/wav`. */
  mimeType: string;
}

/** A link to a resource of the MCP server, without its contents. */
export interface ResourceLinkBlock extends BlockBase {
  /** Always absent; declared so that `block.text` can be read from any block. */
  text?: never;
  /** The discriminator. */
  type: "resource_link";
  /** Its URI. */
  uri: string;
  /** Its name. */
  name: string;
  /** Its name for people. */
  title?: string | null;
  /** Its description. */
  description?: string | null;
  /** Such as `text/plain`. */
  mimeType?: string | null;
  /** The size in bytes. */
  size?: number | null;
}

/** A resource with its contents. */
export interface ResourceBlock extends BlockBase {
  /** Always absent; declared so that `block.text` can be read from any block. */
  text?: never;
  /** The discriminator. */
  type: "resource";
  /** The resource, with its contents in `text` or `blob` (base64). */
  resource: {
    uri: string;
    mimeType?: string | null;
    text?: string;
    blob?: string;
    _meta?: Record<string, unknown> | null;
  };
}

/**
 * A content block of a result, as MCP defines it; `switch (block.type)` narrows its type.
 *
 * Blocks of types that later versions of MCP add pass through unchanged and reach the `default`
 * branch, although this union does not include them: a member for unknown types would prevent
 * narrowing.
 */
export type ContentBlock =
  | TextBlock
  | ImageBlock
  | AudioBlock
  | ResourceLinkBlock
  | ResourceBlock;

/** The required fields of each type of block, all strings. */
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

/** Returns the path of the first required field that is not a string, if any. */
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
