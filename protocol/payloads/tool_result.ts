/**
 * Results of tool calls: their content, and their metadata: errors, timeouts, and whom a call waited for (protocol §6).
 *
 * @module
 */
import { ErrorCode } from "../errors.ts";
import * as z from "../validation.ts";

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
  z.plainObject,
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
    const isWhole = z.isPlainObject(resource) &&
      typeof resource.uri === "string";
    return isWhole ? undefined : ["resource", "uri"];
  }
  const required = Object.hasOwn(REQUIRED, type) ? REQUIRED[type] : undefined;
  const missing = required?.find((field) => typeof block[field] !== "string");
  return missing === undefined ? undefined : [missing];
}

/** The result of a tool call, including failures of the tool (protocol §6). */
export interface CallToolResult {
  /** The content blocks of the result. */
  content: ContentBlock[];
  /** The structured result, if the tool has one. */
  structuredContent?: Record<string, unknown> | null;
  /** Whether the call failed; absent means no. */
  isError?: boolean | null;
  /** Result-level metadata (`error_code`, `a2c_timeout`, …), as the Python SDK reads it. */
  meta?: Record<string, unknown> | null;
  /** The same under MCP's name; read either with {@linkcode resultMeta}. */
  _meta?: Record<string, unknown> | null;
  /** Fields of later versions of MCP. */
  [field: string]: unknown;
}

/** @internal */
export const callToolResultSchema = z.looseObject({
  content: z.listOf(contentBlockSchema),
  structuredContent: z.maybe(z.plainObject),
  isError: z.maybe(z.boolean()),
  meta: z.maybe(z.plainObject),
  _meta: z.maybe(z.plainObject),
});

/** Returns whether data is a valid block, as its schema does. */
const isBlock = (data: unknown): boolean =>
  z.isPlainObject(data) && missingString(data) === undefined;

/** Returns whether data is certainly a valid result; a fast path of its schema, which would copy it. */
const isPlainResult = (data: unknown): data is CallToolResult =>
  z.isPlainObject(data) && Array.isArray(data.content) &&
  data.content.every(isBlock) &&
  (data.structuredContent === undefined ||
    z.isPlainObject(data.structuredContent)) &&
  (data.isError === undefined || typeof data.isError === "boolean") &&
  (data.meta === undefined || z.isPlainObject(data.meta)) &&
  (data._meta === undefined || z.isPlainObject(data._meta)) &&
  !Object.hasOwn(data, "__proto__");

/** Parses a {@linkcode CallToolResult}; unknown content types pass through. */
export const parseCallToolResult: z.Parser<CallToolResult> = z.parser(
  callToolResultSchema,
  isPlainResult,
);

/**
 * Returns a result's metadata, from `_meta` and `meta` (protocol §6).
 *
 * @returns both merged, with precedence of `_meta`; empty if there is none
 */
export function resultMeta(result: CallToolResult): Record<string, unknown> {
  return { ...result.meta, ...result._meta };
}

/** Adds metadata to a result, under both keys: `meta` for the Python SDK, `_meta` for MCP (protocol §6). */
export function withResultMeta(
  result: CallToolResult,
  added: Record<string, unknown>,
): CallToolResult {
  const meta = { ...resultMeta(result), ...added };
  return Object.keys(meta).length === 0
    ? result
    : { ...result, meta, _meta: meta };
}

/**
 * Key of a result's metadata: structured content that is no object, which MCP has since 2026-07-28, and
 * earlier readers refuse (protocol §6).
 */
const STRUCTURED = "a2c_structured_content";

/** Moves structured content that is no object into the metadata of a result, where all readers take it. */
export function carryStructured(
  result: Record<string, unknown> & { content: unknown },
): CallToolResult {
  const { structuredContent, ...rest } = result;
  if (structuredContent === undefined || z.isPlainObject(structuredContent)) {
    return result as CallToolResult;
  }
  return withResultMeta(rest as CallToolResult, {
    [STRUCTURED]: structuredContent,
  });
}

/**
 * Splits a result's metadata from structured content that {@linkcode carryStructured} moved into it.
 *
 * @returns `structured`: absent where there is none
 */
export function carriedStructured(result: CallToolResult): {
  readonly meta: Record<string, unknown>;
  readonly structured?: { readonly structuredContent: unknown };
} {
  const { [STRUCTURED]: structuredContent, ...meta } = resultMeta(result);
  return structuredContent === undefined
    ? { meta }
    : { meta, structured: { structuredContent } };
}

/**
 * Creates the result of a call that failed before it reached its tool (protocol §6).
 *
 * @param code the `error_code`, such as `ErrorCode.TOOL_NOT_FOUND`
 * @param text explains the failure and what to do, for people and models
 * @param fields further metadata of the code, such as `mcp_server`
 */
export function toolErrorResult(
  code: number,
  text: string,
  fields: Record<string, unknown> = {},
): CallToolResult {
  return failed(text, { error_code: code, ...fields });
}

/**
 * The person at the Computer that a call waits for: one who confirms it, or one who answers a question of
 * its MCP server.
 */
export type Waiting = "confirmation" | "answer";

/** The person whom a call waited for when it ended. */
export interface Wait {
  /** What was expected of them. */
  readonly waiting: Waiting;
  /** The name of their Computer. */
  readonly computer: string;
  /** Ends the text of a timeout where a yes that comes later counts for the same call, repeated. */
  readonly late?: string;
}

/** Key of a result's metadata: what the call waited for when it ended. */
const WAITED_FOR = "a2c_waited_for";

/** The metadata of a call that ended while, or because of how, a person was asked. */
export const waitedMeta = (
  waiting: Waiting | undefined,
): Record<string, unknown> =>
  waiting === undefined ? {} : { [WAITED_FOR]: waiting };

/** @internal What later versions wait for counts as nothing. */
export const toWaiting = (value: unknown): Waiting | null =>
  value === "confirmation" || value === "answer" ? value : null;

/**
 * Returns what a failed call waited for: it was not confirmed or answered in time (4004), the person at
 * the Computer refused it (4005), or it was cancelled before; `undefined` if it did not wait.
 */
export function waitedFor(result: CallToolResult): Waiting | undefined {
  return toWaiting(resultMeta(result)[WAITED_FOR]) ?? undefined;
}

/**
 * Creates the result of a call that exceeded its `timeout`, in seconds (protocol §6, §7).
 *
 * @param wait if it waited for a person then
 * @param silence what explains that nothing came, to end a sentence
 */
export function timeoutResult(
  timeout: number,
  wait?: Wait,
  silence = "",
): CallToolResult {
  const text = wait === undefined
    ? `The tool did not answer within ${timeout} s${silence}`
    : wait.waiting === "confirmation"
    ? `The call was not confirmed at ${wait.computer} within ${timeout} s; the tool did not run${
      wait.late ?? ""
    }`
    : `The question of the tool's MCP server was not answered at ${wait.computer} within ${timeout} s`;
  return failed(text, {
    error_code: ErrorCode.TOOL_TIMEOUT,
    a2c_timeout: true,
    timeout: true,
    ...waitedMeta(wait?.waiting),
  });
}

/**
 * Creates the result of a call that was cancelled (protocol §6, §7), by the reason of the request to cancel it.
 *
 * @param wait if it waited for a person then
 */
export function cancelledResult(
  reason?: "timeout" | "operator",
  wait?: Wait,
): CallToolResult {
  const [how, code] = CANCELLED.get(reason) ??
    [" by the agent", "agent_requested"];
  const what = wait?.waiting === "answer" ? "an answer" : wait?.waiting;
  const late = reason === "timeout" ? wait?.late ?? "" : "";
  const then = wait ? `; it waited for ${what} at ${wait.computer}${late}` : "";
  return failed(`The call was cancelled${how}${then}`, {
    a2c_cancelled: true,
    a2c_cancel_reason: code,
    ...waitedMeta(wait?.waiting),
  });
}

/** By reason: how the call was cancelled, for people and models, and `a2c_cancel_reason`. */
const CANCELLED: ReadonlyMap<string | undefined, readonly [string, string]> =
  new Map([
    ["timeout", [": the agent's timeout has passed", "agent_timeout"]],
    ["operator", [" by an operator of the Server", "operator_requested"]],
  ]);

const failed = (
  text: string,
  meta: Record<string, unknown>,
): CallToolResult =>
  withResultMeta({ content: [{ type: "text", text }], isError: true }, meta);
