import type * as z from "./schema.ts";
import { ErrorCode, ProtocolError } from "../errors/protocol_error.ts";

/**
 * Turns unknown wire data into `T`; unknown fields pass through, nothing is coerced (spec §1, §4).
 *
 * @throws {ProtocolError} 400 that names each failing field, also as `details.fields`
 */
export type Parser<T> = (data: unknown) => T;

/** A hostile payload can have any number of failing fields; the answer names the first few. */
const NAMED_FIELDS = 10;

/** Makes a {@linkcode Parser} of a schema, so that no caller meets the validation library. */
export const parser = <T>(schema: z.ZodMiniType<T>): Parser<T> => (data) => {
  const result = schema.safeParse(data);
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
