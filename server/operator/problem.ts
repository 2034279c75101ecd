import type { z } from "zod";
import { invalidFields } from "../../shared/http/invalid.ts";
import type { ProblemError } from "../../shared/http/problem.ts";

export {
  ProblemError,
  problemOf,
  toProblemResponse,
} from "../../shared/http/problem.ts";

/** Converts what a schema refused. */
export const invalid = (error: z.ZodError, what: string): ProblemError =>
  invalidFields(error, what, "give what /operator/v1/openapi.json says of it");
