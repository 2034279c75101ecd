import type { z } from "zod";
import { ProblemError } from "../../shared/http/problem.ts";

export {
  ProblemError,
  problemOf,
  toProblemResponse,
} from "../../shared/http/problem.ts";

/** Converts what a schema refused. */
export const invalid = (error: z.ZodError, what: string): ProblemError =>
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
          fix: "give what /operator/v1/openapi.json says of it",
        }]
    ),
  );
