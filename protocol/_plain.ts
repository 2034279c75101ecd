import { z } from "zod";

/** A JSON object, passed on as it is: `z.record()` copies it, and drops a key named `__proto__`. */
export const plainObject = z.custom<Record<string, unknown>>(
  (data) => Object.prototype.toString.call(data) === "[object Object]",
  "Invalid input: expected object",
);

/** A list of strings as one check: `z.array()` reports each failing item, and a hostile list has millions. */
export const stringList = z.custom<string[]>(
  (data) =>
    Array.isArray(data) && data.every((item) => typeof item === "string"),
  "Invalid input: expected a list of strings",
);
