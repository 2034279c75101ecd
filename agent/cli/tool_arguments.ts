/** The arguments of a tool, converted by its schema. */
export interface ReadArguments {
  /** Values by name. */
  readonly params: Record<string, unknown>;
  /** Problems, one sentence each. */
  readonly problems: readonly string[];
}

/**
 * Converts the `NAME=VALUE` pairs of a command line to the arguments of a tool.
 *
 * Strings, and values without a type in the schema, are taken as written; all others are JSON.
 *
 * @param schema the tool's `params_schema`; absent when nobody lists the tool
 */
export function readArguments(
  pairs: readonly (readonly [name: string, value: string])[],
  schema: Readonly<Record<string, unknown>> = {},
): ReadArguments {
  const params: Record<string, unknown> = {};
  const problems: string[] = [];
  const properties = asRecord(schema.properties);
  for (const [name, value] of pairs) {
    if (Object.hasOwn(params, name)) {
      problems.push(`argument "${name}" is given twice; write a list as JSON`);
    }
    const types = typesOf(properties[name], schema, 0);
    const read = types.size === 0 || types.has("string")
      ? readText(value, types)
      : readJson(value);
    if (read === undefined || !fits(read.value, types)) {
      problems.push(
        `argument "${name}" is ${JSON.stringify(value)}, expected ${
          [...types].map(typeName).join(" or ")
        }`,
      );
    } else params[name] = read.value;
  }
  return { params, problems };
}

/** Splits `NAME=VALUE`; undefined when there is no name or no `=`. */
export function splitPair(text: string): [string, string] | undefined {
  const sign = text.indexOf("=");
  return sign > 0 ? [text.slice(0, sign), text.slice(sign + 1)] : undefined;
}

/** Collects the allowed JSON types, through `$ref`, `anyOf` and the like; empty: any. */
function typesOf(
  property: unknown,
  schema: Readonly<Record<string, unknown>>,
  depth: number,
): Set<string> {
  const { type, enum: values, const: value, $ref, anyOf, oneOf, allOf } =
    asRecord(property);
  if (depth > 8) return new Set();
  if (typeof $ref === "string") {
    return typesOf(lookUp($ref, schema), schema, depth + 1);
  }
  if (typeof type === "string") return new Set([type]);
  if (Array.isArray(type)) return new Set(type.map(String));
  if (value !== undefined) return new Set([jsonType(value)]);
  if (Array.isArray(values)) return new Set(values.map(jsonType));
  for (const choices of [anyOf, oneOf, allOf]) {
    if (!Array.isArray(choices)) continue;
    const sets = choices.map((choice) => typesOf(choice, schema, depth + 1));
    return new Set(sets.flatMap((set) => [...set]));
  }
  return new Set();
}

/** Resolves a reference such as `#/$defs/Size` inside the schema. */
function lookUp(
  reference: string,
  schema: Readonly<Record<string, unknown>>,
): unknown {
  let found: unknown = schema;
  for (const key of reference.replace(/^#\/?/, "").split("/")) {
    found = asRecord(found)[key.replaceAll("~1", "/").replaceAll("~0", "~")];
  }
  return found;
}

/** Reads text, or `null` where the schema allows it. */
const readText = (
  value: string,
  types: ReadonlySet<string>,
): { value: unknown } =>
  value === "null" && types.has("null") ? { value: null } : { value };

function readJson(value: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(value) };
  } catch {
    return undefined;
  }
}

function fits(value: unknown, types: ReadonlySet<string>): boolean {
  const type = jsonType(value);
  return types.size === 0 || types.has(type) ||
    type === "integer" && types.has("number");
}

function jsonType(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value !== "number") return typeof value;
  return Number.isInteger(value) ? "integer" : "number";
}

const NAMES: Readonly<Record<string, string>> = {
  integer: "a whole number",
  number: "a number",
  boolean: "true or false",
  array: "a JSON list",
  object: "a JSON object",
};

const typeName = (type: string): string => NAMES[type] ?? type;

const asRecord = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? { ...value }
    : {};
