/**
 * Small parts of HTTP interfaces of this package: addresses, bodies, problems.
 *
 * @module
 */
import type { $ZodError } from "zod/v4/core";
import type { IncomingHttpHeaders } from "node:http";

/** A name or an address, with an optional port: a URL may hold more, such as the quote that ends a header's text. */
export const HOST = /^[\w.:[\]-]+$/;

/**
 * Parses the URL by which clients reach a Server.
 *
 * @param name the option or flag that has it
 * @returns without a slash at its end
 * @throws {TypeError} that names the problem, without the URL: it may hold a password
 */
export function readPublicUrl(text: string, name: string): string {
  const url = URL.parse(text);
  const problem = publicUrlProblem(url);
  if (url !== null && problem === undefined) {
    return url.href.replace(/\/+$/, "");
  }
  throw new TypeError(
    `Cannot use ${name}: ${problem}; expected the URL by which clients reach the Server, such as "https://smcp.example.com"`,
  );
}

function publicUrlProblem(url: URL | null): string | undefined {
  if (url === null || !/^https?:$/.test(url.protocol)) {
    return "it is not an https:// or http:// URL";
  }
  if (url.username !== "" || url.password !== "") {
    return "it has a user or a password";
  }
  if (url.href.includes("#")) return "it has a fragment";
  if (url.href.includes("?")) return "it has a query";
  return HOST.test(url.host)
    ? undefined
    : "its host is neither a name nor an address";
}

/** What is wrong with one field of a request. */
interface FieldProblem {
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

  /** @param errors what is wrong; the first is given in short, too */
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

/**
 * Converts what a schema refused.
 *
 * @param what names the whole
 * @param fix where the right form is described
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

/** A request, of which the body is read. */
interface Incoming extends AsyncIterable<Uint8Array> {
  readonly headers: IncomingHttpHeaders;
}

/**
 * Reads the body of a change. Its type must be JSON: a form of another site cannot send that.
 *
 * @param maxBytes the largest body
 * @throws {ProblemError} 400, 413, 415
 */
export async function readJson(
  incoming: Incoming,
  maxBytes: number,
): Promise<unknown> {
  const type = incoming.headers["content-type"] ?? "";
  if (!/^application\/json *(;|$)/i.test(type)) {
    throw problemOf(
      415,
      "Content-Type",
      "it is not application/json",
      "send the body as JSON, with this media type",
    );
  }
  const text = await readText(incoming, maxBytes);
  try {
    return JSON.parse(text);
  } catch {
    throw problemOf(400, "body", "it is not JSON", "send a JSON object");
  }
}

/** Reads what is too long as well, since a refusal before its end would not arrive. */
async function readText(
  incoming: Incoming,
  maxBytes: number,
): Promise<string> {
  const tooLarge = () =>
    problemOf(
      413,
      "body",
      `it has more than ${maxBytes} bytes`,
      "send less",
    );
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let text = "";
  let size = 0;
  if (Number(incoming.headers["content-length"]) > maxBytes) throw tooLarge();
  try {
    for await (const chunk of incoming) {
      size += chunk.length;
      if (size <= maxBytes) text += decoder.decode(chunk, { stream: true });
    }
  } catch { // its client is gone, which is no failure here
    throw problemOf(400, "body", "it ended early", "send it whole");
  }
  if (size > maxBytes) throw tooLarge();
  return text + decoder.decode();
}
