/** What is wrong with one field of a request. */
export interface FieldProblem {
  /** The field, header or part. */
  readonly field: string;
  /** What is wrong with it. */
  readonly problem: string;
  /** What to do about it. */
  readonly fix: string;
}

/** A problem as RFC 9457 has it, which names the field, what is wrong with it, and the fix. */
export interface Problem {
  readonly type: "about:blank";
  readonly title: string;
  readonly status: number;
  /** All of `errors` as sentences. */
  readonly detail: string;
  readonly errors: readonly FieldProblem[];
}

/** A request that is answered with a problem. */
export class ProblemError extends Error {
  /** What is sent. */
  readonly problem: Problem;
  /** Headers of the answer. */
  readonly headers: Readonly<Record<string, string>>;

  /** @param errors what is wrong; the first is told in short, too */
  constructor(
    status: number,
    errors: readonly FieldProblem[],
    headers: Readonly<Record<string, string>> = {},
  ) {
    const detail = errors.map(({ field, problem, fix }) =>
      `${field}: ${problem}; ${fix}`
    ).join(". ");
    super(detail);
    this.headers = headers;
    this.problem = {
      type: "about:blank",
      title: titleOf(status),
      status,
      detail,
      errors,
    };
  }
}

/** The names of the statuses of problems (RFC 9110). */
const TITLES: Readonly<Record<number, string>> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Request Timeout",
  409: "Conflict",
  413: "Payload Too Large",
  415: "Unsupported Media Type",
  429: "Too Many Requests",
  500: "Internal Server Error",
  501: "Not Implemented",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
};

/** Returns the name of the status of a problem. */
export const titleOf = (status: number): string => TITLES[status] ?? "Error";

/** Creates a problem with one field. */
export const problemOf = (
  status: number,
  field: string,
  problem: string,
  fix: string,
): ProblemError => new ProblemError(status, [{ field, problem, fix }]);

/** Creates a problem that passes by itself. */
export const retryLater = (field: string, problem: string): ProblemError =>
  new ProblemError(503, [{ field, problem, fix: "try again in a moment" }], {
    "Retry-After": "1",
  });

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
