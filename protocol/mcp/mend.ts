/**
 * What clients of MCP refuse of tools and results, and how it is mended. Their SDKs check a list of tools as a
 * whole, so that one tool with `"required": null` would leave a client without any; and of a result with one
 * wrong annotation nothing would be left.
 *
 * What is valid is returned as it is, the same object. The rest loses what is wrong in it alone.
 *
 * @module
 */
import { isRecord } from "../names.ts";
import { whyUnsound } from "./schema_check.ts";

/** Receives a sentence about something that was mended or left out. */
export type Note = (problem: string) => void;

/**
 * Returns an object with other values of some of its members; `undefined` leaves one out.
 *
 * @returns the same object where nothing changes
 */
function withMembers(
  object: Record<string, unknown>,
  changes: ReadonlyMap<string, unknown>,
): Record<string, unknown> {
  if (changes.size === 0) return object;
  return Object.fromEntries(
    Object.entries(object)
      .map(([name, value]) =>
        [name, changes.has(name) ? changes.get(name) : value] as const
      )
      .filter(([, value]) => value !== undefined),
  );
}

// ------------------------------------------------------------------ tools

/** The fields of a tool's annotations, and what they hold (MCP, `ToolAnnotations`). */
const ANNOTATIONS: Readonly<Record<string, "string" | "boolean">> = {
  title: "string",
  readOnlyHint: "boolean",
  destructiveHint: "boolean",
  idempotentHint: "boolean",
  openWorldHint: "boolean",
};

/**
 * Mends the annotations of a tool: a field of another type is left out.
 *
 * @param note receives a sentence about each
 */
export function mendToolAnnotations(
  annotations: unknown,
  note: Note,
): Record<string, unknown> | undefined {
  if (annotations === undefined || annotations === null) return undefined;
  if (!isRecord(annotations)) {
    note("annotations are ignored: they are not an object");
    return undefined;
  }
  const changes = new Map<string, unknown>();
  for (const [field, type] of Object.entries(ANNOTATIONS)) {
    const value = annotations[field];
    if (value === undefined || typeof value === type) continue;
    changes.set(field, undefined);
    if (value === null) continue;
    note(`annotation ${field} is ignored: expected a ${type}`);
  }
  return withMembers(annotations, changes);
}

/**
 * Mends the schema of a tool's arguments, whose root is an object.
 *
 * @param note receives a sentence about each change
 */
export const mendInputSchema = (
  schema: Record<string, unknown>,
  note: Note,
): Record<string, unknown> =>
  withMembers(schema, rootChanges("inputSchema", schema, note));

/**
 * Mends the schema of a tool's structured result.
 *
 * @param note receives a sentence about each change
 * @returns undefined for a schema that cannot be used: some clients compile those of all tools when they list
 * them, and take none if one fails
 */
export function mendOutputSchema(
  schema: Record<string, unknown>,
  note: Note,
): Record<string, unknown> | undefined {
  const mended = withMembers(
    schema,
    rootChanges("outputSchema", schema, note),
  );
  const why = whyUnsound(mended);
  if (why === undefined) return mended;
  note(`outputSchema is left out: ${why}`);
  return undefined;
}

/** Finds what to change at the root of a schema, which clients check field by field. */
function rootChanges(
  field: "inputSchema" | "outputSchema",
  { $schema, type, properties, required }: Record<string, unknown>,
  note: Note,
): Map<string, unknown> {
  const changes = new Map<string, unknown>();
  const change = (name: string, value: unknown, what: string) => {
    changes.set(name, value);
    note(`${name} of its ${field} is ${what}`);
  };
  if ($schema === null) changes.set("$schema", undefined);
  else if ($schema !== undefined && !isText($schema)) {
    change("$schema", undefined, "ignored: expected a text");
  }
  if (required === null) changes.set("required", undefined);
  else if (Array.isArray(required) && !isTexts(required)) {
    change("required", required.filter(isText), "cut: expected names");
  } else if (required !== undefined && !isTexts(required)) {
    change("required", undefined, "ignored: expected a list of names");
  }
  if (properties === null) changes.set("properties", undefined);
  else if (properties !== undefined && !isRecord(properties)) {
    change("properties", undefined, "ignored: expected an object");
  } else if (properties && (field === "inputSchema" || type === "object")) {
    const mended = mendProperties(properties, field, note);
    if (mended !== properties) changes.set("properties", mended);
  }
  return changes;
}

/** Writes the schemas of properties as objects: some clients refuse `true` and `false`, which mean the same. */
function mendProperties(
  properties: Record<string, unknown>,
  field: string,
  note: Note,
): Record<string, unknown> {
  const changes = new Map<string, unknown>();
  for (const [name, value] of Object.entries(properties)) {
    if (isSchemaObject(value)) continue;
    changes.set(name, value === false ? { not: {} } : {});
    if (typeof value === "boolean") continue;
    note(`"${name}" of its ${field} may be anything: its schema is invalid`);
  }
  return withMembers(properties, changes);
}

const isSchemaObject = (value: unknown): boolean =>
  typeof value === "object" && value !== null;

const isText = (value: unknown): value is string => typeof value === "string";

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every(isText);

// ------------------------------------------------------------------ results

type Test = (value: unknown) => boolean;

const isNumber: Test = (value) => Number.isFinite(value);

/** Matches a date and time with an offset, as annotations have it. */
const TIME =
  /^(\d{4})-(\d\d)-(\d\d)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

function isTime(value: unknown): boolean {
  const parts = typeof value === "string" ? TIME.exec(value) : null;
  if (!parts) return false;
  const [year, month, day] = parts.slice(1).map(Number);
  const date = new Date(0);
  date.setUTCFullYear(year ?? 0, (month ?? 0) - 1, day);
  return date.getUTCMonth() + 1 === month && date.getUTCDate() === day;
}

const ROLES: ReadonlySet<unknown> = new Set(["user", "assistant"]);

/** The annotations of content (MCP, `Annotations`). */
const CONTENT_ANNOTATIONS: Readonly<Record<string, Test>> = {
  audience: (value) =>
    Array.isArray(value) && value.every((role) => ROLES.has(role)),
  priority: (value) =>
    isNumber(value) && Number(value) >= 0 && Number(value) <= 1,
  lastModified: isTime,
};

const isIcon: Test = (value) =>
  isRecord(value) && isText(value.src) &&
  (value.mimeType === undefined || isText(value.mimeType)) &&
  (value.sizes === undefined || isTexts(value.sizes)) &&
  (value.theme === undefined || value.theme === "light" ||
    value.theme === "dark");

/** What the fields of content hold that may be absent, of all kinds together. */
const OPTIONAL: Readonly<Record<string, Test>> = {
  _meta: isRecord,
  annotations: isRecord,
};

/** Those of a link. */
const OPTIONAL_OF_LINK: Readonly<Record<string, Test>> = {
  ...OPTIONAL,
  title: isText,
  description: isText,
  mimeType: isText,
  size: isNumber,
  icons: (value) => Array.isArray(value) && value.every(isIcon),
};

/** Those of a resource in content, and of one that was read. */
const OPTIONAL_OF_RESOURCE: Readonly<Record<string, Test>> = {
  _meta: isRecord,
  mimeType: isText,
};

/**
 * Leaves out the members that fail their test.
 *
 * @returns the same object where all pass
 */
function withoutInvalid(
  object: Record<string, unknown>,
  tests: Readonly<Record<string, Test>>,
  note: Note,
): Record<string, unknown> {
  let valid = object;
  for (const [name, test] of Object.entries(tests)) {
    const value = object[name];
    if (value === undefined || test(value)) continue;
    const { [name]: _, ...rest } = valid;
    valid = rest;
    if (value !== null) note(`${name} is ignored: it is invalid`);
  }
  return valid;
}

/**
 * Mends a piece of content, of a result or a prompt: a field that may be absent is left out where it is invalid;
 * what lacks a field that it must have, or bytes that are no base64, becomes a text that explains it. Pieces of
 * unknown kinds stay as they are.
 *
 * @param note receives a sentence about each change
 */
export function mendContent(
  block: unknown,
  note: Note,
): Record<string, unknown> {
  if (!isRecord(block) || typeof block.type !== "string") {
    note("a piece of its content has no type, and is shown as JSON");
    return asText(JSON.stringify(block) ?? "");
  }
  switch (block.type) {
    case "text":
      return mended(block, ["text"], OPTIONAL, note);
    case "image":
    case "audio":
      return mendMedia(block, note);
    case "resource_link":
      return mended(block, ["uri", "name"], OPTIONAL_OF_LINK, note);
    case "resource":
      return mendEmbedded(block, note);
    default:
      return block;
  }
}

const asText = (text: string): Record<string, unknown> => ({
  type: "text",
  text,
});

function mended(
  block: Record<string, unknown>,
  required: readonly string[],
  optional: Readonly<Record<string, Test>>,
  note: Note,
): Record<string, unknown> {
  for (const name of required) {
    if (typeof block[name] === "string") continue;
    note(`a piece of its content has no ${name}, and is shown as JSON`);
    return asText(JSON.stringify(block));
  }
  return mendOptional(block, optional, note);
}

function mendOptional(
  object: Record<string, unknown>,
  optional: Readonly<Record<string, Test>>,
  note: Note,
): Record<string, unknown> {
  const valid = withoutInvalid(object, optional, note);
  const given = valid.annotations;
  if (!isRecord(given)) return valid;
  const annotations = withoutInvalid(given, CONTENT_ANNOTATIONS, note);
  return annotations === given ? valid : { ...valid, annotations };
}

/**
 * Mends an item of a list of resources, templates or prompts: what may be absent is left out where it is invalid.
 *
 * @param note receives a sentence about each change
 */
export const mendListed = (
  item: Record<string, unknown>,
  note: Note,
): Record<string, unknown> => mendOptional(item, OPTIONAL_OF_LINK, note);

function mendMedia(
  block: Record<string, unknown>,
  note: Note,
): Record<string, unknown> {
  const { type, mimeType } = block;
  const data = mendBase64(block.data);
  const why = data === undefined
    ? "its data is not base64"
    : isText(mimeType)
    ? undefined
    : "it has no mimeType";
  if (data === undefined || why !== undefined) {
    note(`${type} content is left out: ${why}`);
    return asText(`[${type} content is left out: ${why}]`);
  }
  const valid = data === block.data ? block : { ...block, data };
  return mended(valid, [], OPTIONAL, note);
}

function mendEmbedded(
  block: Record<string, unknown>,
  note: Note,
): Record<string, unknown> {
  const { resource } = block;
  const isWhole = isRecord(resource) && isText(resource.uri) &&
    (isText(resource.text) || isText(resource.blob));
  if (!isWhole) {
    note("a resource in its content has no contents, and is shown as JSON");
    return asText(JSON.stringify(block));
  }
  const contents = mendContents(resource, note);
  const valid = contents === resource
    ? block
    : { ...block, resource: contents };
  return mended(valid, [], OPTIONAL, note);
}

/**
 * Mends the contents of a resource, which have a URI, and a text or bytes as base64; bytes that are not base64
 * become a text that explains it.
 *
 * @param note receives a sentence about each change
 */
export function mendContents(
  contents: Record<string, unknown>,
  note: Note,
): Record<string, unknown> {
  const valid = withoutInvalid(contents, OPTIONAL_OF_RESOURCE, note);
  if (isText(valid.text)) return valid;
  const blob = mendBase64(valid.blob);
  if (blob !== undefined) {
    return blob === valid.blob ? valid : { ...valid, blob };
  }
  const why = `bytes of ${contents.uri} are left out: they are not base64`;
  note(why);
  const { blob: _, ...rest } = valid;
  return { ...rest, mimeType: "text/plain", text: `[${why}]` };
}

/** Matches what base64 may have between its characters. */
const SPACES = /[ \t\n\f\r]+/g;

/** Returns base64 that all clients read; `undefined` for what is none. */
function mendBase64(data: unknown): string | undefined {
  if (typeof data !== "string") return undefined;
  if (isBase64(data)) return data;
  // Of a data URI, and of the alphabet for URLs.
  const mended = data.replace(/^data:[^,]{0,256};base64,/, "")
    .replaceAll("-", "+").replaceAll("_", "/")
    .replaceAll(SPACES, "").replace(/={1,2}$/, "");
  return isBase64(mended) ? mended : undefined;
}

/** Returns whether `atob()` reads a text: with or without padding, and with spaces. */
function isBase64(data: string): boolean {
  const end = data.search(/[^A-Za-z0-9+/]/);
  if (end < 0) return data.length % 4 !== 1;
  if (end >= data.length - 2 && /^={1,2}$/.test(data.slice(end))) {
    return data.length % 4 === 0;
  }
  const bare = data.replaceAll(SPACES, "");
  return bare.length < data.length && isBase64(bare);
}

/** The keys of a result's metadata that clients check. */
const RESULT_META: Readonly<Record<string, Test>> = {
  progressToken: (value) => isText(value) || Number.isSafeInteger(value),
  "io.modelcontextprotocol/related-task": (value) =>
    isRecord(value) && isText(value.taskId),
};

/** What a result holds that may be absent. */
const RESULT: Readonly<Record<string, Test>> = {
  isError: (value) => typeof value === "boolean",
  meta: isRecord,
  // A result that asks something has been answered before it comes here.
  resultType: (value) => value === "complete",
};

/**
 * Mends the result of a tool call, whatever an MCP server answered.
 *
 * `structuredContent` stays, which may be any JSON value since MCP 2026-07-28.
 *
 * @param note receives a sentence about each change
 */
export function mendResult(
  result: Record<string, unknown>,
  note: Note,
): Record<string, unknown> & { content: Record<string, unknown>[] } {
  const valid = withoutInvalid(mendMeta(result, note), RESULT, note);
  const content = mendList(valid.content, note);
  return content === valid.content
    ? valid as ReturnType<typeof mendResult>
    : { ...valid, content };
}

/** Mends the metadata of any result, for which clients would not even take it for an answer. */
export function mendMeta(
  result: Record<string, unknown>,
  note: Note,
): Record<string, unknown> {
  const { _meta } = result;
  if (_meta === undefined) return result;
  if (!isRecord(_meta)) {
    return withoutInvalid(result, { _meta: isRecord }, note);
  }
  const meta = withoutInvalid(_meta, RESULT_META, note);
  return meta === _meta ? result : { ...result, _meta: meta };
}

function mendList(content: unknown, note: Note): Record<string, unknown>[] {
  if (content === undefined) return [];
  if (!Array.isArray(content)) {
    note("its content is no list");
    return typeof content === "string"
      ? [asText(content)]
      : [mendContent(content, note)];
  }
  let isValid = true;
  const mended: Record<string, unknown>[] = [];
  for (const block of content) {
    const piece = mendContent(block, note);
    mended.push(piece);
    isValid &&= piece === block;
  }
  return isValid ? content : mended;
}
