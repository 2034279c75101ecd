/**
 * The validation library in its tree-shakable form, with {@linkcode ENGLISH} messages: without any,
 * each would be "Invalid input".
 *
 * @module
 */
import type { core } from "zod/mini";

export * from "zod/mini";

/**
 * What `safeParse()` takes, for the messages of zod's English locale: those that are shown of schemas
 * of this package. It is no setting of the whole program, which may use zod, too.
 */
export const ENGLISH: { readonly error: core.$ZodErrorMap } = {
  error: (issue) => {
    switch (issue.code) {
      case "invalid_type":
        return `Invalid input: expected ${issue.expected}, received ${
          typeOf(issue.input)
        }`;
      case "invalid_value": {
        const values = issue.values.map(quoted);
        return values.length === 1
          ? `Invalid input: expected ${values[0]}`
          : `Invalid option: expected one of ${values.join("|")}`;
      }
      case "too_big":
        return `Too big: expected ${limit(issue, "<", issue.maximum)}`;
      case "too_small":
        return `Too small: expected ${limit(issue, ">", issue.minimum)}`;
      case "invalid_union":
        return Array.isArray(issue.options)
          ? `Invalid discriminator value. Expected ${
            issue.options.map((option) => `'${option}'`).join(" | ")
          }`
          : "Invalid input";
      default:
        return "Invalid input";
    }
  },
};

function typeOf(value: unknown): string {
  if (typeof value === "number") {
    return Number.isFinite(value) ? "number" : String(value);
  }
  if (value === null) return "null";
  if (typeof value !== "object") return typeof value;
  const { constructor } = value;
  return Array.isArray(value)
    ? "array"
    : Object.getPrototypeOf(value) === Object.prototype || !constructor
    ? "object"
    : constructor.name;
}

const quoted = (value: unknown): string =>
  typeof value === "string" ? `"${value}"` : String(value);

function limit(
  { origin, inclusive }: { origin: string; inclusive?: boolean | undefined },
  sign: string,
  bound: number | bigint,
): string {
  const shown = `${sign}${inclusive ? "=" : ""}${bound}`;
  const unit = UNITS[origin];
  return unit === undefined
    ? `${origin} to be ${shown}`
    : `${origin} to have ${shown} ${unit}`;
}

const UNITS: Readonly<Record<string, string>> = {
  string: "characters",
  array: "items",
};
