import { ErrorCode, type ErrorPayload } from "../../protocol/errors.ts";
import { ERROR_CODE_HEADER } from "../../protocol/version.ts";

/** An HTTP response that refuses a request; the same over polling and for an upgrade (spec §2). */
export interface Refusal {
  /** The HTTP status. */
  readonly status: 400 | 401 | 403 | 404 | 413 | 429 | 500 | 503;
  /** Headers except for the length. */
  readonly headers: Readonly<Record<string, string>>;
  /** A flat error as JSON (spec §6). */
  readonly body: string;
}

/** Creates a refusal from a flat error. */
export function refusal(
  status: Refusal["status"],
  error: ErrorPayload,
): Refusal {
  const mismatch = error.code === ErrorCode.PROTOCOL_VERSION_MISMATCH;
  return {
    status,
    headers: {
      "Content-Type": "application/json",
      ...(mismatch && { [ERROR_CODE_HEADER]: String(error.code) }),
    },
    body: JSON.stringify(error),
  };
}

/** The refusal for an unknown path. */
export const notFound = (): Refusal =>
  refusal(404, { code: ErrorCode.NOT_FOUND, message: "Not found" });

/** The refusal for a malformed request. */
export const invalidRequest = (): Refusal =>
  refusal(400, { code: ErrorCode.BAD_REQUEST, message: "Invalid request" });

/** Converts a refusal to a `Response`. */
export const toResponse = ({ status, headers, body }: Refusal): Response =>
  new Response(body, { status, headers });
