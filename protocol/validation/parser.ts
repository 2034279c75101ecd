import * as z from "./schema.ts";
import { ErrorCode, ProtocolError } from "../errors/protocol_error.ts";

/**
 * Parses unknown wire data; unknown fields pass through, and no value is coerced (spec §1, §4).
 *
 * @throws {ProtocolError} 400 that names each invalid field, also in `details.fields`
 */
export type Parser<T> = (data: unknown) => T;

/** Maximum number of invalid fields that an error names; a hostile payload can have any number. */
const NAMED_FIELDS = 10;

/** Creates a {@linkcode Parser} from a schema, so that callers do not depend on the validation library. */
export const parser = <T>(schema: z.ZodMiniType<T>): Parser<T> => (data) => {
  const result = schema.safeParse(data, z.ENGLISH);
  if (result.success) return result.data;
  const issues = result.error.issues.slice(0, NAMED_FIELDS).map((issue) => ({
    field: issue.path.map(String).join(".") || "payload",
    problem: issue.message,
  }));
  throw new ProtocolError(
    ErrorCode.BAD_REQUEST,
    `Invalid payload: ${
      issues.map((i) => `${i.field}: ${i.problem}`).join("; ")
    }`,
    { details: { fields: issues.map((i) => i.field) } },
  );
};
