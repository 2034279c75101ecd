/**
 * Whether a JSON Schema can be compiled. Clients of MCP compile the output schemas of all tools when they list
 * them (Ajv, draft 7); this finds what makes that fail, in one pass and without generating code.
 *
 * @module
 */
import { isRecord } from "../names.ts";

const isSchema = (value: unknown): boolean =>
  typeof value === "boolean" || isRecord(value);
const isText = (value: unknown): boolean => typeof value === "string";
const isNumber = (value: unknown): boolean => typeof value === "number";
const isBoolean = (value: unknown): boolean => typeof value === "boolean";
const isTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.every(isText);
const isSchemas = (value: unknown): boolean =>
  Array.isArray(value) && value.every(isSchema);
const isSchemaMap = (value: unknown): boolean =>
  isRecord(value) && Object.values(value).every(isSchema);

const TYPES: ReadonlySet<unknown> = new Set([
  "array",
  "boolean",
  "integer",
  "null",
  "number",
  "object",
  "string",
]);

const isType = (value: unknown): boolean =>
  Array.isArray(value)
    ? value.every((each) => TYPES.has(each))
    : TYPES.has(value);

function isPattern(value: unknown): boolean {
  if (typeof value !== "string") return false;
  try {
    new RegExp(value, "u");
    return true;
  } catch {
    return false;
  }
}

/** Keywords whose values are schemas. */
const PARTS: ReadonlySet<string> = new Set([
  "additionalItems",
  "additionalProperties",
  "contains",
  "else",
  "if",
  "not",
  "propertyNames",
  "then",
]);

/** Keywords whose values are lists of schemas. */
const LISTS: ReadonlySet<string> = new Set(["allOf", "anyOf", "oneOf"]);

/** What each keyword may hold; those that are not here are ignored. */
const KEYWORDS: ReadonlyMap<string, (value: unknown) => boolean> = new Map([
  ["$id", isText],
  ["$ref", isText],
  ["$anchor", isText],
  ["id", () => false], // of draft 4
  ["type", isType],
  ["enum", (value) => Array.isArray(value) && value.length > 0],
  ["required", isTexts],
  ["pattern", isPattern],
  ["format", isText],
  ["uniqueItems", isBoolean],
  ["nullable", isBoolean],
  ...[
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "multipleOf",
  ].map((name) => [name, isNumber] as const),
  ...[...PARTS].map((name) => [name, isSchema] as const),
  ["items", (value) => isSchema(value) || isSchemas(value)],
  ...[...LISTS].map((name) => [name, isSchemas] as const),
  ["properties", isSchemaMap],
  ["dependencies", isRecord],
  [
    "patternProperties",
    (value) =>
      isSchemaMap(value) && Object.keys(Object(value)).every(isPattern),
  ],
]);

/** Keywords whose values are schemas by name. */
const MAPS: ReadonlySet<string> = new Set([
  "$defs",
  "definitions",
  "dependencies",
  "dependentSchemas",
  "patternProperties",
  "properties",
]);

/** Keywords whose values are data. */
const DATA: ReadonlySet<string> = new Set(["const", "default", "enum"]);

/**
 * Returns why a schema cannot be compiled; `undefined` when it can.
 *
 * A reference is looked for in the schema itself, since clients fetch no other one.
 */
export function whyUnsound(root: Record<string, unknown>): string | undefined {
  return new Check(root).why;
}

/** One check, which ends with the first fault. */
class Check {
  why: string | undefined;
  readonly #names = new Set<string>();
  readonly #references: { readonly to: string; readonly base: object }[] = [];

  constructor(root: Record<string, unknown>) {
    this.#ids(root, true);
    this.#schema(root, root);
    for (const { to, base } of this.#references) {
      if (this.why === undefined && !this.#leads(to, base)) {
        this.why = `it refers to ${to.slice(0, 100)}, which is not in it`;
      }
    }
  }

  /** Collects the ids, also those in unknown keywords: two schemas with one could not be told apart. */
  #ids(value: unknown, isRoot = false): void {
    if (typeof value !== "object" || value === null) return;
    const id: unknown = Reflect.get(value, "$id");
    if (typeof id === "string") {
      const isTaken = this.#names.has(id) || id === "" && !isRoot;
      if (isTaken) this.why ??= `its $id "${id.slice(0, 100)}" is not unique`;
      this.#names.add(id);
    }
    for (const [name, held] of Object.entries(value)) {
      if (!DATA.has(name)) this.#ids(held);
    }
  }

  #schema(value: unknown, base: object): void {
    if (!isRecord(value) || this.why !== undefined) return;
    const { $id, $anchor, $ref, type, nullable } = value;
    const within = typeof $id === "string" && !$id.startsWith("#")
      ? value
      : base;
    if (typeof $anchor === "string") this.#names.add(`#${$anchor}`);
    if (typeof $ref === "string") {
      this.#references.push({ to: $ref, base: within });
    }
    const types = type === undefined ? [] : [type].flat();
    const isOdd = types.length === 0 ||
      nullable === false && types.includes("null");
    if (nullable !== undefined && isOdd) {
      this.why = "nullable does not go with its type";
    }
    for (const [name, held] of Object.entries(value)) {
      if (KEYWORDS.get(name)?.(held) === false) {
        this.why ??= `its ${name} is invalid`;
      }
      this.#below(name, held, within);
    }
  }

  /** Checks the schemas in a keyword; those of unknown ones are data. */
  #below(name: string, held: unknown, base: object): void {
    const isMany = LISTS.has(name) || MAPS.has(name) ||
      name === "items" && Array.isArray(held);
    if (isMany) {
      for (const part of Object.values(Object(held))) this.#schema(part, base);
    } else if (PARTS.has(name) || name === "items") this.#schema(held, base);
  }

  /** Whether there is what a reference leads to. */
  #leads(to: string, base: object): boolean {
    if (to === "" || to === "#" || this.#names.has(to) || META.has(to)) {
      return true;
    }
    if (!to.startsWith("#/")) {
      // It may be relative to one of the ids.
      const [file = ""] = to.split("#");
      return file !== "" &&
        [...this.#names].some((name) => name.endsWith(file));
    }
    let at: unknown = base;
    for (const part of to.slice(2).split("/")) {
      const name = unescaped(part);
      if (typeof at !== "object" || at === null || !Object.hasOwn(at, name)) {
        return false;
      }
      at = Reflect.get(at, name);
    }
    return isSchema(at);
  }
}

/** The schemas that every client has. */
const META: ReadonlySet<string> = new Set([
  "http://json-schema.org/draft-07/schema",
  "http://json-schema.org/draft-07/schema#",
]);

/** Returns the name that a part of a JSON Pointer in a URI stands for. */
function unescaped(part: string): string {
  const text = part.replaceAll("~1", "/").replaceAll("~0", "~");
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
