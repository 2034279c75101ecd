import { splitPlaceholders } from "../../util/placeholders.ts";

/** How many lists and objects deep a placeholder may stand, as in the Python SDK. */
const DEEPEST = 10;

/**
 * Puts values in place of `${input:ID}`, in every string of a value (spec §4).
 *
 * A string that is nothing but one placeholder becomes the value itself, of whatever type; in all
 * others the value is written into the text, structured ones as JSON. A value is not looked into:
 * a placeholder in it stays text.
 *
 * @param values by id
 * @throws {Error} that names an id without a value, or says that `value` is nested too deeply
 */
export function fillPlaceholders(
  value: unknown,
  values: ReadonlyMap<string, unknown>,
): unknown {
  return fill(value, values, 0);
}

function fill(
  value: unknown,
  values: ReadonlyMap<string, unknown>,
  depth: number,
): unknown {
  if (typeof value === "string") return fillString(value, values);
  if (typeof value !== "object" || value === null) return value;
  if (depth === DEEPEST) {
    throw new Error(
      `Cannot fill in inputs: the configuration is nested deeper than ${DEEPEST} levels`,
    );
  }
  return Array.isArray(value)
    ? value.map((item) => fill(item, values, depth + 1))
    : Object.fromEntries(
      Object.entries(value).map((
        [key, item],
      ) => [key, fill(item, values, depth + 1)]),
    );
}

function fillString(
  text: string,
  values: ReadonlyMap<string, unknown>,
): unknown {
  const parts = splitPlaceholders(text);
  const [only] = parts;
  if (parts.length === 1 && only?.kind === "placeholder") {
    return valueOf(only.id, values);
  }
  return parts.map((part) =>
    part.kind === "text" ? part.text : asText(valueOf(part.id, values))
  ).join("");
}

function valueOf(id: string, values: ReadonlyMap<string, unknown>): unknown {
  if (values.has(id)) return values.get(id);
  throw new Error(`Cannot fill in \${input:${id}}: it has no value`);
}

const asText = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value) ?? "";
