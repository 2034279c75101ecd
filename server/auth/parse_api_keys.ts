import { z } from "zod";
import type { ApiKey } from "./api_keys.ts";

const patterns = z.array(z.string().min(1)).readonly();

// Strict: a misspelled restriction must not be ignored.
const schema = z.array(z.strictObject({
  id: z.string().min(1).max(256),
  key: z.string().min(1),
  roles: z.array(z.enum(["agent", "computer", "operator"])).readonly()
    .exactOptional(),
  offices: patterns.exactOptional(),
  names: patterns.exactOptional(),
})).min(1) satisfies z.ZodType<ApiKey[]>;

/**
 * Parses a list of API keys from JSON: `[{"id": "ci", "key": "…", "offices": ["team-*"]}]`.
 *
 * @throws {TypeError} naming the invalid fields, never their values
 */
export function parseApiKeys(text: string): ApiKey[] {
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch {
    throw new TypeError("Cannot read the API keys: not JSON"); // the error of JSON.parse quotes them
  }
  const result = schema.safeParse(data);
  if (result.success) return result.data;
  const fields = result.error.issues.map(({ path, message }) =>
    `${path.join(".") || "the list"}: ${message}`
  );
  throw new TypeError(`Cannot read the API keys: ${fields.join("; ")}`);
}
