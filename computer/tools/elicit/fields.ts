import type { ElicitValue } from "../../../protocol/mod.ts";
import { UnansweredError } from "../../host/mcp/calls/questions.ts";
import { isRecord } from "../../util/values.ts";
import type { Field, FieldOption, NumberField, TextField } from "./field.ts";
import { isTexts, problemOf } from "./field_problems.ts";

type Schema = Readonly<Record<string, unknown>>;

/**
 * Reads the fields of a form, in its order. A default that the schema itself does not allow is dropped.
 *
 * @throws {UnansweredError} naming a field that no form of MCP can have
 */
export function readFields(requestedSchema: Schema): Field[] {
  const { properties = {}, required } = requestedSchema;
  if (!isRecord(properties)) throw invalid("properties", "is not an object");
  const needed = new Set(Array.isArray(required) ? required : []);
  return Object.entries(properties).map(([name, schema]) => {
    if (!isRecord(schema)) throw invalid(name, "has no schema");
    const field = readField(name, schema, needed.has(name));
    const { default: fallback, ...rest } = { default: undefined, ...field };
    return fallback !== undefined && problemOf(field, fallback) !== undefined
      ? rest as Field
      : field;
  });
}

function readField(name: string, schema: Schema, isRequired: boolean): Field {
  const label = textOf(schema.title) ?? name;
  const description = textOf(schema.description);
  const base = {
    name,
    label,
    isRequired,
    ...(description !== undefined && { description }),
  };
  switch (schema.type) {
    case "boolean":
      return {
        ...base,
        kind: "boolean",
        ...pick(schema, isBoolean, ["default"]),
      };
    case "number":
    case "integer":
      return {
        ...base,
        kind: "number",
        isInteger: schema.type === "integer",
        ...pick(schema, isNumber, ["minimum", "maximum", "default"]),
      };
    case "array": {
      const options = isRecord(schema.items)
        ? optionsOf(schema.items)
        : undefined;
      if (!options) throw invalid(name, "has no values to choose from");
      return {
        ...base,
        kind: "choices",
        options,
        ...pick(schema, isNumber, ["minItems", "maxItems"]),
        ...(isTexts(schema.default) && { default: schema.default }),
      };
    }
    case "string": {
      const options = optionsOf(schema);
      const fallback = pick(schema, isText, ["default"]);
      if (options) return { ...base, kind: "choice", options, ...fallback };
      return {
        ...base,
        kind: "text",
        isSecret: schema.format === "password" ||
          SECRET.test(`${name} ${label}`),
        ...pick(schema, isNumber, ["minLength", "maxLength"]),
        ...pick(schema, isText, ["format"]),
        ...fallback,
      };
    }
    default:
      throw invalid(name, `has the type ${JSON.stringify(schema.type)}`);
  }
}

/** Names of what should not be seen over a shoulder; MCP forbids servers to ask for it, and some do. */
const SECRET =
  /pass(word|phrase|code)|secret|token|credential|api[ _-]?key|private[ _-]?key|\bpin\b/i;

function optionsOf(schema: Schema): FieldOption[] | undefined {
  const { enum: values, enumNames, oneOf, anyOf } = schema;
  const titled = oneOf ?? anyOf;
  if (Array.isArray(titled)) {
    const options = titled.filter(isRecord).flatMap((entry) => {
      const value = textOf(entry.const);
      return value === undefined
        ? []
        : [{ value, label: textOf(entry.title) ?? value }];
    });
    return options.length > 0 ? options : undefined;
  }
  if (!isTexts(values) || values.length === 0) return undefined;
  const names = isTexts(enumNames) ? enumNames : [];
  return values.map((value, i) => ({ value, label: names[i] ?? value }));
}

/**
 * Reads what a person typed.
 *
 * @returns undefined for nothing
 */
export function valueOf(
  field: TextField | NumberField,
  typed: string,
): ElicitValue | undefined {
  if (typed === "") return undefined;
  if (field.kind === "text") return typed;
  return typed.trim() === "" ? NaN : Number(typed);
}

const textOf = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;

/** Returns the properties that are there and of the type. */
function pick<T, K extends string>(
  schema: Schema,
  isOfType: (value: unknown) => value is T,
  keys: readonly K[],
): { [Key in K]?: T } {
  const found: { [Key in K]?: T } = {};
  for (const key of keys) {
    const value = schema[key];
    if (isOfType(value)) found[key] = value;
  }
  return found;
}

const isNumber = (value: unknown): value is number => typeof value === "number";
const isText = (value: unknown): value is string => typeof value === "string";
const isBoolean = (value: unknown): value is boolean =>
  typeof value === "boolean";

const invalid = (name: string, problem: string): UnansweredError =>
  new UnansweredError(`the field ${JSON.stringify(name)} ${problem}`);
