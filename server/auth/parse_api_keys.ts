import { z } from "zod";
import type { ApiKey } from "./api_keys.ts";

const patterns = z.array(z.string().min(1)).readonly();

// Strict: a misspelt restriction must not become none.
const schema = z.array(z.strictObject({
  id: z.string().min(1).max(256),
  key: z.string().min(1),
  roles: z.array(z.enum(["agent", "computer"])).readonly().exactOptional(),
  offices: patterns.exactOptional(),
  names: patterns.exactOptional(),
})).min(1) satisfies z.ZodType<ApiKey[]>;

/**
 * Reads a list of API keys from JSON: `[{"id": "ci", "key": "…", "offices": ["team-*"]}]`.
 *
 * @throws {TypeError} naming the fields that are wrong, never what is in them
 */
export function parseApiKeys(text: string): ApiKey[] {
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch {
    throw new TypeError("Cannot read the API keys: not JSON"); // JSON.parse would quote them
  }
  const result = schema.safeParse(data);
  if (result.success) return result.data;
  const fields = result.error.issues.map(({ path, message }) =>
    `${path.join(".") || "the list"}: ${message}`
  );
  throw new TypeError(`Cannot read the API keys: ${fields.join("; ")}`);
}
