import { headline } from "./words.ts";

/**
 * Describes the parameters of a tool: a row each, with name, type and description.
 *
 * @param schema JSON Schema of the tool's arguments
 */
export function parameterRows(
  schema: Readonly<Record<string, unknown>>,
): string[][] {
  const { properties, required } = schema;
  if (!isRecord(properties)) return [];
  const needed = Array.isArray(required) ? required : [];
  return Object.entries(properties).map(([name, property]) => {
    const details = isRecord(property) ? property : {};
    const type = typeOf(details);
    return [
      name,
      needed.includes(name) ? `${type}, required` : type,
      typeof details.description === "string"
        ? headline(details.description)
        : "",
    ];
  });
}

function typeOf(
  { type, enum: values, items }: Record<string, unknown>,
): string {
  if (Array.isArray(values)) {
    return values.map((value) => JSON.stringify(value)).join(" | ");
  }
  if (type === "array" && isRecord(items)) return `array of ${typeOf(items)}`;
  if (Array.isArray(type)) return type.join(" | ");
  return typeof type === "string" ? type : "any";
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
