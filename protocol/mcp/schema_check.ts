/**
 * Whether a JSON Schema can be compiled, and used beside others. Clients of MCP compile the output schemas of all
 * tools with one Ajv, some of them when they list the tools; this finds what makes that fail, in one pass and without
 * generating code.
 *
 * A schema passes when each known keyword has a value of its form, and each reference leads to a schema in it that
 * was checked. Keywords that are unknown hold data. What needs more, such as `$dynamicRef`, does not pass.
 *
 * @module
 */
import { isRecord } from "../names.ts";

const isSchema = (value: unknown): boolean =>
  typeof value === "boolean" || isRecord(value);
const isText = (value: unknown): value is string => typeof value === "string";
const isNumber = (value: unknown): boolean => typeof value === "number";
const isBoolean = (value: unknown): boolean => typeof value === "boolean";
const isTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.every(isText);
const isSchemas = (value: unknown): boolean =>
  Array.isArray(value) && value.every(isSchema);
const isSchemaMap = (value: unknown): boolean =>
  isRecord(value) && Object.values(value).every(isSchema);

const TYPE = /^(array|boolean|integer|null|number|object|string)$/;

const isType = (value: unknown): boolean =>
  isText(value) ? TYPE.test(value) : Array.isArray(value) &&
    value.every((each) => isText(each) && isType(each));

function isPattern(value: unknown): boolean {
  if (!isText(value)) return false;
  try {
    new RegExp(value, "u");
    return true;
  } catch {
    return false;
  }
}

/** The schemas in the value of a keyword, with the rest of their pointers; `undefined` where it holds none. */
type Parts = (held: unknown) => [suffix: string, part: unknown][] | undefined;

const itself: Parts = (held) => [["", held]];
const listed: Parts = (held) =>
  Array.isArray(held) ? entriesOf(held) : undefined;
const named: Parts = (held) => isRecord(held) ? entriesOf(held) : undefined;

const entriesOf = (held: object): [string, unknown][] =>
  Object.entries(held).map(([key, part]) => [`/${escaped(key)}`, part]);

interface Keyword {
  /** Whether it may have this value. */
  readonly fits: (value: unknown) => boolean;
  /** Finds the schemas in it; absent where it holds none. */
  readonly parts?: Parts;
  /** Whether these apply to the value itself, not to a part of it. */
  readonly inPlace?: true;
}

const number: Keyword = { fits: isNumber };
const never: Keyword = { fits: () => false };
const schema: Keyword = { fits: isSchema, parts: itself };

/** The keywords that are known, by names; others are ignored. */
const ROWS: readonly (readonly [names: string, keyword: Keyword])[] = [
  ["$id $ref format", { fits: isText }],
  ["formatMaximum formatMinimum", { fits: isText }],
  ["formatExclusiveMaximum formatExclusiveMinimum", { fits: isText }],
  ["$anchor", {
    fits: (value) => isText(value) && /^[A-Za-z_][-A-Za-z0-9._]*$/.test(value),
  }],
  ["$async", { fits: (value) => value === false }], // of Ajv
  ["$dynamicAnchor $dynamicRef $recursiveAnchor $recursiveRef", never],
  ["id", never], // of draft 4
  ["type", { fits: isType }],
  ["enum", { fits: (value) => Array.isArray(value) && value.length > 0 }],
  ["required", { fits: isTexts }],
  ["pattern", { fits: isPattern }],
  ["uniqueItems nullable", { fits: isBoolean }],
  ["maximum maxContains maxItems maxLength maxProperties", number],
  ["minimum minContains minItems minLength minProperties", number],
  ["exclusiveMaximum exclusiveMinimum multipleOf", number],
  ["if then else not", { ...schema, inPlace: true }],
  ["additionalItems additionalProperties contains propertyNames", schema],
  ["unevaluatedItems unevaluatedProperties", schema],
  ["items", {
    fits: (value) => isSchema(value) || isSchemas(value),
    parts: (held) => listed(held) ?? itself(held),
  }],
  ["allOf anyOf oneOf", { fits: isSchemas, parts: listed, inPlace: true }],
  ["prefixItems", { fits: isSchemas, parts: listed }],
  ["$defs definitions", { fits: () => true, parts: named }],
  ["properties", { fits: isSchemaMap, parts: named }],
  ["patternProperties", {
    fits: (value) =>
      isSchemaMap(value) && Object.keys(Object(value)).every(isPattern),
    parts: named,
  }],
  ["dependentSchemas", { fits: isSchemaMap, parts: named, inPlace: true }],
  ["dependentRequired", {
    fits: (value) => isRecord(value) && Object.values(value).every(isTexts),
  }],
  ["dependencies", {
    fits: (value) =>
      isRecord(value) &&
      Object.values(value).every((each) => isSchema(each) || isTexts(each)),
    parts: named,
    inPlace: true,
  }],
];

const KEYWORDS: ReadonlyMap<string, Keyword> = new Map(
  ROWS.flatMap(([names, keyword]) =>
    names.split(" ").map((name) => [name, keyword] as const)
  ),
);

/** Matches keywords whose values are data, in which nothing is looked for. */
const DATA = /^(const|default|enum)$/;

/** Matches keywords that limit a format, and the formats that have an order. */
const LIMIT = /^format(Exclusive)?(Max|Min)imum$/;
const ORDERED = /^(date|(iso-)?(date-)?time)$/;

/** Matches the dialects that clients compile; the last one is that of schemas that have no `$schema`. */
const DIALECT =
  /^https?:\/\/json-schema\.org\/(?:draft-0[67]|draft\/2019-09|(draft\/2020-12))\/schema#?$/;

/** The most schemas that may be in each other by references; Ajv's stack has room for about twice as many. */
const MAX_LEVELS = 250;

/** The most characters of a schema's pointer, of which there is one for each. */
const MAX_POINTER = 2_048;

/**
 * Returns why a schema cannot be compiled; `undefined` when it can.
 *
 * A reference is looked for in the schema itself, since clients fetch no other one.
 */
export const whyUnsound = (root: Record<string, unknown>): string | undefined =>
  new Check(root).why;

/**
 * Returns a sound schema without its names, `$id` and `$anchor`: references by name become JSON Pointers.
 * Clients that keep the schemas of several tools by `$id` would take one for another.
 *
 * @returns the same object where it has none
 */
export const withoutNames = (
  root: Record<string, unknown>,
): Record<string, unknown> => new Check(root).withoutNames();

/** A schema within the root, at a JSON Pointer. */
interface Place {
  readonly schema: Record<string, unknown>;
  readonly pointer: string;
  /** The pointer of the schema with an `$id` that this one is in; that of the root is empty. */
  readonly base: string;
  /** The `$id` of that one, resolved. */
  readonly id: string;
  /** The number of schemas that it is in. */
  readonly depth: number;
  /** Pointers of schemas that apply to the same value. */
  readonly inPlace: string[];
}

/** One check, which ends with the first fault. */
class Check {
  why: string | undefined;
  readonly #root: Record<string, unknown>;
  /** Schemas, by pointer; those that are true or false have no place. */
  readonly #places = new Map<string, Place | undefined>();
  /** Pointers by resolved `$id`. */
  readonly #ids = new Map<string, string>();
  /** Pointers by that of the base, `#` and the anchor. */
  readonly #anchors = new Map<string, string>();
  /** Where each reference leads to, by the pointer of what has it. */
  readonly #targets = new Map<string, string>();
  readonly #allowsTuples: boolean;
  #hasNames = false;

  constructor(root: Record<string, unknown>) {
    this.#root = root;
    const { $schema } = root;
    const dialect = typeof $schema === "string"
      ? DIALECT.exec($schema)
      : undefined;
    if (dialect === null) this.why = "its $schema is unknown to clients";
    this.#allowsTuples = dialect?.[1] === undefined && dialect !== undefined;
    this.#schema(root, "", { base: "", id: "", depth: 0 });
    if (this.why === undefined) this.#resolve();
    if (this.why === undefined) this.#findLoops();
  }

  #schema(
    schema: unknown,
    pointer: string,
    { base, id, depth }: Pick<Place, "base" | "id" | "depth">,
  ): void {
    if (this.why !== undefined || !isSchema(schema)) return;
    if (pointer.length > MAX_POINTER) {
      this.why =
        `the JSON Pointer of a part is longer than ${MAX_POINTER} characters`;
      return;
    }
    this.#places.set(pointer, undefined);
    if (!isRecord(schema)) return;
    const { $id, $anchor } = schema;
    this.#hasNames ||= typeof ($id ?? $anchor) === "string";
    const isNamed = typeof $id === "string" && /^[^#]/.test($id);
    const place: Place = {
      schema,
      pointer,
      base: isNamed ? pointer : base,
      id: isNamed ? resolved($id.replace(/#.*$/s, ""), id) : id,
      depth,
      inPlace: [],
    };
    this.#places.set(pointer, place);
    if (isNamed) this.#name(this.#ids, place.id, pointer);
    else if (typeof $id === "string" && $id.length > 1) {
      this.#name(this.#anchors, `${place.base}${$id}`, pointer); // of draft 6
    }
    if (typeof $anchor === "string") {
      this.#name(this.#anchors, `${place.base}#${$anchor}`, pointer);
    }
    this.why ??= whyWrong(schema, this.#allowsTuples);
    for (const [name, held] of Object.entries(schema)) {
      this.#keyword(place, name, held);
    }
  }

  /** Notes a name, of which there must be no other: the two could not be distinguished. */
  #name(names: Map<string, string>, name: string, pointer: string): void {
    if (names.has(name)) this.why ??= `"${name.slice(0, 100)}" is not unique`;
    names.set(name, pointer);
  }

  /** Checks the schemas in a keyword; the values of unknown ones are data. */
  #keyword(place: Place, name: string, held: unknown): void {
    const within = { base: place.base, id: place.id, depth: place.depth + 1 };
    const { parts, inPlace } = KEYWORDS.get(name) ?? {};
    const found = parts?.(held);
    if (!found) {
      if (!DATA.test(name) && hasNames(held)) {
        this.why ??= `its ${name.slice(0, 100)} has an $id`;
      }
      return;
    }
    for (const [suffix, part] of found) {
      const pointer = `${place.pointer}/${escaped(name)}${suffix}`;
      if (inPlace) place.inPlace.push(pointer);
      this.#schema(part, pointer, within);
    }
  }

  /** Finds what the references lead to. */
  #resolve(): void {
    /** How many schemas a reference in each of them is in. */
    const levels = new Map<string, number>();
    for (const place of this.#places.values()) {
      const to = place?.schema.$ref;
      if (!place || typeof to !== "string") continue;
      const target = this.#target(to, place);
      if (target === undefined || !this.#places.has(target)) {
        this.why ??= `it refers to ${to.slice(0, 100)}, which is not in it`;
        return;
      }
      this.#targets.set(place.pointer, target);
      place.inPlace.push(target);
      levels.set(target, 0);
    }
    levels.set("", 0);
    for (const pointer of this.#targets.keys()) {
      const depth = this.#places.get(pointer)?.depth ?? 0;
      for (let at = pointer;; at = at.slice(0, at.lastIndexOf("/"))) {
        const before = levels.get(at);
        const own = depth - (this.#places.get(at)?.depth ?? 0) + 1;
        if (before !== undefined) levels.set(at, Math.max(before, own));
        if (at === "") break;
      }
    }
    const sum = [...levels.values()].reduce((a, b) => a + b, 0);
    if (sum > MAX_LEVELS) this.why ??= "its references nest too deep";
  }

  /** Resolves a reference to a pointer, of which it may be that nothing is there. */
  #target(to: string, { base, id }: Place): string | undefined {
    const [file = "", fragment = ""] = to.split("#", 2);
    const from = file === "" ? base : this.#ids.get(resolved(file, id));
    if (from === undefined || !to.isWellFormed()) return undefined;
    if (fragment === "") return from;
    if (!fragment.startsWith("/")) {
      return this.#anchors.get(`${from}#${fragment}`);
    }
    try {
      return from + decodeURIComponent(fragment);
    } catch {
      return undefined;
    }
  }

  /** Finds schemas that apply to a value only if they apply to it, which never ends. */
  #findLoops(): void {
    const left = new Set<string>();
    const entered = new Set<string>();
    const enter = (pointer: string) => {
      if (this.why !== undefined || left.has(pointer)) return;
      if (entered.has(pointer)) {
        this.why = `it refers to itself at #${pointer.slice(0, 100)}`;
        return;
      }
      entered.add(pointer);
      this.#places.get(pointer)?.inPlace.forEach(enter);
      left.add(pointer);
    };
    for (const pointer of this.#places.keys()) enter(pointer);
  }

  withoutNames(): Record<string, unknown> {
    return this.#hasNames ? Object(this.#copy(this.#root, "")) : this.#root;
  }

  #copy(schema: unknown, pointer: string): unknown {
    if (!isRecord(schema)) return schema;
    const members = Object.entries(schema)
      .filter(([name]) => name !== "$id" && name !== "$anchor")
      .map(([name, held]) => {
        const parts = KEYWORDS.get(name)?.parts?.(held);
        const copies = parts?.map(([suffix, part]) =>
          this.#copy(part, `${pointer}/${escaped(name)}${suffix}`)
        );
        if (!copies) return [name, held];
        return [
          name,
          parts?.[0]?.[0] === "" ? copies[0] : withParts(held, copies),
        ];
      });
    const copied: Record<string, unknown> = Object.fromEntries(members);
    const target = this.#targets.get(pointer);
    if (target !== undefined) {
      copied.$ref = `#${encodeURI(target).replaceAll("#", "%23")}`;
    }
    return copied;
  }
}

/** Finds the first keyword of a schema whose value is wrong. */
function whyWrong(
  schema: Record<string, unknown>,
  allowsTuples: boolean,
): string | undefined {
  const { type, nullable, format, items } = schema;
  const isOrdered = typeof format === "string" && ORDERED.test(format);
  for (const [name, held] of Object.entries(schema)) {
    const isUnordered = LIMIT.test(name) && !isOrdered;
    if (isUnordered || KEYWORDS.get(name)?.fits(held) === false) {
      return `its ${name} is invalid`;
    }
  }
  if (Array.isArray(items) && !allowsTuples) {
    return "its items is a list, which JSON Schema 2020-12 calls prefixItems";
  }
  const types = type === undefined ? [] : [type].flat();
  const isOdd = types.length === 0 ||
    nullable === false && types.includes("null");
  return nullable !== undefined && isOdd
    ? "nullable does not go with its type"
    : undefined;
}

/** Returns a list or map with other schemas in its order. */
const withParts = (held: unknown, parts: unknown[]): unknown =>
  Array.isArray(held) ? parts : Object.fromEntries(
    Object.keys(Object(held)).map((key, at) => [key, parts[at]]),
  );

/** Whether there are names of schemas in data, which Ajv finds there, too. */
function hasNames(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return ["$id", "$anchor", "$dynamicAnchor"].some((name) =>
    typeof Reflect.get(value, name) === "string"
  ) || Object.values(value).some(hasNames);
}

/** Resolves a URI reference; one that cannot be resolved is itself a name. */
const resolved = (reference: string, base: string): string =>
  URL.parse(reference, base)?.href ?? URL.parse(reference)?.href ?? reference;

/** Returns a name as a part of a JSON Pointer. */
const escaped = (name: string): string =>
  name.replaceAll("~", "~0").replaceAll("/", "~1");
