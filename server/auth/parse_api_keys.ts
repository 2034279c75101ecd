import { z } from "zod";
import { nearestWord } from "../../shared/nearest_word.ts";
import type { ApiKey } from "./api_keys.ts";
import { parseExpiry } from "./parse_expiry.ts";

const patterns = z.array(z.string().min(1)).readonly();

// Strict: a misspelled restriction must not be ignored.
const entry = z.strictObject({
  id: z.string().min(1).max(256),
  key: z.string().min(1),
  roles: z.array(z.enum(["agent", "computer", "operator"])).readonly()
    .exactOptional(),
  offices: patterns.exactOptional(),
  names: patterns.exactOptional(),
  expires: z.string().refine((text) => parseExpiry(text) !== undefined, {
    error: 'Invalid input: expected a time such as "2027-01-31T00:00:00Z"',
  }).exactOptional(),
});

const schema = z.array(entry).min(1) satisfies z.ZodType<ApiKey[]>;

const FIELDS = Object.keys(entry.shape);

/**
 * Parses a list of API keys from JSON: `[{"id": "ci", "key": "…", "offices": ["team-*"]}]`.
 *
 * @throws {TypeError} naming the invalid fields and the ids of their keys, never the other values
 */
export function parseApiKeys(text: string): ApiKey[] {
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch (error) {
    throw new TypeError(`Cannot read the API keys: not JSON${placeOf(error)}`);
  }
  const result = schema.safeParse(data);
  if (result.success) return result.data;
  const faults = result.error.issues.map((issue) => describe(issue, data));
  throw new TypeError(`Cannot read the API keys: ${faults.join("; ")}`);
}

/** Finds line and column in an error of JSON.parse, whose message quotes the keys and must not be shown. */
const placeOf = (error: unknown): string =>
  /\(line \d+ column \d+\)/.exec(String(error))?.[0].replace(/^/, " ") ?? "";

function describe(issue: z.core.$ZodIssue, data: unknown): string {
  const [at, ...field] = issue.path;
  if (typeof at !== "number") {
    return `the list: ${issue.message}; write it as [{"id": "ci", "key": "…"}]`;
  }
  const { id }: { id?: unknown } = Object(Object(data)[at]);
  const key = typeof id === "string"
    ? `the key ${JSON.stringify(id)}`
    : `the key at position ${at + 1}`;
  if (issue.code === "invalid_type" && issue.expected === "array") {
    return `${key}: ${
      field.join(".")
    }: expected a list of texts, such as ["…"], also of one`;
  }
  if (issue.code !== "unrecognized_keys") {
    return `${
      [key, field.join(".")].filter(Boolean).join(": ")
    }: ${issue.message}`;
  }
  return issue.keys.map((name) => {
    const meant = nearestWord(name, FIELDS);
    return `${key}: ${name}: unknown field; ${
      meant === undefined
        ? `remove it, or use one of ${FIELDS.join(", ")}`
        : `did you mean ${JSON.stringify(meant)}?`
    }`;
  }).join("; ");
}
