/**
 * Reads what Socket.IO reports about a failed request: its own words ("xhr poll error") say
 * nothing, the reason is somewhere inside.
 *
 * @module
 */

/** The system's or TLS's code of the error behind it, over either transport. */
export const codeOf = (cause: unknown): string | undefined =>
  firstString(
    at(cause, "context", "statusText", "code"),
    at(cause, "description", "error", "code"),
    at(cause, "description", "code"),
  );

/** Says in a few words what happened to the request. */
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
  // What came was an answer, but none of Engine.IO.
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
