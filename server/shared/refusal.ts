import { Buffer } from "node:buffer";
import { STATUS_CODES } from "node:http";
import {
  ERROR_CODE_HEADER,
  ErrorCode,
  type ErrorPayload,
} from "../../protocol/mod.ts";

/** An HTTP answer that refuses a request; the same over polling and for an upgrade (spec §2). */
export interface Refusal {
  /** The HTTP status. */
  readonly status: 400 | 401 | 403 | 404 | 429 | 500 | 503;
  /** What beside the length belongs to it. */
  readonly headers: Readonly<Record<string, string>>;
  /** A flat error as JSON (spec §6). */
  readonly body: string;
}

/** Makes a refusal of a flat error. */
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

/** What is refused because nobody answers there. */
export const notFound = (): Refusal =>
  refusal(404, { code: ErrorCode.NOT_FOUND, message: "Not found" });

/** What is refused because nobody can tell what it asks for. */
export const invalidRequest = (): Refusal =>
  refusal(400, { code: ErrorCode.BAD_REQUEST, message: "Invalid request" });

/** A refusal as the web's own class. */
export const toResponse = ({ status, headers, body }: Refusal): Response =>
  new Response(body, { status, headers });

/** A refusal as the bytes of HTTP/1.1, for a connection that no HTTP server answers; it is closed then. */
export const toHttpText = ({ status, headers, body }: Refusal): string => {
  const lines = Object.entries(headers).map(([k, v]) => `${k}: ${v}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}` +
    `Content-Length: ${Buffer.byteLength(body)}\r\n` +
    `Connection: close\r\n\r\n${body}`;
};
