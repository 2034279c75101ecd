import type { $ZodError } from "zod/v4/core";
import { ProblemError } from "./problem.ts";

/**
 * Converts what a schema refused.
 *
 * @param what names the whole
 * @param fix says where the right form is described
 */
export const invalidFields = (
  error: $ZodError,
  what: string,
  fix: string,
): ProblemError =>
  new ProblemError(
    400,
    error.issues.flatMap((issue) =>
      issue.code === "unrecognized_keys"
        ? issue.keys.map((key) => ({
          field: [...issue.path, key].join("."),
          problem: "there is no such field",
          fix: "leave it out, or correct its name",
        }))
        : [{
          field: issue.path.join(".") || what,
          problem: issue.message,
          fix,
        }]
    ),
  );
