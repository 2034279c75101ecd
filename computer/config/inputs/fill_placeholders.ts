import { splitPlaceholders } from "../../util/inputs.ts";

/** Maximum nesting of lists and objects, as in the Python SDK. */
const MAX_DEPTH = 10;

/**
 * Replaces `${input:ID}` in every string of a value (spec §4).
 *
 * A string that consists of one placeholder becomes the input's value, of any type; in other
 * strings the value is inserted as text, structured values as JSON. Placeholders within inserted
 * values are not replaced.
 *
 * @param values by id
 * @throws {Error} that names an id without a value, or when `value` is nested too deeply
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
  if (depth === MAX_DEPTH) {
    throw new Error(
      `Cannot fill in inputs: the configuration is nested deeper than ${MAX_DEPTH} levels`,
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
