/**
 * Schemas of arguments that the APIs of models refuse, and how they are mended for them.
 *
 * Those APIs take an object with properties at the root, in the draft 2020-12 of JSON Schema: alternatives there
 * are merged, and what earlier drafts wrote in another way is rewritten. What is merged is looser than
 * before, which loses nothing: the MCP server checks the arguments itself.
 *
 * @module
 */
import { isRecord } from "../../protocol/names.ts";

/** A schema for models. */
export interface ModelSchema {
  /** The schema; the same object where nothing is changed. */
  readonly schema: Schema;
  /** What is changed, each in a few words. */
  readonly changes: readonly string[];
}

type Schema = Record<string, unknown>;

/** The most changes that are named. */
const MAX_CHANGES = 20;
/** How deep schemas are mended: what is below passes as it is. */
const MAX_DEPTH = 64;
/** How many references in a row, and alternatives within alternatives, are followed at the root. */
const MAX_STEPS = 8;
/** How many alternatives are merged. */
const MAX_PARTS = 100;

/** Mends the schema of a tool's arguments. */
export function mendForModels(schema: Schema): ModelSchema {
  const changes = new Set<string>();
  const note = (change: string) => void changes.add(change);
  const mended = mendRoot(mendPart(schema, note, 0), note);
  const all = [...changes];
  const more = all.length - MAX_CHANGES;
  return {
    schema: all.length === 0 ? schema : mended,
    changes: more > 0
      ? [...all.slice(0, MAX_CHANGES), `and ${more} more changes`]
      : all,
  };
}

type Note = (change: string) => void;

// ------------------------------------------------------------------ the root

/** Keywords that say which of several objects are meant. */
const COMBINING = ["allOf", "anyOf", "oneOf"] as const;
/** Keywords that cannot be merged, and are left out. */
const DROPPED = ["$ref", "not", "enum", "const", "if", "then", "else"] as const;

function mendRoot(schema: Schema, note: Note): Schema {
  let root = schema;
  const target = followed(root, schema);
  if (target !== root && target.$ref === undefined) {
    note("$ref at the root is replaced by what it leads to");
    root = target;
  }
  const combining = COMBINING.filter((each) => root[each] !== undefined);
  const dropped = DROPPED.filter((each) => root[each] !== undefined);
  for (const each of combining) {
    note(`${each} at the root is merged into its properties`);
  }
  for (const each of dropped) note(`${each} at the root is left out`);
  const { properties, required } = combining.length > 0
    ? partsOf(root, { root: schema, left: MAX_PARTS }, 0)
    : ownParts(root);
  if (root.required !== undefined && !isTexts(root.required)) {
    note("required at the root is a list of names");
  }
  if (root.type !== "object") note('type at the root is "object"');
  if (!isRecord(root.properties)) note("properties at the root are added");
  const kept = Object.entries(root).filter(([name]) =>
    ![...COMBINING, ...DROPPED, "required"].some((each) => each === name)
  );
  return {
    ...Object.fromEntries(kept),
    type: "object",
    properties,
    ...(required.length > 0 && { required }),
  };
}

const isTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.every((each) => typeof each === "string");

/** The properties of an object, and which of them must be there. */
interface Parts {
  readonly properties: Schema;
  readonly required: readonly string[];
}

const ownParts = ({ properties, required }: Schema): Parts => ({
  properties: isRecord(properties) ? properties : {},
  required: Array.isArray(required)
    ? required.filter((name) => typeof name === "string")
    : [],
});

/** The root that alternatives refer to, and how many of them are still followed: references may multiply. */
interface Merging {
  readonly root: Schema;
  left: number;
}

/** Merges the alternatives of a schema, and those within them. */
function partsOf(schema: Schema, merging: Merging, step: number): Parts {
  const own = ownParts(schema);
  if (step >= MAX_STEPS) return own;
  const listed = (keyword: typeof COMBINING[number]): Parts[] => {
    const parts = schema[keyword];
    return (Array.isArray(parts) ? parts : []).filter(isRecord)
      .filter(() => merging.left-- > 0)
      .map((part) => partsOf(followed(part, merging.root), merging, step + 1));
  };
  const all = listed("allOf");
  const any = [listed("anyOf"), listed("oneOf")];
  return {
    properties: mergeProperties(
      [own, ...all, ...any.flat()].map(({ properties }) => properties),
    ),
    required: [
      ...new Set([
        ...own.required,
        ...all.flatMap(({ required }) => required),
        ...any.flatMap(inEach),
      ]),
    ],
  };
}

/** The names that all alternatives require. */
const inEach = ([first, ...others]: readonly Parts[]): string[] =>
  (first?.required ?? []).filter((name) =>
    others.every(({ required }) => required.includes(name))
  );

/** Unites properties; one that differs may be any of what it is. */
function mergeProperties(all: readonly Schema[]): Schema {
  const found = new Map<string, Map<string, unknown>>();
  for (const properties of all) {
    for (const [name, property] of Object.entries(properties)) {
      const forms = found.get(name) ?? new Map<string, unknown>();
      forms.set(JSON.stringify(property), property);
      found.set(name, forms);
    }
  }
  return Object.fromEntries(
    [...found].map(([name, forms]) => {
      const [first, ...others] = forms.values();
      return [
        name,
        others.length === 0 ? first : { anyOf: [first, ...others] },
      ];
    }),
  );
}

/** Returns what a schema refers to within the root, with the keywords beside the reference; else itself. */
function followed(schema: Schema, root: Schema): Schema {
  let found = schema;
  for (let step = 0; step < MAX_STEPS; step++) {
    const { $ref, ...beside } = found;
    const [, key, name] = typeof $ref === "string"
      ? /^#\/(definitions|\$defs)\/([^/]+)$/.exec($ref) ?? []
      : [];
    if (key === undefined || name === undefined) return found;
    const definitions = root[key];
    const target = isRecord(definitions)
      ? definitions[name.replaceAll("~1", "/").replaceAll("~0", "~")]
      : undefined;
    if (!isRecord(target)) return found;
    found = { ...target, ...beside };
  }
  return found;
}

// ------------------------------------------------------------------ earlier drafts, anywhere

/** Keywords whose values are schemas. */
const SINGLE = [
  "additionalItems",
  "additionalProperties",
  "contains",
  "else",
  "if",
  "items",
  "not",
  "propertyNames",
  "then",
];
/** Keywords whose values are lists of schemas. */
const LISTS = ["allOf", "anyOf", "items", "oneOf", "prefixItems"];
/** Keywords whose values are schemas by names. */
const MAPS = [
  "$defs",
  "definitions",
  "dependentSchemas",
  "patternProperties",
  "properties",
];

/** Mends a schema and all within it. */
function mendPart(schema: Schema, note: Note, depth: number): Schema {
  if (depth > MAX_DEPTH) return schema;
  const inner = (value: unknown) =>
    isRecord(value) ? mendPart(value, note, depth + 1) : value;
  const own = withRequired(schema, note);
  const entries = Object.entries(own).map(([keyword, value]) => {
    if (MAPS.includes(keyword) && isRecord(value)) {
      const parts = Object.entries(value)
        .map(([name, part]) => [name, inner(part)]);
      return [keyword, Object.fromEntries(parts)];
    }
    if (LISTS.includes(keyword) && Array.isArray(value)) {
      return [keyword, value.map(inner)];
    }
    return [keyword, SINGLE.includes(keyword) ? inner(value) : value];
  });
  const mended: Schema = Object.fromEntries(entries);
  mendDialect(mended, note);
  mendBounds(mended, note);
  mendItems(mended, note);
  mendType(mended, note);
  return mended;
}

/** Moves `"required": true` of properties, as draft 3 has it, into the list of the object. */
function withRequired(schema: Schema, note: Note): Schema {
  const { properties, required } = schema;
  if (!isRecord(properties)) return schema;
  const marked = Object.entries(properties).filter(([, property]) =>
    isRecord(property) && typeof property.required === "boolean"
  );
  if (marked.length === 0) return schema;
  note("required of properties is written as a list");
  const names = marked.filter(([, property]) => Object(property).required)
    .map(([name]) => name);
  const others = marked.map(([name, property]) => {
    const { required: _, ...rest } = Object(property);
    return [name, rest];
  });
  const all = [
    ...new Set([...Array.isArray(required) ? required : [], ...names]),
  ];
  return {
    ...schema,
    properties: { ...properties, ...Object.fromEntries(others) },
    ...(all.length > 0 && { required: all }),
  };
}

/** Matches the drafts before 2019-09, whose names APIs compare with that of their own. */
const OLD_DRAFT = /json-schema\.org\/(draft-0[3-7]\/)?schema/;

function mendDialect(schema: Schema, note: Note): void {
  if (typeof schema.$schema === "string" && OLD_DRAFT.test(schema.$schema)) {
    delete schema.$schema;
    note("$schema of an earlier draft is left out");
  }
  if (typeof schema.id === "string") {
    delete schema.id;
    note("id, the name of a schema in draft 4, is left out");
  }
}

/** Bounds that are marked as exclusive have keywords of their own since draft 6. */
function mendBounds(schema: Schema, note: Note): void {
  for (
    const [exclusive, bound] of [
      ["exclusiveMinimum", "minimum"],
      ["exclusiveMaximum", "maximum"],
    ] as const
  ) {
    const marked = schema[exclusive];
    if (typeof marked !== "boolean") continue;
    note(`${exclusive} is written as a number`);
    delete schema[exclusive];
    const value = schema[bound];
    if (!marked || typeof value !== "number") continue;
    delete schema[bound];
    schema[exclusive] = value;
  }
}

/** Lists of fixed items have a keyword of their own since 2020-12; OpenAI refuses lists of unknown ones. */
function mendItems(schema: Schema, note: Note): void {
  const { type, items, additionalItems } = schema;
  if (Array.isArray(items)) {
    note("items that are a list are written as prefixItems");
    delete schema.items;
    delete schema.additionalItems;
    schema.prefixItems = items;
    if (additionalItems !== undefined) schema.items = additionalItems;
  }
  if (type === "array" && schema.items === undefined) {
    note("items of lists are added");
    schema.items = {};
  }
}

const TYPES: ReadonlySet<unknown> = new Set([
  "array",
  "boolean",
  "integer",
  "null",
  "number",
  "object",
  "string",
]);

/** Types as other languages call them. */
const OTHER_TYPES: ReadonlyMap<unknown, string> = new Map([
  ["bool", "boolean"],
  ["dict", "object"],
  ["double", "number"],
  ["float", "number"],
  ["int", "integer"],
  ["list", "array"],
  ["long", "integer"],
  ["str", "string"],
]);

/** Leaves out types that JSON Schema does not have, such as `any`. */
function mendType(schema: Schema, note: Note): void {
  const { type } = schema;
  if (type === undefined) return;
  const given = Array.isArray(type) ? type : [type];
  if (given.length > 0 && given.every((each) => TYPES.has(each))) return;
  const known = given.map((each) => OTHER_TYPES.get(each) ?? each)
    .filter((each) => TYPES.has(each));
  note("types that JSON Schema does not have are replaced");
  if (known.length === 0) delete schema.type;
  else schema.type = Array.isArray(type) ? [...new Set(known)] : known[0];
  if (schema.type === "array" && schema.items === undefined) schema.items = {};
}
