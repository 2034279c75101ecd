import { STATUS_CODES } from "node:http";
import type { z } from "zod";
import type { problemSchema } from "./schemas.ts";

/** A problem as RFC 9457 has it, which names the field, what is wrong with it, and the fix. */
export type Problem = z.infer<typeof problemSchema>;

/** A request that is answered with a problem. */
export class ProblemError extends Error {
  /** What is sent. */
  readonly problem: Problem;
  /** Headers of the answer. */
  readonly headers: Readonly<Record<string, string>>;

  /** @param errors what is wrong; the first is told in short, too */
  constructor(
    status: number,
    errors: Problem["errors"],
    headers: Readonly<Record<string, string>> = {},
  ) {
    const detail = errors.map(({ field, problem, fix }) =>
      `${field}: ${problem}; ${fix}`
    ).join(". ");
    super(detail);
    this.headers = headers;
    this.problem = {
      type: "about:blank",
      title: STATUS_CODES[status] ?? "Error",
      status,
      detail,
      errors,
    };
  }
}

/** Creates a problem with one field. */
export const problemOf = (
  status: number,
  field: string,
  problem: string,
  fix: string,
  headers?: Readonly<Record<string, string>>,
): ProblemError => new ProblemError(status, [{ field, problem, fix }], headers);

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

/** The media type of problems. */
const PROBLEM_TYPE = "application/problem+json";

/** Converts a problem to a response. */
export const toProblemResponse = (
  { problem, headers }: ProblemError,
): Response =>
  new Response(JSON.stringify(problem), {
    status: problem.status,
    headers: { ...headers, "Content-Type": PROBLEM_TYPE },
  });
