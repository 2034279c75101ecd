import type {
  ChoiceField,
  ChoicesField,
  Field,
  NumberField,
  TextField,
} from "./field.ts";

/** Says what is wrong with a value, or nothing. */
export function problemOf(
  field: Field,
  value: unknown,
): string | undefined {
  if (value === undefined) {
    return field.isRequired ? "An answer is required" : undefined;
  }
  switch (field.kind) {
    case "boolean":
      return typeof value === "boolean" ? undefined : "Expected true or false";
    case "number":
      return numberProblem(field, value);
    case "text":
      return textProblem(field, value);
    case "choice":
      return hasOption(field, value) ? undefined : "Not one of the values";
    case "choices":
      return choicesProblem(field, value);
  }
}

/** Says what is wrong with an answer, one sentence for each field; the values are not part of it. */
export function problemsOf(
  fields: readonly Field[],
  content: Readonly<Record<string, unknown>>,
): string[] {
  return fields.flatMap((field) => {
    const value = Object.hasOwn(content, field.name)
      ? content[field.name]
      : undefined;
    const problem = problemOf(field, value);
    return problem === undefined ? [] : [`${field.name}: ${problem}`];
  });
}

function numberProblem(
  { isInteger, minimum, maximum }: NumberField,
  value: unknown,
): string | undefined {
  if (typeof value !== "number" || !Number.isFinite(value)) {
    return "Expected a number";
  }
  if (isInteger && !Number.isInteger(value)) return "Expected a whole number";
  if (minimum !== undefined && value < minimum) return `At least ${minimum}`;
  if (maximum !== undefined && value > maximum) return `At most ${maximum}`;
  return undefined;
}

function textProblem(
  { minLength, maxLength, format }: TextField,
  value: unknown,
): string | undefined {
  if (typeof value !== "string") return "Expected text";
  const length = [...value].length;
  if (minLength !== undefined && length < minLength) {
    return `At least ${minLength} characters`;
  }
  if (maxLength !== undefined && length > maxLength) {
    return `At most ${maxLength} characters`;
  }
  switch (format) {
    case "email":
      return /^[^\s@]+@[^\s@]+$/.test(value)
        ? undefined
        : "Expected an email address";
    case "uri":
      return URL.canParse(value) ? undefined : "Expected a URL";
    case "date":
      return isDate(value) ? undefined : "Expected a date as 2026-12-31";
    case "date-time":
      return isDateTime(value)
        ? undefined
        : "Expected a time as 2026-12-31T23:59:00Z";
    default:
      return undefined;
  }
}

const isDate = (value: string): boolean => {
  if (!/^\d{4}-\d\d-\d\d$/.test(value)) return false;
  const time = Date.parse(`${value}T00:00:00Z`); // 31 June becomes 1 July
  return Number.isFinite(time) &&
    new Date(time).toISOString().startsWith(value);
};

const isDateTime = (value: string): boolean =>
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i.test(value) &&
  isDate(value.slice(0, 10)) && Number.isFinite(Date.parse(value));

function choicesProblem(
  field: ChoicesField,
  value: unknown,
): string | undefined {
  const { minItems, maxItems } = field;
  if (!isTexts(value) || !value.every((item) => hasOption(field, item))) {
    return "Not some of the values";
  }
  if (minItems !== undefined && value.length < minItems) {
    return `At least ${minItems} of the values`;
  }
  if (maxItems !== undefined && value.length > maxItems) {
    return `At most ${maxItems} of the values`;
  }
  return undefined;
}

const hasOption = (
  { options }: ChoiceField | ChoicesField,
  value: unknown,
): boolean => options.some((option) => option.value === value);

/** Returns whether a value is a list of texts. */
export const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === "string");
