/** Tells whether a value is an object with fields, and no list. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The object that a JSON text says; `undefined` for anything else. */
export function parseObject(
  text: unknown,
): Record<string, unknown> | undefined {
  if (typeof text !== "string") return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** An object without the fields that are null or undefined, which MCP does not know. */
export const withoutNulls = (
  object: Record<string, unknown>,
): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(object).filter(([, value]) =>
      value !== null && value !== undefined
    ),
  );
