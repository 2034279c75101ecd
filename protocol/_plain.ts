import * as z from "zod";

/** A JSON object, passed on as it is: `z.record()` copies it, and drops a key named `__proto__`. */
export const plainObject = z.custom<Record<string, unknown>>(
  (data) => Object.prototype.toString.call(data) === "[object Object]",
  "Invalid input: expected object",
);

/**
 * What a list or a map is made of. Their transforms hide it from `z.toJSONSchema()`, with which
 * the schema of the configuration file is written.
 */
export const partsOf = new WeakMap<
  z.core.$ZodType,
  { items: z.core.$ZodType } | { values: z.core.$ZodType }
>();

/** A list that stops at its first failing item: `z.array()` reports each, and a hostile list has millions. */
export const listOf = <T>(item: z.ZodType<T>) => {
  const list = z.array(z.unknown()).transform((items, context): T[] => {
    const parsed: T[] = [];
    for (const [index, data] of items.entries()) {
      const result = item.safeParse(data);
      if (!result.success) return stop(context, index, result.error);
      parsed.push(result.data);
    }
    return parsed;
  });
  partsOf.set(list, { items: item });
  return list;
};

/** A map of names that stops at its first failing value, for the same reason. */
export const mapOf = <T>(value: z.ZodType<T>) => {
  const map = plainObject.transform((data, context): Record<string, T> => {
    const parsed: [string, T][] = [];
    for (const [name, entry] of Object.entries(data)) {
      const result = value.safeParse(entry);
      if (!result.success) return stop(context, name, result.error);
      parsed.push([name, result.data]);
    }
    return Object.fromEntries(parsed);
  });
  partsOf.set(map, { values: value });
  return map;
};

function stop(
  context: z.RefinementCtx,
  at: string | number,
  { issues: [issue] }: z.ZodError,
): never {
  context.addIssue({
    code: "custom",
    path: [at, ...issue?.path ?? []],
    message: issue?.message ?? "Invalid input",
  });
  return z.NEVER;
}
