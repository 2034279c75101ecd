// @ts-check

/** Deeper values are written as JSON. */
const MAX_DEPTH = 4;
const MAX_FIELDS = 60;
const MAX_OPTIONS = 200;

/**
 * A field of a form.
 * @typedef {object} FormField
 * @property {"text" | "number" | "integer" | "boolean" | "choice" | "list" | "group" | "json"} kind
 * @property {string} name the property's name; of an item of a list, empty
 * @property {string} label
 * @property {string} description
 * @property {boolean} isRequired
 * @property {unknown} [initial] the default of the schema
 * @property {readonly unknown[]} [options] the values of a choice
 * @property {readonly FormField[]} [fields] of a group
 * @property {FormField} [item] of a list
 * @property {Readonly<Record<string, string>>} [rules] constraints as attributes of an input
 */

/** @typedef {Readonly<Record<string, unknown>>} Schema */

/**
 * Plans a form for a JSON Schema of an object. A value without a field of its own, or with too many, is
 * entered as JSON; the work is bounded for any schema.
 *
 * @param {unknown} schema
 * @returns {FormField} a group, or one for JSON
 */
export function planForm(schema) {
  const plan = { left: MAX_FIELDS };
  const field = planField("", schema, { isRequired: true, depth: 0, plan });
  return field.kind === "group" ? field : { ...field, kind: "json" };
}

/**
 * @param {string} name
 * @param {unknown} schema
 * @param {{ isRequired: boolean, depth: number, plan: { left: number } }} place in the form
 * @returns {FormField}
 */
function planField(name, schema, { isRequired, depth, plan }) {
  const about = isObject(schema) ? schema : {};
  plan.left--;
  /** @type {FormField} */
  const field = {
    kind: "json",
    name,
    label: shortText(about["title"]) || name,
    description: shortText(about["description"]),
    isRequired,
    ...(about["default"] !== undefined && { initial: about["default"] }),
  };
  if (plan.left < 0 || COMBINED.some((key) => about[key] !== undefined)) {
    return field;
  }
  const options = readOptions(about);
  if (options) return { ...field, kind: "choice", options };
  const type = readType(about);
  switch (type) {
    case "string":
      return { ...field, kind: "text", rules: textRules(about) };
    case "number":
    case "integer":
      return { ...field, kind: type, rules: numberRules(about) };
    case "boolean":
      return { ...field, kind: "boolean" };
    case "array": {
      const place = { isRequired: true, depth: depth + 1, plan };
      const item = planField("", about["items"], place);
      const isList = SCALARS.includes(item.kind);
      return isList ? { ...field, kind: "list", item } : field;
    }
    case "object":
      return planGroup(field, about, depth, plan);
    default:
      return field;
  }
}

/**
 * @param {FormField} field
 * @param {Schema} about
 * @param {number} depth
 * @param {{ left: number }} plan
 * @returns {FormField}
 */
function planGroup(field, about, depth, plan) {
  const { additionalProperties = false, required: listed } = about;
  const properties = isObject(about["properties"]) ? about["properties"] : {};
  const names = Object.keys(properties);
  const isOpen = additionalProperties !== false;
  // An object of any properties has no fields; beyond a depth, a form is of no use.
  if (
    depth >= MAX_DEPTH || names.length > plan.left ||
    (depth > 0 && (names.length === 0 || isOpen))
  ) return field;
  const required = new Set(Array.isArray(listed) ? listed : []);
  const fields = names.map((name) => {
    const place = { isRequired: required.has(name), depth: depth + 1, plan };
    return planField(name, properties[name], place);
  });
  return { ...field, kind: "group", fields };
}

/** Schemas whose fields depend on each other, or stand elsewhere. */
const COMBINED = [
  "oneOf",
  "anyOf",
  "allOf",
  "not",
  "if",
  "$ref",
  "$dynamicRef",
];

/** @type {readonly FormField["kind"][]} */
const SCALARS = ["text", "number", "integer", "boolean", "choice"];

/** @param {Schema} about */
function readOptions(about) {
  const { const: only, enum: listed } = about;
  if (only !== undefined) return [only];
  if (!Array.isArray(listed)) return undefined;
  const isPlain = listed.length > 0 && listed.length <= MAX_OPTIONS &&
    listed.every((value) => value === null || typeof value !== "object");
  return isPlain ? listed : undefined;
}

/** @param {Schema} about */
function readType(about) {
  const { type, properties } = about;
  if (typeof type === "string") return type;
  return type === undefined && isObject(properties) ? "object" : undefined;
}

/** @param {Schema} about */
const textRules = ({ minLength: minlength, maxLength: maxlength, format }) =>
  inputRules({ minlength, maxlength, type: FORMATS.get(format) });

/** The inputs of a browser for formats; others are text. @type {Map<unknown, string>} */
const FORMATS = new Map(
  Object.entries({ email: "email", uri: "url", date: "date", time: "time" }),
);

/** @param {Schema} about */
const numberRules = ({ minimum: min, maximum: max, multipleOf, type }) =>
  inputRules({
    min,
    max,
    step: multipleOf ?? (type === "integer" ? 1 : "any"),
  });

/** @param {Readonly<Record<string, unknown>>} rules */
const inputRules = (rules) =>
  Object.fromEntries(
    Object.entries(rules)
      .filter(([, value]) =>
        typeof value === "number" || typeof value === "string"
      )
      .map(([name, value]) => [name, String(value)]),
  );

/** @param {unknown} value */
const shortText = (value) =>
  typeof value === "string" ? value.slice(0, 2000) : "";

/**
 * @param {unknown} value
 * @returns {value is Schema}
 */
const isObject = (value) =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** An entered value does not fit its field. */
export class FieldError extends Error {
  /**
   * @param {string} label of the field
   * @param {string} problem
   */
  constructor(label, problem) {
    super(`${label}: ${problem}`);
    this.name = "FieldError";
  }
}

/**
 * Reads the entered value of a field without parts.
 *
 * @param {FormField} field
 * @param {string} text
 * @returns {unknown} `undefined` where nothing is to be sent
 * @throws {FieldError}
 */
export function readText({ kind, label, isRequired }, text) {
  if (kind === "text") return text === "" && !isRequired ? undefined : text;
  if (text.trim() === "") {
    if (!isRequired) return undefined;
    throw new FieldError(label || "Value", "a value is required");
  }
  if (kind === "number" || kind === "integer") {
    const value = Number(text);
    const isInteger = kind === "integer";
    const fits = isInteger ? Number.isInteger : Number.isFinite;
    if (fits(value)) return value;
    const needed = isInteger ? "a whole number" : "a number";
    throw new FieldError(label, `${needed} is needed`);
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new FieldError(
      label || "Arguments",
      error instanceof Error ? error.message : "invalid JSON",
    );
  }
}

/**
 * Makes an object of entries, of any names.
 *
 * @param {readonly (readonly [string, unknown])[]} entries those that are `undefined` are left out
 */
export const objectOf = (entries) =>
  Object.fromEntries(entries.filter(([, value]) => value !== undefined));
