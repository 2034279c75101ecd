/**
 * Extracts the reason of a failed request from an error of Socket.IO, whose message ("xhr poll error")
 * does not tell it.
 *
 * @module
 */

/** Returns the underlying error code of the system or TLS, over either transport. */
export const codeOf = (cause: unknown): string | undefined =>
  firstString(
    at(cause, "context", "statusText", "code"),
    at(cause, "description", "error", "code"),
    at(cause, "description", "code"),
  );

/** Describes briefly why the request failed. */
export function describeFailure(cause: unknown): string {
  const status = Number(at(cause, "description"));
  if (status >= 502 && status <= 504) {
    return `HTTP ${status}, of a proxy that does not reach its Server`;
  }
  if (status > 0) {
    return `what answers there is no A2C-SMCP server (HTTP ${status})`;
  }
  const message = firstString(
    at(cause, "context", "statusText", "message"),
    at(cause, "description", "message"),
    at(cause, "message"),
  ) ?? String(cause);
  // There was an answer, but not from Engine.IO.
  return /^(server|parse) error$/.test(message)
    ? "what answers there is no A2C-SMCP server"
    : message;
}

const firstString = (...values: unknown[]): string | undefined =>
  values.find((value): value is string =>
    typeof value === "string" && value !== ""
  );

const at = (value: unknown, ...keys: string[]): unknown =>
  keys.reduce<unknown>(
    (inner, key) =>
      typeof inner === "object" && inner !== null
        ? Reflect.get(inner, key)
        : undefined,
    value,
  );
