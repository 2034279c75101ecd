/**
 * Forms of MCP's elicitation: fields are read from a schema, and values are checked against them.
 *
 * @module
 */
import { UnansweredError } from "../host/mcp/errors.ts";
import { isRecord } from "../../protocol/names.ts";
import type { ElicitValue } from "../../protocol/mod.ts";

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
    const label = nonEmptyText(schema.title) ?? name;
    const description = nonEmptyText(schema.description);
    const field: Field = {
      name,
      label,
      isRequired: needed.has(name),
      ...(description !== undefined && { description }),
      ...readRules(name, label, schema),
    };
    const { default: fallback, ...rest } = { default: undefined, ...field };
    return fallback !== undefined && checkField(field, fallback) !== undefined
      ? rest as Field
      : field;
  });
}

function readRules(name: string, label: string, schema: Schema): Rules {
  switch (schema.type) {
    case "boolean":
      return { kind: "boolean", ...pick(schema, isBoolean, ["default"]) };
    case "number":
    case "integer":
      return {
        kind: "number",
        isInteger: schema.type === "integer",
        ...pick(schema, isNumber, ["minimum", "maximum", "default"]),
      };
    case "array": {
      const options = isRecord(schema.items)
        ? readOptions(schema.items)
        : undefined;
      if (!options) throw invalid(name, "has no values to choose from");
      return {
        kind: "choices",
        options,
        ...pick(schema, isNumber, ["minItems", "maxItems"]),
        ...(isTexts(schema.default) && { default: schema.default }),
      };
    }
    case "string": {
      const options = readOptions(schema);
      const fallback = pick(schema, isText, ["default"]);
      if (options) return { kind: "choice", options, ...fallback };
      return {
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

function readOptions(schema: Schema): FieldOption[] | undefined {
  const { enum: values, enumNames, oneOf, anyOf } = schema;
  const titled = oneOf ?? anyOf;
  if (Array.isArray(titled)) {
    const options = titled.filter(isRecord).flatMap((entry) => {
      const value = nonEmptyText(entry.const);
      return value === undefined
        ? []
        : [{ value, label: nonEmptyText(entry.title) ?? value }];
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
export function parseTyped(
  field: Pick<Field, "kind">,
  typed: string,
): ElicitValue | undefined {
  if (typed === "") return undefined;
  if (field.kind === "text") return typed;
  return typed.trim() === "" ? NaN : Number(typed);
}

const nonEmptyText = (value: unknown): string | undefined =>
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

/** A value to choose, and how it is shown. */
interface FieldOption {
  readonly value: string;
  readonly label: string;
}

/** A field of a form. */
export type Field = Rules & {
  /** The key of the value. */
  readonly name: string;
  /** The label for people: the title, or the name. */
  readonly label: string;
  readonly description?: string;
  readonly isRequired: boolean;
};

/** The kind of a field, and the rules for its value. */
type Rules =
  | {
    readonly kind: "text";
    readonly minLength?: number;
    readonly maxLength?: number;
    /** `email`, `uri`, `date` or `date-time`; others are not checked. */
    readonly format?: string;
    /** Whether it must not be echoed. */
    readonly isSecret: boolean;
    readonly default?: string;
  }
  | {
    readonly kind: "number";
    readonly isInteger: boolean;
    readonly minimum?: number;
    readonly maximum?: number;
    readonly default?: number;
  }
  | { readonly kind: "boolean"; readonly default?: boolean }
  | ({ readonly kind: "choice"; readonly default?: string } & Options)
  | (
    & { readonly kind: "choices"; readonly default?: string[] }
    & { readonly minItems?: number; readonly maxItems?: number }
    & Options
  );

/** One of these values, or several, can be chosen. */
interface Options {
  readonly options: readonly FieldOption[];
}

/** Describes the problem of a value; undefined if it is valid. */
export function checkField(
  field: Field,
  value: unknown,
): string | undefined {
  if (value === undefined) {
    return field.isRequired ? "An answer is required" : undefined;
  }
  switch (field.kind) {
    case "boolean":
      return isBoolean(value) ? undefined : "Expected true or false";
    case "number": {
      if (!isNumber(value) || !Number.isFinite(value)) {
        return "Expected a number";
      }
      const { isInteger, minimum = -Infinity, maximum = Infinity } = field;
      return firstBroken(
        [isInteger && !Number.isInteger(value), "Expected a whole number"],
        [value < minimum, `At least ${minimum}`],
        [value > maximum, `At most ${maximum}`],
      );
    }
    case "text": {
      if (!isText(value)) return "Expected text";
      const { minLength = 0, maxLength = Infinity, format = "" } = field;
      const { length } = [...value];
      const [fits, expected] = FORMATS.get(format) ?? [];
      return firstBroken(
        [length < minLength, `At least ${minLength} characters`],
        [length > maxLength, `At most ${maxLength} characters`],
        [fits?.(value) === false, `Expected ${expected}`],
      );
    }
    case "choice":
      return hasOption(field, value) ? undefined : "Not one of the values";
    case "choices": {
      if (!isTexts(value) || !value.every((item) => hasOption(field, item))) {
        return "Not some of the values";
      }
      const { minItems = 0, maxItems = Infinity } = field;
      return firstBroken(
        [value.length < minItems, `At least ${minItems} of the values`],
        [value.length > maxItems, `At most ${maxItems} of the values`],
      );
    }
  }
}

/** Describes the problems of an answer, one sentence for each field; the values are not part of it. */
export function checkForm(
  fields: readonly Field[],
  content: Readonly<Record<string, unknown>>,
): string[] {
  return fields.flatMap((field) => {
    const value = Object.hasOwn(content, field.name)
      ? content[field.name]
      : undefined;
    const problem = checkField(field, value);
    return problem === undefined ? [] : [`${field.name}: ${problem}`];
  });
}

/** Returns the text of the first rule that is broken. */
const firstBroken = (
  ...rules: readonly (readonly [isBroken: boolean, text: string])[]
): string | undefined => rules.find(([isBroken]) => isBroken)?.[1];

const isDate = (value: string): boolean => {
  if (!/^\d{4}-\d\d-\d\d$/.test(value)) return false;
  const time = Date.parse(`${value}T00:00:00Z`); // 31 June becomes 1 July
  return Number.isFinite(time) &&
    new Date(time).toISOString().startsWith(value);
};

const isDateTime = (value: string): boolean =>
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i.test(value) &&
  isDate(value.slice(0, 10)) && Number.isFinite(Date.parse(value));

/** The formats of texts that are checked. */
const FORMATS: ReadonlyMap<
  string,
  readonly [fits: (value: string) => boolean, expected: string]
> = new Map([
  ["email", [(text) => /^[^\s@]+@[^\s@]+$/.test(text), "an email address"]],
  ["uri", [(text) => URL.canParse(text), "a URL"]],
  ["date", [isDate, "a date as 2026-12-31"]],
  ["date-time", [isDateTime, "a time as 2026-12-31T23:59:00Z"]],
]);

const hasOption = ({ options }: Options, value: unknown): boolean =>
  options.some((option) => option.value === value);

/** Returns whether a value is a list of texts. */
const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === "string");
