import * as z from "./schema.ts";

/** Returns whether data is a JSON object. */
export const isPlainObject = (data: unknown): data is Record<string, unknown> =>
  Object.prototype.toString.call(data) === "[object Object]";

/** A JSON object, passed through unchanged: `z.record()` would copy it, and drop a key named `__proto__`. */
export const plainObject = z.custom<Record<string, unknown>>(
  isPlainObject,
  "Invalid input: expected object",
);

/**
 * The item schemas of lists and maps. Their transforms hide them from `z.toJSONSchema()`, which
 * generates the schema of the configuration file.
 */
export const partsOf = new WeakMap<
  z.core.$ZodType,
  { items: z.core.$ZodType } | { values: z.core.$ZodType }
>();

/** A list whose validation stops at the first invalid item: `z.array()` reports each, and a hostile list has millions. */
export const listOf = <T>(item: z.ZodMiniType<T>) => {
  const collect = z.transform((items: unknown[], context): T[] => {
    const parsed: T[] = [];
    for (const [index, data] of items.entries()) {
      const result = item.safeParse(data, z.ENGLISH);
      if (!result.success) return stop(context, index, result.error);
      parsed.push(result.data);
    }
    return parsed;
  });
  const list = z.pipe(z.array(z.unknown()), collect);
  partsOf.set(list, { items: item });
  return list;
};

/** A map by name whose validation stops at the first invalid value, for the same reason. */
export const mapOf = <T>(value: z.ZodMiniType<T>) => {
  const collect = z.transform(
    (data: Record<string, unknown>, context): Record<string, T> => {
      const parsed: [string, T][] = [];
      for (const [name, entry] of Object.entries(data)) {
        const result = value.safeParse(entry, z.ENGLISH);
        if (!result.success) return stop(context, name, result.error);
        parsed.push([name, result.data]);
      }
      return Object.fromEntries(parsed);
    },
  );
  const map = z.pipe(plainObject, collect);
  partsOf.set(map, { values: value });
  return map;
};

function stop(
  context: z.core.ParsePayload,
  at: string | number,
  { issues: [issue] }: z.core.$ZodError,
): never {
  // Of the same kind, only further up; a failure has an issue.
  context.issues.push({
    ...issue,
    input: context.value,
    path: [at, ...issue?.path ?? []],
  } as z.core.$ZodRawIssue);
  return z.NEVER;
}

/** A field that may be absent or null. */
export const maybe = <T extends z.core.SomeType>(schema: T) =>
  z.exactOptional(z.nullable(schema));
